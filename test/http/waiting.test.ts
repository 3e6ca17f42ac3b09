/** What waits in memory for the watches of an org: counted once a chunk, bounded, and the slowest have to go. */
import test from 'ava';
import { HOLDER_BYTES, openWaiting } from '../../http/watch/waiting.js';

const MIB = 1024 * 1024;

test('a chunk for which many watches of an org wait counts once, and nothing when the last has it', (t) => {
  const waiting = openWaiting(256 * MIB);
  const chunk = Buffer.alloc(MIB);
  const pieces = Array.from({ length: 1_000 }, () => waiting.hold('acme', chunk));
  t.is(waiting.bytes('acme'), MIB + 1_000 * HOLDER_BYTES);
  t.false(pieces.some((piece) => waiting.tooOld(piece)));
  for (const piece of pieces) waiting.release(piece);
  t.is(waiting.bytes('acme'), 0);
});

test('of an org above its half those go that wait for the oldest chunks, and no other org notices', (t) => {
  const waiting = openWaiting(20 * MIB);
  const pieces = Array.from({ length: 12 }, () => waiting.hold('acme', Buffer.alloc(MIB)));
  const other = waiting.hold('globex', Buffer.alloc(MIB));
  t.deepEqual(
    pieces.map((piece) => waiting.tooOld(piece)),
    pieces.map((_, i) => i < 3),
  );
  t.false(waiting.tooOld(other));
  for (const piece of pieces.slice(0, 3)) waiting.release(piece);
  t.false(pieces.slice(3).some((piece) => waiting.tooOld(piece)));
});

test('orgs that together hold more than there is keep an equal part each', (t) => {
  const waiting = openWaiting(12 * MIB);
  const small = waiting.hold('small', Buffer.alloc(MIB));
  const large = ['a', 'b', 'c'].map((org) => Array.from({ length: 5 }, () => waiting.hold(org, Buffer.alloc(MIB))));
  t.false(waiting.tooOld(small));
  for (const pieces of large) {
    for (const piece of pieces) if (waiting.tooOld(piece)) waiting.release(piece);
  }
  const held = ['small', 'a', 'b', 'c'].reduce((sum, org) => sum + waiting.bytes(org), 0);
  t.true(held <= 12 * MIB, `${held} bytes are held`);
});
