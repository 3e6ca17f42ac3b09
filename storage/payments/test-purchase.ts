/** Rows of the embedded test processor: their columns, and the purchase that a row is. */
import type { TestPurchase } from '../../src/kinds/topup/test-purchase.js';

/** In the order of the table; each has the name that it has here. */
export const PURCHASE_COLUMNS = `id, payment, source, org, name, uid, key, amount_usd AS "amountUSD", created, expires,
  save_card AS "saveCard", done_url AS "doneURL", cancel_url AS "cancelURL", state, method, card_saved AS "cardSaved", paid, invoice,
  refunds, refunded_usd AS "refundedUSD", dispute, dispute_usd AS "disputeUSD"`;

type Stored<T> = { [K in keyof T]-?: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] };

export type StoredTestPurchase = Stored<TestPurchase>;

export function purchaseOf(row: StoredTestPurchase): TestPurchase {
  return {
    ...row,
    expires: row.expires ?? undefined,
    method: row.method ?? undefined,
    paid: row.paid ?? undefined,
    invoice: row.invoice ?? undefined,
    dispute: row.dispute ?? undefined,
    disputeUSD: row.disputeUSD ?? undefined,
  };
}
