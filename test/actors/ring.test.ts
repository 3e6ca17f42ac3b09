import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { openRing } from '../../actors/hub/ring.js';
import { change } from './support.js';

const ALL = { changes: Infinity, bytes: Infinity };

test('a reader from a version that is still in the ring gets exactly what came after it', (t) => {
  const ring = openRing(10, { maxBytes: 1_000_000, maxChanges: 100 });
  for (const version of [11, 13, 14, 20]) ring.push(change(version));
  t.deepEqual(
    ring.after(13, ALL).map(({ version }) => version),
    [14, 20],
  );
  t.deepEqual(
    ring.after(10, ALL).map(({ version }) => version),
    [11, 13, 14, 20],
  );
  t.deepEqual(ring.after(20, ALL), []);
  t.is(ring.start, 10);
  t.is(ring.end, 20);
});

test('when the ring is full its start moves up, so that a reader below it goes to the log instead of missing changes', (t) => {
  const ring = openRing(0, { maxBytes: 1_000_000, maxChanges: 3 });
  for (let version = 1; version <= 10; version += 1) ring.push(change(version));
  t.is(ring.start, 7);
  t.deepEqual(
    ring.after(ring.start, ALL).map(({ version }) => version),
    [8, 9, 10],
  );
});

test('the ring is bounded by bytes as well, however few the changes are', (t) => {
  const ring = openRing(0, { maxBytes: 5_000, maxChanges: 1_000 });
  for (let version = 1; version <= 10; version += 1) ring.push(change(version, Buffer.alloc(2_000)));
  t.true(ring.start >= 8);
  t.is(ring.end, 10);
});

test('room that the oldest changes took is given back in pieces, and no reader notices', (t) => {
  const ring = openRing(0, { maxBytes: Infinity, maxChanges: 2 });
  for (let version = 1; version <= 10_000; version += 1) {
    ring.push(change(version));
    if (version < 3) continue;
    const seen = ring.after(ring.start, ALL).map((found) => found.version);
    if (seen.length !== 2 || seen[0] !== version - 1 || seen[1] !== version) t.fail(`after ${version}: ${seen.join()}`);
  }
  t.is(ring.start, 9_998);
});

test('what has fallen out is let go at once: thousands of large bodies would be several times the bound', async (t) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const ring = openRing(0, { maxBytes: Infinity, maxChanges: 2 });
  const bodies: WeakRef<Buffer>[] = [];
  for (let version = 1; version <= 100; version += 1) {
    const body = Buffer.alloc(2_000);
    bodies.push(new WeakRef(body));
    ring.push(change(version, body));
  }
  // A reference is kept until the turn in which it was made is over.
  await setImmediate();
  collectGarbage();
  t.true(bodies.filter((body) => body.deref() !== undefined).length <= 3);
  t.is(ring.after(ring.start, ALL).length, 2);
});
