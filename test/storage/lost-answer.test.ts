/** What the committer does when the connection breaks around COMMIT: a proxy between it and Postgres cuts just there. */
import test from 'ava';
import { openCommitter } from '../../storage/commit/committer.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import { askFate } from '../../storage/commit/fate.js';
import { sessionOn } from '../../storage/commit/session.js';
import { openPostgres } from '../../storage/postgres.js';
import { openProxy } from './cutting-proxy.js';
import { address, insert, openFixture, seal, update, versionOf } from './fixtures.js';

for (const how of ['answer', 'commit', 'answer and away', 'commit and away'] as const) {
  test(`a batch whose ${how} is lost is committed exactly once and published in order`, async (t) => {
    const f = await openFixture(t);
    const proxy = await openProxy(f.url);
    t.teardown(() => proxy.close());
    const postgres = openPostgres({ url: proxy.url });
    t.teardown(() => postgres.close());
    const published: CommittedChange[] = [];
    const committer = await openCommitter({
      postgres,
      epoch: f.lease.epoch,
      seal,
      publish: (changes) => published.push(...changes),
      onFenced: () => t.fail(),
      objectsPerOrg: 1_000,
    });
    t.teardown(() => committer.close());
    const versions: number[] = [];
    for (let round = 0; round < 5; round++) {
      proxy.cut(how);
      const results = await Promise.all(
        Array.from({ length: 120 }, (_, i) => committer.commit(insert(`r${round}-${i}`), undefined)),
      );
      for (const result of results) versions.push(versionOf(result));
    }
    t.is(proxy.cuts(), 5);
    const all = Array.from({ length: 600 }, (_, i) => i + 1);
    t.deepEqual(
      versions.toSorted((a, b) => a - b),
      all,
    );
    t.deepEqual(
      published.map(({ version }) => version),
      all,
    );
    t.is(await f.store.objects.count('o-1'), 600);
  });
}

test('a batch that lost its answer and its lease is answered what is true: the first is committed, the next is fenced', async (t) => {
  const f = await openFixture(t);
  const proxy = await openProxy(f.url);
  t.teardown(() => proxy.close());
  const postgres = openPostgres({ url: proxy.url });
  t.teardown(() => postgres.close());
  let fenced = 0;
  const committer = await openCommitter({
    postgres,
    epoch: f.lease.epoch,
    seal,
    publish: () => {},
    onFenced: () => (fenced += 1),
    objectsPerOrg: 1_000,
  });
  t.teardown(() => committer.close());
  versionOf(await committer.commit(insert('warm'), undefined));
  proxy.cut('answer and away');
  const first = committer.commit(insert('a'), undefined);
  while (proxy.cuts() === 0) await new Promise(setImmediate);
  await f.store.postgres.write({ name: 'steal', text: 'UPDATE clock SET epoch = epoch + 1' });
  const version = versionOf(await first);
  t.deepEqual(await committer.commit(update('a', version), Buffer.alloc(0)), { outcome: 'Fenced' });
  t.is(fenced, 1);
});

test('a write whose COMMIT never arrived is not acknowledged for the row that the next holder wrote at its version', async (t) => {
  const f = await openFixture(t);
  const proxy = await openProxy(f.url);
  t.teardown(() => proxy.close());
  const postgres = openPostgres({ url: proxy.url });
  t.teardown(() => postgres.close());
  const options = { seal, publish: () => {}, onFenced: () => {}, objectsPerOrg: 1_000 };
  const first = await openCommitter({ ...options, postgres, epoch: f.lease.epoch });
  t.teardown(() => first.close());
  const made = versionOf(await first.commit(insert('a'), undefined));
  proxy.cut('commit and away');
  const lost = first.commit(update('a', made, {}, 'of the first'), Buffer.alloc(0));
  while (proxy.cuts() === 0) await new Promise(setImmediate);

  await f.store.postgres.write({ name: 'take over', text: 'UPDATE clock SET epoch = epoch + 1' });
  const second = await openCommitter({ ...options, postgres: f.store.postgres, epoch: f.lease.epoch + 1 });
  t.teardown(() => second.close());
  const version = versionOf(await second.commit(update('a', made, {}, 'of the second'), Buffer.alloc(0)));
  t.is(version, made + 1, 'the version that the lost COMMIT was for, and the same uid');

  t.deepEqual(await lost, { outcome: 'Fenced' });
  const read = await f.store.objects.read(address('a'));
  t.regex(String(read?.body), /of the second/);
});

for (const how of ['answer and gone', 'silence and gone'] as const) {
  test(`a write whose outcome cannot be asked (${how}) is answered Unknown, and the committer ends in bounded time`, async (t) => {
    const f = await openFixture(t);
    const proxy = await openProxy(f.url);
    t.teardown(() => proxy.close());
    const postgres = openPostgres({ url: proxy.url });
    t.teardown(() => postgres.close());
    const committer = await openCommitter({
      postgres,
      epoch: f.lease.epoch,
      seal,
      publish: () => {},
      onFenced: () => t.fail(),
      objectsPerOrg: 1_000,
      closeWithin: 100,
    });
    versionOf(await committer.commit(insert('warm'), undefined));
    proxy.cut(how);
    const lost = committer.commit(insert('a'), undefined);
    while (proxy.cuts() === 0) await new Promise(setImmediate);
    await committer.close();
    t.is((await lost).outcome, 'Unknown');
  });
}

