/** A purchase at the embedded test processor as a value: a page to pay at, or a charge of a saved card, with all that became of it. Storage keeps it. */

export interface TestPurchase {
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
  readonly refunds: readonly TestRefund[];
  readonly refundedUSD: string;
  readonly dispute?: 'Open' | 'Won' | 'Lost' | undefined;
  readonly disputeUSD?: string | undefined;
}

export interface TestRefund {
  readonly id: string;
  readonly key: string;
  readonly amountUSD: string;
  readonly time: number;
}

/** What a purchase is made of. */
export type NewTestPurchase = Omit<
  TestPurchase,
  'state' | 'method' | 'cardSaved' | 'paid' | 'invoice' | 'refunds' | 'refundedUSD' | 'dispute' | 'disputeUSD'
>;
