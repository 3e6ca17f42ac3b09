import test from 'ava';
import { decodeObject, readVersion } from '../../src/api/encode.js';
import type { CommitResult } from '../../storage/commit/request.js';
import { budget, place } from './money.js';
import { address, insert, logLimit, openFixture, remove, update, versionOf } from './fixtures.js';

test('a created object is read back with its version stamped, and the same bytes were published before the answer', async (t) => {
  const f = await openFixture(t);
  const text = 'ä \u{1f600} "quoted" \\ \u0001';
  const request = insert('a', { private: '{"p":1}' }, text);
  let publishedAtAnswer = 0;
  const version = await f.committer.commit(request, undefined).then((result) => {
    publishedAtAnswer = f.published.length;
    return versionOf(result);
  });
  t.is(publishedAtAnswer, 1);
  const stored = await f.store.objects.read(address('a'));
  t.is(stored?.version, version);
  t.is(stored?.private, '{"p":1}');
  t.deepEqual(stored?.body, request.write.body, 'Postgres gives back the very bytes');
  t.deepEqual(decodeObject(stored?.body ?? Buffer.alloc(0)).spec, { text });
  t.is(readVersion(request.write.body), version);
  t.deepEqual(f.published[0], {
    version,
    type: 'ADDED',
    address: address('a'),
    uid: 'uid-a',
    before: undefined,
    after: request.write.body,
  });
});

test('an update replaces exactly the version that it names, and the log keeps what it replaced', async (t) => {
  const f = await openFixture(t);
  const first = insert('a', {}, 'one');
  const v1 = versionOf(await f.committer.commit(first, undefined));
  const second = update('a', v1, { private: '{"x":2}', active: true }, 'two');
  const v2 = versionOf(await f.committer.commit(second, first.write.body));
  t.is(v2, v1 + 1);
  t.deepEqual(await f.committer.commit(update('a', v1, {}, 'late'), first.write.body), { outcome: 'Stale' });
  t.deepEqual(await f.committer.commit(update('a', v2, { uid: 'other' }), first.write.body), { outcome: 'Stale' });
  t.deepEqual(await f.committer.commit(update('gone', 1), first.write.body), { outcome: 'Stale' });
  const stored = await f.store.objects.read(address('a'));
  t.deepEqual(stored?.body, second.write.body);
  t.is(stored?.private, '{"x":2}');
  const log = await f.store.changes.after('o-1', 'Job', 0, logLimit(10));
  t.is(log.outcome, 'Changes');
  if (log.outcome === 'Changes') {
    t.deepEqual(
      log.changes.map(({ version, type }) => [version, type]),
      [
        [v1, 'ADDED'],
        [v2, 'MODIFIED'],
      ],
    );
    t.deepEqual(log.changes[1]?.before, first.write.body);
    t.deepEqual(log.changes[1]?.after, second.write.body);
    t.deepEqual(log.changes, f.published);
    t.is(log.through, v2);
  }
});

test('a deleted object is gone with everything that hangs on its uid, and its effects stay until they are done', async (t) => {
  const f = await openFixture(t);
  const effects = [{ type: 'DeleteChild', kind: 'Attempt', name: 'x' }] as const;
  const v1 = versionOf(
    await f.committer.commit(
      insert('a', {
        owners: ['boss'],
        effects,
        timers: [{ op: 'arm', timer: 't', generation: 1, at: 5_000 }],
        slots: [{ index: 0, epoch: 1, phase: 'Running', failures: 0 }],
        secrets: [{ version: 1, sealed: Buffer.from('s') }],
        credentials: [{ sha256: 'h'.repeat(64), detail: {} }],
        money: [budget('b', '10'), { op: 'SetCap', uid: 'uid-a', limitUSD: '10' }, place('h', 'uid-a', '10')],
      }),
      undefined,
    ),
  );
  t.is(await f.store.objects.count('o-1'), 1);
  const before = Buffer.from('x');
  const v2 = versionOf(
    await f.committer.commit(
      remove('a', v1, { effects: [{ type: 'CollectChildren', uid: 'uid-a', orphan: false, answer: false }] }, 'last'),
      before,
    ),
  );
  t.is(await f.store.objects.read(address('a')), undefined);
  t.is(await f.store.objects.count('o-1'), 0);
  t.deepEqual(await f.store.objects.ownedBy('o-1', 'boss', 10), []);
  t.deepEqual(await f.store.objects.slots('o-1', 'uid-a'), []);
  t.deepEqual(await f.store.pending.timersDue(Number.MAX_SAFE_INTEGER / 2, 10), []);
  t.is(await f.store.credentials.find('h'.repeat(64)), undefined);
  t.is(await f.store.fetchSealed('o-1', 'uid-a', 1), undefined);
  t.deepEqual(
    (await f.store.pending.effects(0, 10)).map(({ version }) => version),
    [v1, v2],
  );
  const change = f.published.at(-1);
  t.is(change?.type, 'DELETED');
  t.is(change?.before, before);
  t.is(readVersion(change?.after ?? Buffer.alloc(0)), v2);
  const again = await f.committer.commit(insert('b', { money: [place('h2', 'uid-b', '10')] }), undefined);
  t.is(again.outcome, 'Committed', 'what it held is free again (I7)');
  const [left] = await f.store.postgres.readRows({
    name: 'left',
    text: `SELECT (SELECT count(*) FROM caps), (SELECT count(*) FROM holds WHERE uid = 'uid-a')`,
  });
  t.deepEqual(left, [0, 0]);
});

