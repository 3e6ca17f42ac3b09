/** What the embedded test processor needs of its rows; `storage/payments/test-checkouts.ts` gives it, and says what each step needs and does. */

export interface TestPurchase {
  readonly id: string;
  readonly payment: string;
  readonly source: 'Checkout' | 'Charge';
  readonly org: string;
  readonly name: string;
  readonly uid: string;
  readonly key: string;
  readonly amountUSD: string;
  readonly created: number;
  readonly expires?: number | undefined;
  readonly saveCard: boolean;
  readonly doneURL: string;
  readonly cancelURL: string;
  readonly state: 'Open' | 'Pending' | 'Paid' | 'Failed' | 'Expired';
  readonly method?: 'Card' | 'Bank' | undefined;
  readonly cardSaved: boolean;
  readonly paid?: number | undefined;
  readonly invoice?: number | undefined;
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

export type NewPurchase = Pick<
  TestPurchase,
  'id' | 'payment' | 'source' | 'org' | 'name' | 'uid' | 'key' | 'amountUSD' | 'created' | 'expires' | 'saveCard'
> &
  Pick<TestPurchase, 'doneURL' | 'cancelURL'>;

export type PlainStep = 'PayByBank' | 'BankPays' | 'BankRefuses' | 'Dispute' | 'WinDispute' | 'LoseDispute';

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface TestRows {
  open(made: NewPurchase): Promise<TestPurchase>;
  ofKey(org: string, source: TestPurchase['source'], key: string): Promise<TestPurchase | undefined>;
  find(id: string): Promise<TestPurchase | undefined>;
  ofPayment(org: string, payment: string): Promise<TestPurchase | undefined>;
  pay(id: string, saveCard: boolean, now: number): Promise<boolean>;
  step(id: string, step: PlainStep, now: number): Promise<boolean>;
  refund(org: string, id: string, refund: TestRefund): Promise<boolean>;
  expire(now: number, limit: number): Promise<number>;
  lastChange(): Promise<number>;
  changedAfter(
    change: number,
    since: number,
    limit: number,
  ): Promise<
    readonly {
      readonly change: number;
      readonly purchase: { readonly org: string; readonly name: string; readonly uid: string };
    }[]
  >;
}
