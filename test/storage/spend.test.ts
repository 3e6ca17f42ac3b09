/** Sums of spending over random postings: they add up, however they are grouped. */
import test from 'ava';
import fc from 'fast-check';
import { sumUSD, USD } from '../../src/money/usd.js';
import { openLedgerReads } from '../../storage/ledger/reads.js';
import { openLedgerSpend, type SpendQuery } from '../../storage/ledger/spend.js';
import { openFixture, type Fixture } from './fixtures.js';
import { place } from './money.js';
import { tries } from '../support/extent.js';

const never = new AbortController().signal;

const DAY_MS = 86_400_000;

interface Posting {
  readonly org: string;
  readonly reason: 'Use' | 'Refund' | 'Correction' | 'Credit' | 'Expiry';
  /** ms. */
  readonly time: number;
  readonly project: string | null;
  readonly labels: Readonly<Record<string, string>> | null;
  /** In billionths. */
  readonly amount: number;
  readonly covered: number;
}

const FROM = Date.parse('2026-10-28T00:00:00Z');
const TO = Date.parse('2026-11-04T00:00:00Z');

const posting: fc.Arbitrary<Posting> = fc.record({
  org: fc.constantFrom('o-1', 'o-1', 'o-1', 'o-2'),
  reason: fc.constantFrom('Use', 'Use', 'Refund', 'Correction', 'Credit', 'Expiry'),
  time: fc.integer({ min: FROM - DAY_MS, max: TO + DAY_MS }),
  project: fc.constantFrom(null, '', 'a', 'b', 'default'),
  labels: fc.constantFrom<Posting['labels']>(null, {}, { team: 'x' }, { team: 'y', other: 'z' }, { team: '' }),
  amount: fc.integer({ min: -5_000_000_000, max: 50_000_000_000 }),
  covered: fc.integer({ min: 0, max: 1_000_000_000 }),
});

const query: fc.Arbitrary<SpendQuery> = fc.record({
  from: fc.integer({ min: FROM, max: FROM + 2 * DAY_MS }),
  to: fc.integer({ min: TO - 2 * DAY_MS, max: TO }),
  day: fc.boolean(),
  project: fc.boolean(),
  label: fc.constantFrom(undefined, 'team', 'absent'),
});

async function post(f: Fixture, postings: readonly Posting[]): Promise<void> {
  await f.store.postgres.pool.query('TRUNCATE postings');
  await f.store.postgres.pool.query(
    `INSERT INTO postings (time, org, key, reason, period, project, labels, counters, amount_usd, covered_usd)
     SELECT to_timestamp((p ->> 'time')::bigint / 1000.0), p ->> 'org', 'k/' || n, p ->> 'reason', '2026-11', p ->> 'project',
       nullif(p -> 'labels', 'null'), '{}', (p ->> 'amount')::numeric / 1000000000, (p ->> 'covered')::numeric / 1000000000
     FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS all_of(p, n)`,
    [JSON.stringify(postings)],
  );
}

/** The same sums, one posting at a time. */
function modelOf(postings: readonly Posting[], { from, to, day, project, label }: SpendQuery): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const one of postings) {
    if (one.org !== 'o-1' || one.reason === 'Credit' || one.reason === 'Expiry') continue;
    if (one.time < from || one.time >= to) continue;
    const key = [
      day ? new Date(one.time).toISOString().slice(0, 10) : '',
      project ? (one.project ?? '') : '',
      label === undefined ? '' : (one.labels?.[label] ?? ''),
    ].join('|');
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(one.amount));
  }
  return sums;
}