test('a COMMIT that vanishes is found out by this side, and its batch is written once by another connection', async (t) => {
  const f = await openFixture(t);
  const proxy = await openProxy(f.url);
  t.teardown(() => proxy.close());
  const postgres = openPostgres({ url: proxy.url });
  t.teardown(() => postgres.close());
  const committer = await openCommitter({
    postgres,
    epoch: f.lease.epoch,
    leaseMs: 1_000,
    seal,
    publish: () => {},
    onFenced: () => t.fail(),
    objectsPerOrg: 1_000,
  });
  t.teardown(() => committer.close());
  proxy.cut('silence');
  t.is(versionOf(await committer.commit(insert('a'), undefined)), 1);
  t.is(proxy.cuts(), 1);
});

test('a database that is older than it was fences its writer, which says so, and no write waits for ever', async (t) => {
  const f = await openFixture(t);
  for (const name of ['a', 'b', 'c']) versionOf(await f.committer.commit(insert(name), undefined));
  // As after a backup of version 1 was restored.
  await f.store.postgres.write({
    name: 'restore',
    text: `WITH c AS (UPDATE clock SET version = 1), l AS (DELETE FROM changes WHERE version > 1)
           DELETE FROM objects WHERE version > 1`,
  });
  const results = await Promise.all(['d', 'e'].map((name) => f.committer.commit(insert(name), undefined)));
  t.deepEqual(results, [{ outcome: 'Fenced' }, { outcome: 'Fenced' }]);
  t.regex(f.fenced() ?? '', /at version 1, and version 3 was committed to it before: it was restored from a backup/);
  t.is(await f.store.objects.read(address('d')), undefined, 'nothing was written to it');
});

test('a COMMIT that an older database has never seen is not taken for committed', async (t) => {
  const f = await openFixture(t);
  const clients = [await f.store.postgres.connect('test'), await f.store.postgres.connect('test')] as const;
  t.teardown(() => Promise.all(clients.map((client) => client.end())));
  const [session, other] = [sessionOn(clients[0]), sessionOn(clients[1])];
  const future = { transaction: '18446744073709551000', first: 1, uid: 'uid-a' };
  t.is(await askFate(session, future), 'OtherHistory');
  const [, asked] = await session.script('BEGIN; SELECT pg_current_xact_id()');
  const open = { ...future, transaction: String(asked?.rows[0]?.[0]) };
  t.is(await askFate(other, open), 'UnderWay');
  await session.script('ROLLBACK');
  t.is(await askFate(other, open), 'NotCommitted');
  // A number that another history gave to another transaction.
  const [, given] = await session.script('BEGIN; SELECT pg_current_xact_id(); COMMIT');
  const transaction = String(given?.rows[0]?.[0]);
  t.is(await askFate(other, { ...future, transaction }), 'OtherHistory');
  const ledgerCommit = '00000000-0000-4000-8000-000000000000';
  t.is(await askFate(other, { transaction, ledgerCommit }), 'OtherHistory');
  await session.script(`INSERT INTO ledger_commits (id) VALUES ('${ledgerCommit}')`);
  t.is(await askFate(other, { transaction, ledgerCommit }), 'Committed');
});

test('a version that another has written in between fences the writer: what is behind the gap would wait for ever', async (t) => {
  const f = await openFixture(t);
  versionOf(await f.committer.commit(insert('a'), undefined));
  await f.store.postgres.write({ name: 'ahead', text: 'UPDATE clock SET version = version + 5' });
  t.is(versionOf(await f.committer.commit(insert('b'), undefined)), 7, 'it is written, and that is what is answered');
  t.regex(f.fenced() ?? '', /version 2 was written to the database by another/);
  t.deepEqual(await f.committer.commit(insert('c'), undefined), { outcome: 'Fenced' });
});

test('a slow commit is alone in that: its neighbours are committed, group by smaller group', async (t) => {
  const f = await openFixture(t);
  await f.store.postgres.write({
    name: 'slow',
    text: `CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN IF NEW.name = 'slow' THEN PERFORM pg_sleep(20); END IF; RETURN NEW; END $$`,
  });
  await f.store.postgres.write({
    name: 'trigger',
    text: 'CREATE TRIGGER be_slow BEFORE INSERT ON objects FOR EACH ROW EXECUTE FUNCTION be_slow()',
  });
  const committer = await openCommitter({
    postgres: f.store.postgres,
    epoch: f.lease.epoch,
    leaseMs: 1_000,
    // The slow one is given up twice as soon.
    monotonic: () => performance.now() * 2,
    seal,
    publish: () => {},
    onFenced: () => t.fail(),
    objectsPerOrg: 1_000,
  });
  t.teardown(() => committer.close());
  const names = Array.from({ length: 31 }, (_, i) => `n${i}`);
  const neighbours = names.map((name) => committer.commit(insert(name), undefined));
  const slow = committer.commit(insert('slow'), undefined);
  const answers = await Promise.all(neighbours);
  t.true(
    answers.every(({ outcome }) => outcome === 'Committed'),
    JSON.stringify(answers),
  );
  t.like(await slow, { outcome: 'Unavailable', message: 'TooSlow (57014)' });
  t.is(await f.store.objects.count('o-1'), 31);
});
