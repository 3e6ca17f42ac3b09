/** What holds when many commit at once, over two batches under way. */
import test from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCommitter } from '../../storage/commit/committer.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import { sweepSlots } from '../../storage/slots-left.js';
import { address, insert, logLimit, openFixture, remove, seal, update, versionOf } from './fixtures.js';

test('versions are gapless in commit order, and a tailer of the log never sees one come late', async (t) => {
  const f = await openFixture(t);
  const writers = 200;
  const each = 20;
  let running = true;

  // The tailer reads as another replica would: from the version that it has seen, again and again.
  const tailed: number[] = [];
  const tailer = (async () => {
    let from = 0;
    for (;;) {
      const last = !running;
      const log = await f.store.changes.after('o-1', 'Job', from, logLimit(500));
      if (log.outcome === 'Expired') throw new Error('expired');
      for (const change of log.changes) tailed.push(change.version);
      from = log.through;
      if (last && log.changes.length === 0) return;
    }
  })();

  let highest = 0;
  const answered: number[] = [];
  await Promise.all(
    Array.from({ length: writers }, async (_, w) => {
      let version = versionOf(await f.committer.commit(insert(`w-${w}`), undefined));
      for (let i = 1; i < each; i++) {
        const before = f.published.find((change) => change.version === version);
        version = versionOf(await f.committer.commit(update(`w-${w}`, version), before?.after));
        highest = Math.max(highest, version);
        answered.push(version);
      }
    }),
  );
  running = false;
  await tailer;
  const all = Array.from({ length: writers * each }, (_, i) => i + 1);
  t.deepEqual(
    f.published.map(({ version }) => version),
    all,
  );
  t.deepEqual(tailed, all);
  t.is(await f.store.changes.head(), writers * each);
});

test('a commit that Postgres refuses is alone in that: its neighbours are committed', async (t) => {
  const f = await openFixture(t);
  const bad = { private: '{"text":"\u0000"}' };
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, i) => f.committer.commit(insert(`n-${i}`, i % 13 === 5 ? bad : {}), undefined)),
  );
  results.forEach((result, i) => {
    t.is(result.outcome, i % 13 === 5 ? 'Unavailable' : 'Committed');
    if (result.outcome === 'Unavailable') t.regex(result.message, /22021/);
  });
  t.deepEqual(
    f.published.map(({ version }) => version),
    Array.from({ length: 37 }, (_, i) => i + 1),
  );
});

test('a committer of an old epoch writes nothing, says Fenced to all, and tells its owner once', async (t) => {
  const f = await openFixture(t);
  versionOf(await f.committer.commit(insert('a'), undefined));
  await f.store.postgres.write({ name: 'steal', text: 'UPDATE clock SET epoch = epoch + 1' });
  const published: CommittedChange[] = [];
  const next = await openCommitter({
    postgres: f.store.postgres,
    epoch: f.lease.epoch + 1,
    seal,
    publish: (changes) => published.push(...changes),
    onFenced: () => t.fail(),
    objectsPerOrg: 100,
  });
  t.teardown(() => next.close());
  const [old, young] = await Promise.all([
    Promise.all(Array.from({ length: 100 }, (_, i) => f.committer.commit(insert(`old-${i}`), undefined))),
    next.commit(insert('young'), undefined),
  ]);
  t.true(old.every(({ outcome }) => outcome === 'Fenced'));
  t.truthy(f.fenced());
  t.deepEqual(young, { outcome: 'Committed', version: 2 });
  t.is(await f.store.objects.count('o-1'), 2);
  t.deepEqual(await f.committer.commit(insert('later'), undefined), { outcome: 'Fenced' });
});

