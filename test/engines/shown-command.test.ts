/** Of long commands the beginning is kept, so that the processes of a work are listed in bounded bytes. */
import test from 'ava';
import { shownCommand } from '../../src/engines/compute/shared/shown-command.js';

test('a short command is shown whole, and a long one by its beginning, whatever makes it long', (t) => {
  const short = ['sh', '-c', 'x'.repeat(4_000)];
  t.is(shownCommand(short), short);
  t.deepEqual(shownCommand([]), []);
  const long = shownCommand(['sh', '-c', 'x'.repeat(5_000), 'more']);
  t.is(long.length, 3);
  t.regex(long[2] ?? '', /^x{4060,4090}…$/);
  const many = shownCommand(Array.from({ length: 4_000 }, () => ''));
  t.is(many.length, 4_096 / 8 + 1);
  t.is(many.at(-1), '…');
  // Each smile is two units of UTF-16: none is cut in half.
  for (const before of ['', 'x'])
    t.true(Buffer.from(shownCommand([before + '🙂'.repeat(3_000)]).join('')).every(isWhole));
});

/** Nothing was replaced by U+FFFD (EF BF BD). */
function isWhole(byte: number, at: number, bytes: Uint8Array): boolean {
  return !(byte === 0xef && bytes[at + 1] === 0xbf && bytes[at + 2] === 0xbd);
}
