/** Lines of a log as text. */
import fc from 'fast-check';
import test from 'ava';
import { LogText } from '../../http/log-text.js';
import type { LogLine } from '../../src/engines/compute/contract/engine.js';

const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /;

function shown(pieces: readonly [LogLine['stream'], string][], timestamps = true): string {
  const text = new LogText(timestamps);
  return pieces
    .map(([stream, words], time) => Buffer.from(text.bytesOf({ stream, time, data: Buffer.from(words) })).toString())
    .join('');
}

test('a line in pieces has one time, that of its first, and what another stream says between has a line of its own', (t) => {
  const at = (ms: number): string => `1970-01-01T00:00:00.00${ms}Z`;
  t.is(
    shown([
      ['stdout', 'building... '],
      ['stdout', 'ok\n'],
      ['stdout', 'half '],
      ['stderr', 'warning\n'],
      ['stdout', 'whole\n'],
    ]),
    `${at(0)} building... ok\n${at(2)} half \n${at(3)} warning\n${at(4)} whole\n`,
  );
});

test('whatever the pieces, every line begins with a time and no other place has one', (t) => {
  const piece = fc.tuple(
    fc.constantFrom('stdout' as const, 'stderr' as const),
    fc.constantFrom('a\n', 'b', 'ccc', 'dd\n', '\n'),
  );
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 20 }), (pieces) => {
      const lines = shown(pieces).split('\n');
      if (lines.at(-1) === '') lines.pop();
      t.true(lines.every((line) => STAMP.test(line) && !STAMP.test(line.slice(25))));
      const rest = lines.map((line) => line.replace(STAMP, '')).join('');
      t.is(rest, pieces.map(([, words]) => words.replace('\n', '')).join(''));
    }),
  );
});

test('without times everything is as it was printed, but that what the service says has a line of its own', (t) => {
  t.is(
    shown(
      [
        ['stdout', 'half '],
        ['stderr', 'warning '],
        ['system', '[cut]\n'],
        ['stdout', 'end\n'],
        ['system', '[over]\n'],
      ],
      false,
    ),
    'half warning \n[cut]\nend\n[over]\n',
  );
});