test('backends killed in the middle of everything: what was answered is there once, and nothing else is', async (t) => {
  const f = await openFixture(t);
  let kills = 0;
  const done = new AbortController();
  const killer = (async () => {
    while (!done.signal.aborted && kills < 40) {
      kills += await f.store.postgres.write({
        name: 'kill',
        text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'troupe commit' AND datname = current_database()`,
      });
      // Long enough for some batches to get through, short enough to meet a COMMIT now and then.
      await sleep(25);
    }
  })();
  const committed = new Map<string, number>();
  await Promise.all(
    Array.from({ length: 100 }, async (_, w) => {
      for (let i = 0; i < 12; i++) {
        const name = `k-${w}-${i}`;
        const result = await f.committer.commit(insert(name), undefined);
        if (result.outcome === 'Committed') committed.set(name, result.version);
        else t.is(result.outcome, 'Unavailable');
      }
    }),
  );
  done.abort();
  await killer;
  t.true(kills > 5, `${kills} kills`);
  const { keys } = await f.store.objects.keys({ org: 'o-1', kind: 'Job', limit: 100_000 });
  t.deepEqual(Object.fromEntries(keys.map(({ name, version }) => [name, version])), Object.fromEntries(committed));
  t.deepEqual(
    f.published.map(({ version }) => version),
    Array.from({ length: committed.size }, (_, i) => i + 1),
  );
});

test('the same write asked again under its key meets the stored response, sealed at rest and stamped when read', async (t) => {
  const f = await openFixture(t);
  const request = insert('a');
  const idempotency = {
    holder: 'h',
    key: 'k',
    fingerprint: 'f',
    status: 201,
    headers: { location: '/x' },
    response: Buffer.from(request.write.body),
  };
  const [first, second] = await Promise.all([
    f.committer.commit(insert('a', { idempotency }), undefined),
    f.committer.commit(insert('b', { idempotency }), undefined),
  ]);
  const version = versionOf(first);
  t.deepEqual(second, { outcome: 'KeyUsed' });
  t.is(await f.store.objects.read(address('b')), undefined);
  const found = await f.store.responses.find('o-1', 'h', 'k');
  t.is(found?.status, 201);
  t.is(found?.fingerprint, 'f');
  t.deepEqual(found?.headers, { location: '/x' });
  t.deepEqual(found?.response, (await f.store.objects.read(address('a')))?.body);
  t.is(JSON.parse(found?.response.toString() ?? '{}').metadata.resourceVersion, String(version));
  t.is(await f.store.responses.find('o-2', 'h', 'k'), undefined);
  t.is(await f.store.responses.find('o-1', 'other', 'k'), undefined);
  const [row] = await f.store.postgres.read<{ response: Buffer }>({
    name: 'r',
    text: 'SELECT response FROM idempotency',
  });
  t.false(row?.response.includes('apiVersion'));

  await f.store.postgres.write({ name: 'expire', text: `UPDATE idempotency SET expires = now()` });
  t.is(await f.store.responses.find('o-1', 'h', 'k'), undefined);
  const third = await f.committer.commit(insert('b', { idempotency: { ...idempotency, fingerprint: 'g' } }), undefined);
  t.is(third.outcome, 'Committed', 'an expired key is free');
  t.is((await f.store.responses.find('o-1', 'h', 'k'))?.fingerprint, 'g');
  await f.store.postgres.write({ name: 'expire', text: `UPDATE idempotency SET expires = now()` });
  t.is(await f.store.responses.sweep(), 1);
});

test('what is asked of a closing committer is refused, what was asked before is answered', async (t) => {
  const f = await openFixture(t);
  const asked = Array.from({ length: 150 }, (_, i) => f.committer.commit(insert(`c-${i}`), undefined));
  const closing = f.committer.close();
  t.is((await f.committer.commit(insert('late'), undefined)).outcome, 'Unavailable');
  t.true((await Promise.all(asked)).every(({ outcome }) => outcome === 'Committed'));
  await closing;
  t.deepEqual(f.committer.depth(), { waiting: 0, oldestMs: 0 });
});

test('slots of a deleted object go with its commit up to a bound, and the rest in batches afterwards', async (t) => {
  const f = await openFixture(t);
  const slots = Array.from({ length: 700 }, (_, index) => ({
    ...{ index, epoch: 1, phase: 'Succeeded', failures: 0, detail: {} },
  }));
  const made = versionOf(await f.committer.commit(insert('big', { slots }), undefined));
  const small = versionOf(await f.committer.commit(insert('small', { slots: slots.slice(0, 3) }), undefined));
  const count = async (): Promise<unknown> =>
    (await f.store.postgres.readRows({ name: 'slots left', text: 'SELECT count(*) FROM slots' }))[0]?.[0];
  t.is(await count(), 703);
  const removed = [
    f.committer.commit(remove('big', made), undefined),
    f.committer.commit(remove('small', small), undefined),
  ];
  for (const result of await Promise.all(removed)) versionOf(result);
  t.is(await count(), 700 - 256, 'of the small one none');
  await sweepSlots(f.store.postgres, new AbortController().signal, 100);
  t.is(await count(), 0);
  const left = await f.store.postgres.readRows({ name: 'left', text: 'SELECT uid FROM slots_left' });
  t.deepEqual(left, []);
});
