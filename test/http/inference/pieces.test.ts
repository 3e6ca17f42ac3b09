/** What costs most of a body is counted before it is parsed. */
import test from 'ava';
import fc from 'fast-check';
import { hasFewPieces } from '../../../http/inference/pieces.js';
import { tries } from '../../support/extent.js';

/** Containers, strings and names of members. */
function piecesOf(value: unknown): number {
  if (typeof value === 'string') return 1;
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce<number>((sum, one) => sum + piecesOf(one), 0);
  return 1 + inside + (Array.isArray(value) ? 0 : Object.keys(value).length);
}

test('objects, lists, strings and names are counted exactly, whatever is inside of strings', (t) => {
  const leaf = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('"', '\\', '{[e', '\\"'),
    fc.integer(),
    fc.constant(null),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('value')), fc.dictionary(fc.string(), tie('value'))),
  }));
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 2), (one, indent) => {
      const bytes = Buffer.from(JSON.stringify(one, undefined, indent));
      const pieces = piecesOf(one);
      t.true(hasFewPieces(bytes, pieces));
      t.true(pieces === 0 || !hasFewPieces(bytes, pieces - 1));
    }),
    { numRuns: tries(500) },
  );
});

test('numbers that are written longer than they came count as well', (t) => {
  const few = (text: string, most: number): boolean => hasFewPieces(Buffer.from(text), most);
  t.true(few('[1,2.5,-3]', 1));
  t.false(few('[1e20,1E+20]', 2));
  t.true(few('[1e20,1E+20]', 3));
});
