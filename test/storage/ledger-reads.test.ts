/** What is read of the ledger beside the commit: the auditor, the holds that are due, and figures for status. */
import test from 'ava';
import { auditLedger } from '../../storage/ledger/audit.js';
import { readDueHolds } from '../../storage/ledger/due-holds.js';
import { openLimitedCounters } from '../../storage/ledger/limited-counters.js';
import { openProjectionRows } from '../../storage/ledger/projection.js';
import { openLedgerReads } from '../../storage/ledger/reads.js';
import { storedSweeps } from '../../storage/run-sweeps.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import { sumUSD } from '../../src/money/usd.js';
import { insert, openFixture, type Fixture } from './fixtures.js';
import { budget, countOf, place, TERMS } from './money.js';

const never = new AbortController().signal;

async function ledger(f: Fixture, ...operations: MoneyOperation[]): Promise<void> {
  const result = await f.committer.ledger('o-1', operations);
  if (result.outcome !== 'Committed') throw new Error(JSON.stringify(result));
}

/** Two holds that bill, one of which has ended; a Budget, a cap, a grant and what it paid. */
async function some(f: Fixture): Promise<void> {
  const terms = { ...TERMS, minimumUSD: '0.25' };
  await ledger(
    ...[f, { op: 'SetMode', mode: 'Prepaid' } as const, { op: 'Credit', grant: 'g', amountUSD: '20' } as const],
    ...[budget('b', '0.5'), budget('n', '50', { action: 'Notify', period: 'Monthly' })],
  );
  for (const name of ['a', 'c'])
    await f.committer.commit(insert(name, { money: [place(name, `uid-${name}`, '0.25', { terms })] }), undefined);
  const begin = (key: string): MoneyOperation => ({ op: 'Bill', key, segment: 'Boot', from: 0 });
  await ledger(f, begin('a'), begin('c'), { op: 'Renew', key: 'a' }, { op: 'Release', key: 'a' });
}

