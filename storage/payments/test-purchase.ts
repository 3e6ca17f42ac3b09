/** A row of the embedded test processor as a value: a page to pay at, or a charge of a saved card, with all that became of it. */

export interface TestPurchaseRow {
  /** Of its page, and the right to pay there. */
  readonly id: string;
  /** Id of the payment, which tells nothing of the page. */
  readonly payment: string;
  readonly source: 'Checkout' | 'Charge';
  readonly org: string;
  /** Of the TopUp. */
  readonly name: string;
  readonly uid: string;
  readonly key: string;
  /** With two decimals, as all amounts here. */
  readonly amountUSD: string;
  /** ms, as all times here. */
  readonly created: number;
  /** Absent: it does not expire. */
  readonly expires?: number | undefined;
  readonly saveCard: boolean;
  readonly doneURL: string;
  readonly cancelURL: string;
  /** Open: also when its time is over and nothing has noted that yet. */
  readonly state: 'Open' | 'Pending' | 'Paid' | 'Failed' | 'Expired';
  readonly method?: 'Card' | 'Bank' | undefined;
  readonly cardSaved: boolean;
  readonly paid?: number | undefined;
  readonly invoice?: number | undefined;
  /** Oldest first. */
  readonly refunds: readonly TestRefundRow[];
  readonly refundedUSD: string;
  readonly dispute?: 'Open' | 'Won' | 'Lost' | undefined;
  readonly disputeUSD?: string | undefined;
}

export interface TestRefundRow {
  readonly id: string;
  readonly key: string;
  readonly amountUSD: string;
  readonly time: number;
}

/** What a purchase is made of. */
export type NewTestPurchase = Omit<
  TestPurchaseRow,
  'state' | 'method' | 'cardSaved' | 'paid' | 'invoice' | 'refunds' | 'refundedUSD' | 'dispute' | 'disputeUSD'
>;

/** In the order of the table; each has the name that it has here. */
export const PURCHASE_COLUMNS = `id, payment, source, org, name, uid, key, amount_usd AS "amountUSD", created, expires,
  save_card AS "saveCard", done_url AS "doneURL", cancel_url AS "cancelURL", state, method, card_saved AS "cardSaved", paid, invoice,
  refunds, refunded_usd AS "refundedUSD", dispute, dispute_usd AS "disputeUSD"`;

type Stored<T> = { [K in keyof T]-?: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] };

export type StoredPurchase = Stored<TestPurchaseRow>;

export function purchaseOf(row: StoredPurchase): TestPurchaseRow {
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
