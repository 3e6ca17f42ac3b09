/**
 * Rows of the embedded test processor. One purchase is one row, with its refunds and its dispute, and each step is one statement
 * (`test-moves.ts`), so concurrent steps are safe and a crash leaves nothing half done.
 *
 * A page is found by its id alone, which is the right to it; everything else names the org (I12). Times are ms on the caller's clock.
 * I10: a purchase has at most `MOST_REFUNDS` refunds and one dispute; what was never paid is removed (`sweepUnpaid`), the rest is kept.
 */
import type { NewTestPurchase, TestPurchase, TestRefund } from '../../src/kinds/topup/test-purchase.js';
import type { Postgres, Statement } from '../postgres.js';
import { EXPIRE, PAY, REFUND, STEPS } from './test-moves.js';
import { PURCHASE_COLUMNS, purchaseOf, type StoredTestPurchase } from './test-purchase.js';

export type TestStep = keyof typeof STEPS;

export interface TestChangeRow {
  readonly change: number;
  readonly purchase: { readonly org: string; readonly name: string; readonly uid: string };
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface TestCheckouts {
  /** Makes it, unless the org has one of this source and key: then that one is answered. */
  open(made: NewTestPurchase): Promise<TestPurchase>;
  ofKey(org: string, source: TestPurchase['source'], key: string): Promise<TestPurchase | undefined>;
  find(id: string): Promise<TestPurchase | undefined>;
  ofPayment(org: string, payment: string): Promise<TestPurchase | undefined>;
  /** False, here and below: it is not in the state for it. */
  pay(id: string, saveCard: boolean, now: number): Promise<boolean>;
  step(id: string, step: TestStep, now: number): Promise<boolean>;
  /** False, too: the key was used, or that much is not left. */
  refund(org: string, id: string, refund: TestRefund): Promise<boolean>;
  /** Pages whose time is over become Expired, at most `limit`; how many did. */
  expire(now: number, limit: number): Promise<number>;
  /** Number of the last change. */
  lastChange(): Promise<number>;
  /** Those whose last change came behind `change` and not before the time `since`, in the order of changes. */
  changedAfter(change: number, since: number, limit: number): Promise<readonly TestChangeRow[]>;
  /** Removes what ended before that time and was never paid; waits for no lock. */
  sweepUnpaid(before: number, signal: AbortSignal): Promise<void>;
}

/** How long those are kept (ms): 30 days. */
export const UNPAID_KEPT_MS = 30 * 24 * 3_600_000;
const REMOVED_AT_ONCE = 1_000;

export function openTestCheckouts(postgres: Postgres): TestCheckouts {
  async function one(statement: Statement, values: readonly unknown[]): Promise<TestPurchase | undefined> {
    const [row] = await postgres.read<StoredTestPurchase>(statement, values);
    return row && purchaseOf(row);
  }

  return {
    async open(made) {
      const { id, payment, source, org, name, uid, key, amountUSD, created, expires, saveCard } = made;
      const values = [id, payment, source, org, name, uid, key, amountUSD, created, expires ?? null, saveCard];
      await postgres.write(OPEN, [...values, made.doneURL, made.cancelURL]);
      const found = await one(OF_KEY, [org, source, key]);
      if (found === undefined) throw new Error('a test purchase is gone as soon as it was made');
      return found;
    },
    ofKey: (org, source, key) => one(OF_KEY, [org, source, key]),
    find: (id) => one(FIND, [id]),
    ofPayment: (org, payment) => one(OF_PAYMENT, [org, payment]),
    pay: async (id, saveCard, now) => (await postgres.write(PAY, [id, now, saveCard])) === 1,
    step: async (id, step, now) => (await postgres.write(STEPS[step], [id, now])) === 1,
    refund: async (org, id, { id: refund, key, amountUSD, time }) =>
      (await postgres.write(REFUND, [id, time, org, refund, key, amountUSD])) === 1,
    expire: (now, limit) => postgres.write(EXPIRE, [now, limit]),
    async lastChange() {
      const [row] = await postgres.readRows<[number]>(LAST_CHANGE);
      return row?.[0] ?? 0;
    },
    async changedAfter(change, since, limit) {
      const rows = await postgres.readRows<[number, string, string, string]>(CHANGED, [change, since, limit]);
      return rows.map(([at, org, name, uid]) => ({ change: at, purchase: { org, name, uid } }));
    },
    async sweepUnpaid(before, signal) {
      let removed = REMOVED_AT_ONCE;
      while (removed === REMOVED_AT_ONCE && !signal.aborted)
        removed = await postgres.write(SWEEP, [before, REMOVED_AT_ONCE]);
    },
  };
}

/** Precondition: none. Result: the org has a purchase of this source and key; one that was there is as it was. */
const OPEN: Statement = {
  name: 'open a test purchase',
  text: `
INSERT INTO test_purchases (id, payment, source, org, name, uid, key, amount_usd, created, expires, save_card, done_url, cancel_url, state)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'Open') ON CONFLICT (org, source, key) DO NOTHING`,
};

const OF_KEY: Statement = {
  name: 'test purchase of a key',
  text: `SELECT ${PURCHASE_COLUMNS} FROM test_purchases WHERE org = $1 AND source = $2 AND key = $3`,
};

const FIND: Statement = {
  name: 'test purchase of a page',
  text: `SELECT ${PURCHASE_COLUMNS} FROM test_purchases WHERE id = $1`,
};

const OF_PAYMENT: Statement = {
  name: 'test purchase of a payment',
  text: `SELECT ${PURCHASE_COLUMNS} FROM test_purchases WHERE org = $1 AND payment = $2`,
};

const LAST_CHANGE: Statement = { name: 'last test change', text: 'SELECT change FROM test_numbers' };

const CHANGED: Statement = {
  name: 'test purchases changed after',
  text: `
SELECT changed, org, name, uid FROM test_purchases
WHERE changed > $1::bigint AND changed_at >= $2::bigint ORDER BY changed LIMIT $3`,
};

/** Precondition: none. Result: at most $2 of the purchases that nobody paid and that ended before $1 are gone. */
const SWEEP: Statement = {
  name: 'sweep unpaid test purchases',
  text: `
DELETE FROM test_purchases WHERE id IN (
  SELECT id FROM test_purchases
  WHERE state IN ('Open', 'Failed', 'Expired') AND created < $1::bigint AND greatest(expires, changed_at, created) < $1::bigint
  ORDER BY created LIMIT $2 FOR UPDATE SKIP LOCKED
)`,
};
