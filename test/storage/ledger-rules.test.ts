/** What the commit reads and writes of money, where a mistake would show only later: each rule for itself, on one store. */
import test from 'ava';
import type { MoneyOperation, OperationResult } from '../../src/money/operation.js';
import { auditLedger } from '../../storage/ledger/audit.js';
import { insert, openFixture, update, versionOf, type Fixture } from './fixtures.js';
import { budget, place } from './money.js';

async function carriedOut(f: Fixture, org: string, ...operations: MoneyOperation[]): Promise<OperationResult[]> {
  const answer = await f.committer.ledger(org, operations);
  if (answer.outcome !== 'Committed') throw new Error(JSON.stringify(answer));
  return [...answer.results];
}

test('what alone changes in a transaction is written, and read by the next', async (t) => {
  const f = await openFixture(t);
  let asked = 0;
  const lines = async (text: string): Promise<unknown[]> =>
    f.store.postgres.readRows({ name: `lines ${(asked += 1)}`, text });

  // Each in a transaction of its own.
  await carriedOut(f, 'alone', { op: 'SetMode', mode: 'Prepaid' });
  t.deepEqual(await lines(`SELECT mode FROM money_orgs WHERE org = 'alone'`), [['Prepaid']]);
  await carriedOut(f, 'alone', { op: 'SetCap', uid: 'u', limitUSD: '3' });
  t.deepEqual(await lines(`SELECT limit_usd::float FROM caps WHERE org = 'alone'`), [[3]]);
  await carriedOut(f, 'alone', { op: 'SetCap', uid: 'u', limitUSD: undefined });
  t.deepEqual(await lines(`SELECT uid FROM caps WHERE org = 'alone'`), []);
  await carriedOut(f, 'alone', budget('b', '5', { period: 'Monthly' }));
  await carriedOut(f, 'alone', budget('b', '6', { period: 'Monthly' }));
  t.deepEqual(await lines(`SELECT limit_usd::float FROM budgets WHERE org = 'alone'`), [[6]]);
  await carriedOut(f, 'alone', { op: 'DropBudget', uid: 'b' });
  t.deepEqual(await lines(`SELECT uid FROM budgets WHERE org = 'alone'`), []);

  // A grant that has nothing left is still known by its name, and a key of the outside world by its row.
  const grant: MoneyOperation = { op: 'Credit', grant: 'g', amountUSD: '1', expires: 1, once: 'topup/1' };
  t.deepEqual(await carriedOut(f, 'alone', grant), [{ outcome: 'Applied' }]);
  t.deepEqual(await lines(`SELECT remaining_usd::float FROM grants WHERE org = 'alone'`), [[0]]);
  t.deepEqual(await carriedOut(f, 'alone', { ...grant, grant: 'other' }), [{ outcome: 'Nothing', why: 'Once' }]);
  t.deepEqual(await carriedOut(f, 'alone', { ...grant, once: undefined }), [{ outcome: 'DuplicateKey', key: 'g' }]);

  // What a parent has spent counts against its cap though nothing of it is held any more.
  await carriedOut(f, 'capped', { op: 'SetCap', uid: 'parent', limitUSD: '1' }, place('first', 'uid-1', '1'));
  await carriedOut(f, 'capped', { op: 'Bill', key: 'first', segment: 'Running', from: 0 });
  await f.store.postgres.write({
    name: 'a minute and a half ago',
    text: `UPDATE holds SET body = jsonb_set(body::jsonb, '{billing,since}', to_jsonb((body::jsonb->'billing'->>'since')::bigint - 90000))::text`,
  });
  await carriedOut(f, 'capped', { op: 'Release', key: 'first' });
  const [refused] = await carriedOut(f, 'capped', place('second', 'uid-2', '0.2'));
  t.like(refused, { outcome: 'Refused', by: 'Cap', uid: 'parent', neededUSD: '0.20' });

  // A posting names the commit that made it, and none where there was no object.
  const version = versionOf(
    await f.committer.commit(insert('made', { money: [place('h', 'uid-made', '1')] }), undefined),
  );
  await carriedOut(f, 'o-1', { op: 'Bill', key: 'h', segment: 'Boot', from: 0 });
  const billed: MoneyOperation = { op: 'Bill', key: 'h', segment: 'Running', from: Date.now() + 60_000 };
  const changed = versionOf(await f.committer.commit(update('made', version, { money: [billed] }), Buffer.alloc(0)));
  await carriedOut(f, 'o-1', { op: 'Release', key: 'h' });
  t.deepEqual(await lines(`SELECT segment, version FROM postings WHERE org = 'o-1' ORDER BY position LIMIT 2`), [
    ['Boot', changed],
    ['Running', null],
  ]);
  for (const org of ['alone', 'capped', 'o-1']) {
    const wrong = await auditLedger(f.store.postgres, org);
    // The holds of this test are of objects that are not there, or are gone.
    t.deepEqual(
      wrong.filter(({ type }) => type !== 'OrphanHold'),
      [],
      org,
    );
  }
});

test('an operation that Postgres refuses to write fails alone, though COMMIT was sent with it', async (t) => {
  const f = await openFixture(t);
  const text = `ALTER TABLE counters ADD CONSTRAINT refusing CHECK (counter <> 'cost/uid-bad')`;
  await f.store.postgres.write({ name: 'refusing', text });
  const uids = ['uid-1', 'uid-bad', 'uid-2', 'uid-3'];
  // In one turn, so that they share a transaction.
  const answers = await Promise.all(uids.map((uid) => f.committer.ledger('o-1', [place(uid, uid, '1')])));
  t.deepEqual(
    answers.map(({ outcome }) => outcome),
    ['Committed', 'Unavailable', 'Committed', 'Committed'],
  );
  const rows = await f.store.postgres.readRows<[string]>({ name: 'held', text: 'SELECT key FROM holds ORDER BY key' });
  t.deepEqual(rows.flat(), ['uid-1', 'uid-2', 'uid-3']);
  t.deepEqual(
    (await auditLedger(f.store.postgres, 'o-1')).filter(({ type }) => type !== 'OrphanHold'),
    [],
  );
});