test('rows of spending are those of the entries of the ledger, and add up to their sum, however they are grouped', async (t) => {
  t.timeout(120_000);
  const f = await openFixture(t);
  const spend = openLedgerSpend(f.store.postgres);
  const reads = openLedgerReads(f.store.postgres);
  await fc.assert(
    fc.asyncProperty(
      fc.array(posting, { maxLength: 60 }),
      fc.array(query, { minLength: 3, maxLength: 3 }),
      async (postings, queries) => {
        await post(f, postings);
        const entries = await reads.entries('o-1', 0, 1_000, never);
        for (const one of queries) {
          const rows = await spend.rows('o-1', one, 1_000, never);
          const inside = entries.filter(
            ({ time, reason }) => time >= one.from && time < one.to && reason !== 'Credit' && reason !== 'Expiry',
          );
          const sum = sumUSD(rows.map(({ amountUSD }) => amountUSD));
          t.is(sum.toFixed(), sumUSD(inside.map(({ amountUSD }) => new USD(amountUSD))).toFixed());
          t.is(
            sumUSD(rows.map(({ coveredUSD }) => coveredUSD)).toFixed(),
            sumUSD(inside.map(({ coveredUSD }) => new USD(coveredUSD))).toFixed(),
          );
          const found = rows.map(
            ({ day, project, label, amountUSD }) => [[day, project, label].join('|'), amountUSD.billionths] as const,
          );
          t.deepEqual(Object.fromEntries(found), Object.fromEntries(modelOf(postings, one)));
        }
      },
    ),
    { numRuns: tries(40) },
  );
});

test('the rate is of all that bills now, and spending is that of the last day and week', async (t) => {
  const f = await openFixture(t);
  const spend = openLedgerSpend(f.store.postgres);
  const none = await spend.rate('o-1', never);
  t.deepEqual(
    [none.perHourUSD, none.lastDayUSD, none.lastWeekUSD].map((amount) => amount.toFixed()),
    ['0', '0', '0'],
  );
  const ledger = async (...operations: Parameters<Fixture['committer']['ledger']>[1][number][]): Promise<void> => {
    t.is((await f.committer.ledger('o-1', operations)).outcome, 'Committed');
  };
  await ledger(place('a', 'uid-a', '1.20'), place('b', 'uid-b', '1.20'), place('c', 'uid-c', '1.20'));
  const from = f.store.clock();
  await ledger({ op: 'Bill', key: 'a', segment: 'Running', from }, { op: 'Bill', key: 'b', segment: 'Running', from });
  t.is((await spend.rate('o-1', never)).perHourUSD.toFixed(), '72', 'what is held and does not bill yet costs nothing');
  t.is((await spend.rate('o-2', never)).perHourUSD.toFixed(), '0');
  const now = Date.now();
  const use = { org: 'o-1', reason: 'Use', project: null, labels: null, covered: 0 } as const;
  await post(f, [
    { ...use, time: now - 1_000, amount: 1_000_000_000 },
    { ...use, time: now - DAY_MS - 60_000, amount: 2_000_000_000 },
    { ...use, time: now - 7 * DAY_MS - 60_000, amount: 4_000_000_000 },
    { ...use, time: now - 1_000, amount: -250_000_000, reason: 'Refund' },
    { ...use, time: now - 1_000, amount: 8_000_000_000, reason: 'Credit' },
    { ...use, time: now - 1_000, amount: 8_000_000_000, org: 'o-2' },
  ]);
  const rate = await spend.rate('o-1', never);
  t.deepEqual([rate.lastDayUSD.toFixed(), rate.lastWeekUSD.toFixed()], ['0.75', '2.75']);
});

test('sums of one org go one after the other, and one more than may wait is refused', async (t) => {
  const f = await openFixture(t);
  const spend = openLedgerSpend(f.store.postgres);
  const many = await Promise.allSettled(Array.from({ length: 12 }, () => spend.rate('o-1', never)));
  t.is(many.filter(({ status }) => status === 'fulfilled').length, 5, 'one runs and four wait');
  for (const one of many) if (one.status === 'rejected') t.regex(String(one.reason), /TooManyRequests/);
  t.is((await spend.rate('o-1', never)).perHourUSD.toFixed(), '0', 'and then the next may');
});