test('an answer without a commit is kept once, sealed, and not by a process whose epoch is over (I3)', async (t) => {
  const f = await openFixture(t);
  const version = versionOf(await f.committer.commit(insert('a'), undefined));
  const response = insert('a').write.body;
  const write = { holder: 'h', key: 'k', fingerprint: 'f', status: 200, response, headers: {} };
  t.deepEqual(await f.committer.keepAnswer('o-1', write, version), { outcome: 'Kept' });
  t.deepEqual(await f.committer.keepAnswer('o-1', { ...write, fingerprint: 'g' }, version), { outcome: 'KeyUsed' });
  const found = await f.store.responses.find('o-1', 'h', 'k');
  t.is(found?.fingerprint, 'f');
  t.is(readVersion(found?.response ?? Buffer.alloc(0)), version);
  await f.store.postgres.write({ name: 'usurp', text: 'UPDATE clock SET epoch = epoch + 1' });
  t.deepEqual(await f.committer.keepAnswer('o-1', { ...write, key: 'late' }, version), { outcome: 'Fenced' });
  t.is(await f.store.responses.find('o-1', 'h', 'late'), undefined);
});

test('credits that were paid for are no object too many', async (t) => {
  const f = await openFixture(t, { objectsPerOrg: 1 });
  versionOf(await f.committer.commit(insert('first'), undefined));
  t.like(await f.committer.commit(insert('second'), undefined), { outcome: 'QuotaExceeded' });
  const grant = insert('paid', { address: { ...address('paid'), kind: 'CreditGrant' } });
  t.is((await f.committer.commit(grant, undefined)).outcome, 'Committed');
});

test('each refused commit of a batch gets its own answer, and its neighbours are committed without a gap', async (t) => {
  const f = await openFixture(t, { objectsPerOrg: 6 });
  const key = { holder: 'h', key: 'k', fingerprint: 'f', status: 201, headers: {} };
  const taken = insert('taken', { idempotency: { ...key, response: insert('taken').write.body } });
  const v = versionOf(await f.committer.commit(taken, undefined));
  await f.committer.commit(insert('rich', { money: [budget('b', '1')] }), undefined);
  const head = await f.store.changes.head();
  const asked = {
    good1: insert('good1'),
    exists: insert('taken', { uid: 'other' }),
    stale: update('rich', 77),
    key: insert('key', { idempotency: { ...key, response: insert('key').write.body } }),
    poor: insert('poor', { money: [place('p', 'uid-poor', '1.5')] }),
    good2: update('taken', v, { uid: 'uid-taken' }),
    good3: insert('good3'),
    good4: insert('good4'),
    zero: insert('zero'),
    full1: insert('full1'),
    full2: insert('full2'),
    other: insert('other', { address: address('other', { org: 'o-2' }) }),
  };
  const results = Object.fromEntries(
    await Promise.all(
      Object.entries(asked).map(async ([name, request]): Promise<[string, CommitResult]> => [
        name,
        await f.committer.commit(request, undefined),
      ]),
    ),
  );
  t.deepEqual(results['exists'], { outcome: 'AlreadyExists' });
  t.deepEqual(results['stale'], { outcome: 'Stale' });
  t.deepEqual(results['key'], { outcome: 'KeyUsed' });
  t.like(results['poor'], {
    ...{ outcome: 'HoldRefused', key: 'p', by: 'Budget', uid: 'b', name: 'b' },
    ...{ availableUSD: '1.00', neededUSD: '1.50' },
  });
  t.deepEqual(results['full1'], { outcome: 'QuotaExceeded', limit: 6 });
  t.deepEqual(results['full2'], { outcome: 'QuotaExceeded', limit: 6 });
  for (const name of ['good1', 'good2', 'good3', 'good4', 'zero', 'other'])
    t.is(results[name]?.outcome, 'Committed', name);
  t.is(await f.store.objects.count('o-1'), 6);
  const versions = f.published.map(({ version }) => version);
  t.deepEqual(
    versions,
    versions.map((_, i) => i + 1),
    'published in order, without a gap',
  );
  t.is(await f.store.changes.head(), versions.length);
  t.is(f.published.length, head + 6);
});
