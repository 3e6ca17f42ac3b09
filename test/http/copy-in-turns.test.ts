/** Many bytes are put together in parts, between which the event loop is left to others. */
import test from 'ava';
import fc from 'fast-check';
import { copyTogether } from '../../http/copy-in-turns.js';
import { turnsDuring } from './support/turns.js';
import { tries } from '../support/extent.js';

const MIB = 2 ** 20;

test('whatever the pieces are, what is put together is what they say', async (t) => {
  const whole = Buffer.alloc(5 * MIB, 'abcdefghijk');
  const cuts = fc.array(fc.integer({ min: 0, max: whole.length }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(cuts, async (at) => {
      const sorted = [0, ...at.toSorted((a, b) => a - b), whole.length];
      const pieces = sorted.slice(1).map((end, index) => whole.subarray(sorted[index], end));
      t.true(whole.equals(await copyTogether(pieces, whole.length)));
    }),
    { numRuns: tries(20) },
  );
});

test('few bytes are put together at once, and many leave turns of the loop to others', async (t) => {
  const small = Buffer.alloc(MIB, 'x');
  t.true(small.equals(await Promise.resolve(copyTogether([small.subarray(0, 9), small.subarray(9)], MIB))));
  t.true(Buffer.isBuffer(copyTogether([small], MIB)));
  const large = Buffer.alloc(24 * MIB, 'x');
  t.true((await turnsDuring(() => copyTogether([large], large.length))) >= 10);
});
