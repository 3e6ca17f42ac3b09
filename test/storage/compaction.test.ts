/** The log's floor: what lies above it is there, what lies below is refused, by age and by size. */
import test from 'ava';
import { openChangesLog } from '../../storage/changes.js';
import { until } from '../e2e/until.js';
import { insert, logLimit, openFixture, update, versionOf, type Fixture } from './fixtures.js';

async function write(f: Fixture, count: number, text = ''): Promise<void> {
  for (let i = 0; i < count; i++) {
    const first = insert(`${text.length}-${i}`, {}, text);
    const version = versionOf(await f.committer.commit(first, undefined));
    await f.committer.commit(update(`${text.length}-${i}`, version, {}, text), first.write.body);
  }
}

async function rows(f: Fixture): Promise<number[]> {
  const found = await f.store.postgres.readRows<[number]>({
    name: 'v',
    text: 'SELECT version FROM changes ORDER BY 1',
  });
  return found.map(([version]) => version);
}

test('changes older than the age go, younger ones stay, and a reader from below is answered Expired', async (t) => {
  const f = await openFixture(t);
  await write(f, 10);
  await f.store.postgres.write({
    name: 'age',
    text: `UPDATE changes SET time = now() - interval '2 hours' WHERE version <= 7`,
  });
  t.is(await f.store.changes.compact(), 7);
  t.is(await f.store.changes.floor(), 7);
  t.is(await f.store.changes.head(), 20);
  t.deepEqual(
    await rows(f),
    Array.from({ length: 13 }, (_, i) => i + 8),
  );
  t.deepEqual(await f.store.changes.after('o-1', 'Job', 6, logLimit(10)), { outcome: 'Expired' });
  const kept = await f.store.changes.after('o-1', 'Job', 7, logLimit(5));
  t.is(kept.outcome, 'Changes');
  if (kept.outcome === 'Changes') {
    t.deepEqual(
      kept.changes.map(({ version }) => version),
      [8, 9, 10, 11, 12],
    );
    t.is(kept.through, 12);
  }
  const none = await f.store.changes.after('o-1', 'Secret', 7, logLimit(5));
  t.deepEqual(none, { outcome: 'Changes', changes: [], through: 20 });
  t.deepEqual(await f.store.objects.keysAt({ org: 'o-1', kind: 'Job', limit: 100 }, 6), { outcome: 'Expired' });
  const page = await f.store.objects.keysAt({ org: 'o-1', kind: 'Job', limit: 100 }, 7);
  t.is(page.outcome === 'Keys' ? page.keys.length : -1, 4);
  t.is(await f.store.changes.compact(), 7, 'nothing more to do');
});

test('a log larger than its size loses its oldest changes, whatever their age', async (t) => {
  const f = await openFixture(t);
  await write(f, 5, 'x'.repeat(1_000));
  await write(f, 5, 'y'.repeat(100_000));
  const log = openChangesLog(f.store.postgres, { age: 3_600_000, bytes: 1_000_000 });
  const floor = await log.compact();
  // Ten large changes of 100 kB (added) and 200 kB (modified): from the newest down 200, 300, 500, 600, 800, 900, over.
  t.is(floor, 14);
  t.deepEqual(await rows(f), [15, 16, 17, 18, 19, 20]);
});

test('a compaction that was interrupted after it raised the floor is finished by the next one', async (t) => {
  const f = await openFixture(t);
  await write(f, 5);
  await f.store.postgres.write({ name: 'floor', text: 'UPDATE clock SET floor = 4' });
  t.is(await f.store.changes.compact(), 4);
  t.deepEqual(await rows(f), [5, 6, 7, 8, 9, 10]);
});

test('a reader beside a compaction gets everything or Expired, never a gap', async (t) => {
  const f = await openFixture(t);
  await write(f, 100);
  const stop = new AbortController();
  let reads = 0;
  let passes = 0;
  const reader = (async () => {
    while (!stop.signal.aborted) {
      for (const from of [0, 50, 100, 150]) {
        const log = await f.store.changes.after('o-1', 'Job', from, logLimit(1_000));
        if (log.outcome === 'Expired') continue;
        reads += 1;
        t.is(log.changes[0]?.version, from + 1);
        t.is(log.changes.length, 200 - from);
      }
      passes += 1;
    }
  })();
  for (let floor = 10; floor <= 190; floor += 10) {
    await f.store.postgres.write(
      { name: 'age', text: `UPDATE changes SET time = now() - interval '2 hours' WHERE version <= $1` },
      [floor],
    );
    t.is(await f.store.changes.compact(), floor);
    const before = passes;
    await until('the reader has been through once more', () => passes > before);
  }
  stop.abort();
  await reader;
  t.true(reads > 10);
});

test('the answer of a key is what its commit left behind, before and after its change is compacted away', async (t) => {
  const f = await openFixture(t);
  const idempotency = { holder: 'h', key: 'k', fingerprint: 'f', status: 201, headers: {} };
  const first = insert('a', { idempotency }, 'first');
  const version = versionOf(await f.committer.commit(first, undefined));
  await f.committer.commit(update('a', version, {}, 'second'), first.write.body);
  const answer = async (): Promise<string | undefined> =>
    (await f.store.responses.find('o-1', 'h', 'k'))?.response.toString();
  const before = await answer();
  t.true(before?.includes('first'));
  t.is(JSON.parse(before ?? '{}').metadata.resourceVersion, String(version));
  await f.store.postgres.write({ name: 'age', text: `UPDATE changes SET time = now() - interval '2 hours'` });
  t.is(await f.store.changes.compact(), 2);
  t.deepEqual(await rows(f), []);
  t.is(await answer(), before);
});