test('the auditor finds nothing wrong with what commits wrote, and each thing that is changed behind their back', async (t) => {
  const f = await openFixture(t);
  const { postgres } = f.store;
  await some(f);
  // Of the owner, which the test places for as an Attempt.
  await postgres.write({
    name: 'kind',
    text: `UPDATE holds SET body = jsonb_set(body::jsonb, '{owner}', '{"uid":"uid-c","kind":"Job","project":"default","name":"c"}')::text`,
  });
  t.deepEqual(await auditLedger(postgres, 'o-1'), []);
  const faults = {
    UnbalancedPosting: `UPDATE lines SET amount_usd = amount_usd + 0.000000001 WHERE account = 'revenue'`,
    'CounterDiffers spent': `UPDATE counters SET spent_usd = spent_usd + 0.000000001 WHERE counter = 'budget/b/total'`,
    'CounterDiffers held': `UPDATE counters SET held_usd = held_usd + 1 WHERE counter = 'wallet'`,
    'CounterDiffers holders': `UPDATE counters SET holders = holders + 1 WHERE counter = 'cost/uid-c'`,
    'CounterDiffers boot': `UPDATE counters SET boot_usd = boot_usd + 1 WHERE counter = 'cost/parent'`,
    GrantDiffers: `UPDATE grants SET remaining_usd = remaining_usd - 1`,
    WalletDiffers: `UPDATE money_orgs SET wallet_usd = 1`,
    HoldDiffers: `UPDATE holds SET counters = '{}'`,
    OrphanHold: `UPDATE objects SET uid = 'another' WHERE name = 'c'`,
    'CounterDiffers gone': `DELETE FROM counters WHERE counter = 'cost/uid-c'`,
    'CounterDiffers lost': `DELETE FROM holds`,
    'UnbalancedPosting gone': `DELETE FROM postings WHERE reason = 'Credit'`,
  };
  for (const [name, text] of Object.entries(faults)) {
    const client = await postgres.connect('test');
    try {
      // Seen by the auditor, and taken back after.
      const tables = ['postings', 'lines', 'counters', 'grants', 'money_orgs', 'holds', 'objects'];
      for (const table of tables) await client.query(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`);
      await client.query(text);
      const [type, what] = name.split(' ');
      const found = await auditLedger(postgres, 'o-1');
      t.true(
        found.some((one) => one.type === type),
        name,
      );
      if (what === 'spent' || what === 'held' || what === 'holders' || what === 'boot')
        t.deepEqual(
          found.map((one) => (one.type === 'CounterDiffers' ? one.what : one.type)),
          [what],
        );
      for (const table of tables) {
        await client.query(`TRUNCATE ${table}`);
        await client.query(`INSERT INTO ${table} SELECT * FROM kept_${table}`);
        await client.query(`DROP TABLE kept_${table}`);
      }
    } finally {
      await client.end();
    }
  }
  t.deepEqual(await auditLedger(postgres, 'o-1'), []);
});

test('holds are due when their money ends, the longest due first, at most as many as are asked for', async (t) => {
  const f = await openFixture(t);
  const now = f.store.clock();
  await ledger(f, ...['a', 'b', 'c', 'd'].map((key) => place(key, `uid-${key}`, '1.20')));
  t.is((await readDueHolds(f.store.postgres, now + 3_600_000, 10)).size, 0, 'nothing is billed');
  for (const key of ['b', 'a', 'c']) await ledger(f, { op: 'Bill', key, segment: 'Running', from: f.store.clock() });
  // However fast they were billed.
  const order = `position(key IN 'bac')`;
  await f.store.postgres.write({
    name: 'order',
    text: `UPDATE holds SET renew_at = renew_at + ${order} WHERE key <> 'd'`,
  });
  t.is((await readDueHolds(f.store.postgres, now, 10)).size, 0);
  const due = await readDueHolds(f.store.postgres, now + 40_000, 2);
  t.deepEqual(
    due.get('o-1')?.map(({ key, sequence, owner }) => [key, sequence, owner.uid]),
    [
      ['b', 2, 'uid-b'],
      ['a', 2, 'uid-a'],
    ],
  );
  await ledger(f, { op: 'Renew', key: 'b', sequence: 2 });
  t.deepEqual(
    (await readDueHolds(f.store.postgres, now + 40_000, 9)).get('o-1')?.map(({ key }) => key),
    ['a', 'c'],
  );
});

test('counters whose status is behind are read with the object that shows them until it does, and a change meanwhile is not lost', async (t) => {
  const f = await openFixture(t);
  const rows = openProjectionRows(f.store.postgres);
  const reads = openLedgerReads(f.store.postgres);
  await some(f);
  await ledger(f, { op: 'Renew', key: 'c' });
  const start = { after: { org: '', counter: '' }, limit: 100, budgetsShownBefore: 0 };
  const young = await rows.changed({ ...start, objectsShownBefore: f.store.clock() - 60_000 });
  t.false(
    young.some(({ owner, counter }) => owner?.kind === 'Attempt' && counter.holders > 0),
    'an Attempt that has just begun waits, and most end before it is their turn',
  );
  const query = { ...start, objectsShownBefore: f.store.clock() + 60_000 };
  const all = await rows.changed(query);
  t.deepEqual(
    all.map(({ counter: { counter }, owner }) => [counter.replace(/\d{4}-\d\d/, 'month'), owner?.kind, owner?.name]),
    [
      ['budget/b/total', 'Budget', 'b'],
      ['budget/n/month', 'Budget', 'n'],
      ['cost/parent', 'Attempt', 'uid-a'],
      ['cost/uid-a', 'Attempt', 'uid-a'],
      ['cost/uid-c', 'Attempt', 'uid-c'],
    ],
    'the wallet is shown nowhere',
  );
  const first = all[0];
  t.is(first?.refusing, true, 'a renewal got nothing from it');
  const page = await rows.changed({ ...query, after: { org: 'o-1', counter: 'cost/parent' }, limit: 1 });
  t.deepEqual(
    page.map(({ counter: { counter } }) => counter),
    ['cost/uid-a'],
  );
  t.deepEqual(
    (
      await rows.holdsOf(
        [
          { org: 'o-1', uid: 'parent' },
          { org: 'o-1', uid: 'uid-c' },
        ],
        9,
      )
    ).map(({ key }) => key),
    ['c'],
    'once, though it counts in both, and what has ended does not bill',
  );
  t.deepEqual(await rows.holdsOf([{ org: 'o-2', uid: 'parent' }], 9), []);

  const showing = all.map(({ org, counter: { counter }, revision }) => ({ org, counter, revision }));
  await ledger(f, { op: 'Bill', key: 'c', segment: 'Running', from: Number.MAX_SAFE_INTEGER });
  await rows.shown(showing, 1_000);
  const namesAt = async (now: number): Promise<string[]> =>
    (await rows.changed({ ...query, budgetsShownBefore: now, objectsShownBefore: now })).map(
      ({ counter: { counter } }) => counter,
    );
  t.deepEqual(await namesAt(999), [], 'what is held for changes all the time, and is not shown each time');
  t.true((await namesAt(1_000)).includes('cost/uid-c'));
  t.false((await namesAt(1_000)).includes('cost/uid-a'));
  await ledger(f, { op: 'Release', key: 'c' });
  t.true((await namesAt(999)).includes('cost/uid-c'), 'an end is shown at once');
  t.deepEqual(
    (await rows.named([{ org: 'o-1', counter: 'cost/uid-a' }])).map(({ owner }) => owner?.uid),
    ['uid-a'],
  );
  const own = await reads.counter('o-1', 'cost/uid-a');
  t.deepEqual(
    [Number(own.spentUSD.toFixed()).toFixed(2), own.heldUSD.toFixed(), own.segments.Teardown?.gt(0)],
    ['0.25', '0', true],
  );
  t.is((await reads.counter('o-2', 'cost/uid-a')).spentUSD.toFixed(), '0');
});

test('entries are read page by page behind a position, with their lines; the wallet has what they leave', async (t) => {
  const f = await openFixture(t);
  const reads = openLedgerReads(f.store.postgres);
  t.is((await reads.wallet('o-1')).mode, 'Unlimited');
  await some(f);
  const first = await reads.entries('o-1', 0, 1, never);
  t.like(first[0], {
    reason: 'Credit',
    amountUSD: '20.000000000',
    lines: [{ account: 'funding' }, { account: 'grants/g' }],
  });
  const rest = await reads.entries('o-1', first[0]?.position ?? 0, 100, never);
  t.true(
    rest.length > 0 && rest.every(({ position }, i) => position > (rest[i - 1]?.position ?? first[0]?.position ?? 0)),
  );
  t.true(rest.every(({ reason, owner, project }) => reason === 'Use' && owner === 'uid-a' && project === 'default'));
  t.is(sumUSD(rest.map(({ amountUSD }) => amountUSD)).toFixed(), '0.25');
  for (const { lines } of rest) t.is(sumUSD(lines.map(({ amountUSD }) => amountUSD)).toFixed(), '0');
  t.deepEqual(await reads.entries('o-1', rest.at(-1)?.position ?? 0, 100, never), []);
  t.deepEqual(await reads.entries('o-2', 0, 100, never), []);
  const period = first[0]?.period;
  t.deepEqual(await reads.entries('o-1', 0, 100, never, period), [...first, ...rest]);
  t.deepEqual(await reads.entries('o-1', 0, 100, never, '2026-01'), []);
  const { mode, balanceUSD, heldUSD } = await reads.wallet('o-1');
  t.deepEqual([mode, balanceUSD.toFixed(), heldUSD.toFixed()], ['Prepaid', '19.75', '0.25']);
  t.is((await reads.hold('o-1', 'c'))?.owner.uid, 'uid-c');
  t.deepEqual(
    (await reads.holdsOf('o-1', 'uid-c', 10)).map(({ key }) => key),
    ['c'],
  );
  t.is(await reads.hold('o-1', 'a'), undefined);
});

test('a threshold is stored once in a period, by what is spent and by a lowered limit, until its notice is on its way', async (t) => {
  const f = await openFixture(t);
  const reads = openProjectionRows(f.store.postgres);
  await some(f);
  const half = { org: 'o-1', budget: 'b', name: 'b', period: 'total', threshold: 50 };
  t.deepEqual(await reads.unnoticed(10), [half]);
  await reads.noticed([half]);
  t.deepEqual(await reads.unnoticed(10), []);
  await ledger(f, budget('b', '0.25'));
  t.deepEqual(await reads.unnoticed(10), [{ ...half, threshold: 100 }], 'and not half of it again');
});

test('postings stand in the partition of their month, those of the next months are there before, and old rows of commits go', async (t) => {
  const f = await openFixture(t);
  const { postgres, changes, responses, clock } = f.store;
  await some(f);
  const partitions = async (): Promise<number> => {
    const text = `SELECT count(*) FROM pg_class WHERE relname ~ '^(postings|lines)_\\d{4}_\\d\\d$'`;
    return (await postgres.readRows<[number]>({ name: 'partitions', text }))[0]?.[0] ?? 0;
  };
  t.is(await partitions(), 8, 'this month and three more, of both');
  t.deepEqual([await countOf(f, 'postings_rest'), await countOf(f, 'lines_rest')], [0, 0]);
  const made = await countOf(f, 'ledger_commits');
  t.true(made > 0);
  await postgres.write({ name: 'drop', text: 'DROP TABLE ' + (await lastPartition(f)) });
  const old = `INSERT INTO ledger_commits (id, time) VALUES (gen_random_uuid(), now() - interval '25 hours')`;
  await postgres.write({ name: 'old', text: old });
  const sweeps = storedSweeps({ postgres, changes, responses, now: clock, onFloor: () => {} });
  await sweeps.find(({ name }) => name === 'ledger')?.run(AbortSignal.timeout(10_000));
  t.is(await partitions(), 8);
  t.is(await countOf(f, 'ledger_commits'), made);
});

async function lastPartition(f: Fixture): Promise<string> {
  const text = `SELECT max(relname::text) FROM pg_class WHERE relname ~ '^postings_\\d{4}_\\d\\d$'`;
  const [row] = await f.store.postgres.readRows<[string]>({ name: 'last partition', text });
  return row?.[0] ?? '';
}

test('what is free on a counter is its limit less what is spent and held, of the wallet too; refused renewals are found by the counter', async (t) => {
  const f = await openFixture(t);
  await ledger(
    f,
    { op: 'SetMode', mode: 'Prepaid' },
    { op: 'Credit', grant: 'g', amountUSD: '20' },
    budget('b', '0.5'),
  );
  await ledger(f, budget('n', '1', { action: 'Notify' }), { op: 'SetCap', uid: 'parent', limitUSD: '3' });
  for (const name of ['a', 'c'])
    await f.committer.commit(insert(name, { money: [place(name, `uid-${name}`, '0.25')] }), undefined);
  await ledger(f, { op: 'Bill', key: 'a', segment: 'Boot', from: 0 });
  const counters = openLimitedCounters(f.store.postgres);
  const rooms = async (...names: string[]) => {
    const found = await counters.rooms(names.map((counter) => ({ org: 'o-1', counter })));
    return found.map(({ limitUSD, availableUSD, heldUSD }) => {
      return [limitUSD === undefined ? 'none' : Number(limitUSD), limitUSD && Number(availableUSD), Number(heldUSD)];
    });
  };
  const [total, cap, wallet] = await rooms('budget/b/total', 'cost/parent', 'wallet');
  // Moments of Boot may be charged by now; the limit of the wallet is all that was ever in it.
  for (const [room, limit] of [
    [total, 0.5],
    [cap, 3],
    [wallet, 20],
  ] as const) {
    t.is(room?.[0], limit);
    const [, available = 0, held = 0] = room as number[];
    const spent = limit - available - held;
    t.true(spent >= 0 && spent < 0.01 && held > 0.24, `${available} and ${held} of ${limit}`);
  }
  t.deepEqual(
    (await rooms('budget/n/total', 'budget/gone/total', 'cost/uid-a')).map(([limit]) => limit),
    ['none', 'none', 'none'],
  );

  const start = { org: '', counter: '' };
  t.deepEqual(await counters.refusing(start, 10), []);
  await ledger(f, { op: 'Renew', key: 'a' });
  const name = { org: 'o-1', counter: 'budget/b/total' };
  t.deepEqual(await counters.refusing(start, 10), [name]);
  t.deepEqual(await counters.refusing(name, 10), []);
  const [refused, ...others] = await counters.refusedBy([name, { org: 'o-2', counter: name.counter }], 10);
  t.like(refused, { org: 'o-1', counter: 'budget/b/total', key: 'a' });
  // A minute and its reserve cost 1.20 and what is to come of the second that began; 0.25 are held.
  t.true(Number(refused?.lacksUSD) >= 0.95 && Number(refused?.lacksUSD) < 1, refused?.lacksUSD);
  t.deepEqual(others, []);
});
