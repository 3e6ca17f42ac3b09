/** What the tests of money on real Postgres share: operations, and what the ledger says. */
import type { Terms } from '../../src/money/hold.js';
import type { BudgetLimit } from '../../src/money/limits.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import type { Fixture } from './fixtures.js';

/** A hundredth of a USD a second. */
export const TERMS: Terms = {
  rateUSDPerHour: '36',
  incrementMs: 1,
  minimumUSD: '0',
  unitMs: 60_000,
  reserveMs: 60_000,
};

export function budget(uid: string, limitUSD: string, more: Partial<BudgetLimit> = {}): MoneyOperation {
  const limit = { uid, name: uid, limitUSD, action: 'Block', period: 'Total', thresholds: [50, 100] } as const;
  return { op: 'SetBudget', budget: { ...limit, ...more } };
}

/** By the object with this uid, which costs for itself and for its parent. */
export function place(
  key: string,
  uid: string,
  amountUSD: string,
  more: { readonly labels?: Record<string, string>; readonly replaces?: string; readonly terms?: Terms } = {},
): MoneyOperation {
  const owner = { uid, kind: 'Attempt', project: 'default', name: uid };
  const payer = { project: 'default', labels: more.labels ?? {}, costs: [owner, { ...owner, uid: 'parent' }] };
  return { op: 'Place', key, owner, payer, amountUSD, terms: TERMS, ...more };
}

export interface CounterFigures {
  readonly spent: string;
  readonly held: string;
  readonly holders: number;
}

/** Rounded to two decimals, as text. */
export async function countersIn(f: Fixture, org = 'o-1'): Promise<Readonly<Record<string, CounterFigures>>> {
  const rows = await f.store.postgres.readRows<[string, string, string, number]>(
    {
      name: 'counters',
      text: 'SELECT counter, round(spent_usd, 2)::text, round(held_usd, 2)::text, holders FROM counters WHERE org = $1',
    },
    [org],
  );
  return Object.fromEntries(rows.map(([counter, spent, held, holders]) => [counter, { spent, held, holders }]));
}

export async function countOf(f: Fixture, table: string): Promise<number> {
  const [row] = await f.store.postgres.readRows<[number]>({
    name: `count ${table}`,
    text: `SELECT count(*) FROM ${table}`,
  });
  return row?.[0] ?? 0;
}
