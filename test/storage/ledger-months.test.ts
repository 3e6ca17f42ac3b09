/** Months of posting that are over: they are closed with their sums, exported, and detached, and the auditor goes on from what they came to. */
import test, { type ExecutionContext } from 'ava';
import { auditLedger } from '../../storage/ledger/audit.js';
import { openAuditedLedger } from '../../storage/ledger/audited.js';
import { openLedgerMonths, type ExportedEntry } from '../../storage/ledger/months.js';
import { openLedgerReads } from '../../storage/ledger/reads.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import { postedMonthsAgo } from '../support/ledger-months.js';
import { openFixture, type Fixture } from './fixtures.js';
import { budget, place, TERMS } from './money.js';

const never = new AbortController().signal;

const SHA = 'a'.repeat(64);
const signal = new AbortController().signal;

async function ledger(f: Fixture, org: string, ...operations: MoneyOperation[]): Promise<void> {
  const result = await f.committer.ledger(org, operations);
  if (result.outcome !== 'Committed') throw new Error(JSON.stringify(result));
}

/** Something of every table: a hold that bills and is released, a Budget, a grant that pays. */
async function use(f: Fixture, org: string, key: string): Promise<void> {
  const terms = { ...TERMS, minimumUSD: '0.25' };
  await ledger(f, org, place(key, `uid-${key}`, '0.25', { terms }), { op: 'Bill', key, segment: 'Running', from: 0 });
  await ledger(f, org, { op: 'Release', key });
}

async function begin(t: ExecutionContext): Promise<Fixture> {
  const f = await openFixture(t);
  for (const org of ['o-1', 'o-2']) {
    await ledger(f, org, { op: 'SetMode', mode: 'Prepaid' }, { op: 'Credit', grant: 'g', amountUSD: '20' });
    await ledger(f, org, budget('b', '5', { period: 'Monthly' }), budget('all', '50'));
    await use(f, org, 'first');
  }
  return f;
}

async function findings(f: Fixture): Promise<readonly unknown[]> {
  const found = [];
  for (const org of ['o-1', 'o-2']) found.push(...(await auditLedger(f.store.postgres, org)));
  return found;
}

test('months that are over are closed in order, and the auditor goes on from their sums and reads their postings no more', async (t) => {
  const f = await begin(t);
  const { postgres } = f.store;
  const [months, audited] = [openLedgerMonths(postgres), openAuditedLedger(postgres)];
  const first = await postedMonthsAgo(postgres.pool, 2);
  await use(f, 'o-1', 'second');
  const second = await postedMonthsAgo(postgres.pool, 1);
  await use(f, 'o-1', 'third');
  t.deepEqual(await findings(f), []);
  const before = await audited.lines('o-1');

  t.is(await months.close(signal), undefined);
  const all = await months.list();
  t.deepEqual(
    all.map(({ month, state }) => [month, state]),
    [
      [first, 'Closed'],
      [second, 'Closed'],
      [all.at(-1)?.month, 'Open'],
    ],
  );
  t.true((all[0]?.postings ?? 0) > 0 && (all[0]?.lines ?? 0) > (all[1]?.lines ?? 0));
  t.deepEqual(await findings(f), []);
  const after = await audited.lines('o-1');
  t.true(after > 0 && after < before, `${after} of ${before} lines`);
  await use(f, 'o-1', 'fourth');
  t.is(await months.close(signal), undefined, 'nothing is closed twice');
  t.deepEqual(await findings(f), []);

  for (const [what, text] of [
    [
      'CounterDiffers',
      `UPDATE closed_counters SET spent_usd = spent_usd + 0.000000001 WHERE org = 'o-1' AND counter = 'budget/all/total'`,
    ],
    [
      'GrantDiffers',
      `UPDATE closed_accounts SET amount_usd = amount_usd + 1 WHERE org = 'o-1' AND account = 'grants/g'`,
    ],
  ] as const) {
    const was = await findings(f);
    await postgres.write({ name: what, text });
    const found = (await findings(f)).slice(was.length);
    t.like(found, [{ type: what }], what);
  }
});

test('a month with a posting that does not add up is not closed, nor any after it, and the auditor says so', async (t) => {
  const f = await begin(t);
  const { postgres } = f.store;
  const months = openLedgerMonths(postgres);
  const first = await postedMonthsAgo(postgres.pool, 2);
  await use(f, 'o-1', 'second');
  await postedMonthsAgo(postgres.pool, 1);
  const wrong = `UPDATE lines SET amount_usd = amount_usd + $1::numeric WHERE org = 'o-2' AND account = 'revenue'`;
  await postgres.write({ name: 'wrong', text: wrong }, ['0.000000001']);
  t.is(await months.close(signal), first);
  t.true((await months.list()).every(({ state }) => state === 'Open'));
  t.like(await findings(f), [{ type: 'UnbalancedPosting' }]);
  await postgres.write({ name: 'right', text: wrong }, ['-0.000000001']);
  t.is(await months.close(signal), undefined);
  t.deepEqual(
    (await months.list()).map(({ state }) => state),
    ['Closed', 'Closed', 'Open'],
  );
});

test('a closed month is read whole, by org and in order, and goes only by the hash of its last export; what is left adds up', async (t) => {
  const f = await begin(t);
  const { postgres } = f.store;
  const [months, reads] = [openLedgerMonths(postgres), openLedgerReads(postgres)];
  const entries = [...(await reads.entries('o-1', 0, 100, never)), ...(await reads.entries('o-2', 0, 100, never))];
  const month = await postedMonthsAgo(postgres.pool, 1);
  t.false(await months.detach(month, SHA), 'it is open');
  t.is(await months.close(signal), undefined);
  const read: ExportedEntry[] = [];
  for await (const page of months.read(month, signal)) read.push(...page);
  t.deepEqual(
    read.map(({ org, key, lines }) => [org, key, lines]),
    entries.map(({ key, lines }, i) => [i < entries.length / 2 ? 'o-1' : 'o-2', key, lines]),
  );
  t.is((await months.find(month))?.postings, read.length);

  t.false(await months.detach(month, SHA), 'it was never exported');
  await months.exported(month, SHA);
  t.false(await months.detach(month, 'b'.repeat(64)));
  t.true(await months.detach(month, SHA));
  t.like(await months.find(month), { state: 'Detached', sha256: SHA, postings: read.length });
  t.true(await months.detach(month, SHA), 'once more changes nothing');
  t.deepEqual(await reads.entries('o-1', 0, 100, never), []);
  t.deepEqual(await findings(f), []);
  await use(f, 'o-1', 'later');
  t.deepEqual(await findings(f), []);
  t.is((await reads.wallet('o-1')).balanceUSD.toFixed(), '19.5');
});
