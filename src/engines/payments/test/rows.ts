/** What the embedded test processor needs of its rows; `storage/payments/test-checkouts.ts` gives it, and says what each step needs and does. */
import type { NewTestPurchase, TestPurchase, TestRefund } from '../../../kinds/topup/test-purchase.js';

export type PlainStep = 'PayByBank' | 'BankPays' | 'BankRefuses' | 'Dispute' | 'WinDispute' | 'LoseDispute';

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface TestRows {
  open(made: NewTestPurchase): Promise<TestPurchase>;
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
