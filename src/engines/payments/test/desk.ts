/**
 * The payer's side of the embedded test processor: what its checkout page shows and may do. No money moves. A person who knows the id
 * of a page may pay at it, as with any payment link, so ids cannot be guessed.
 */
import type { PaidPayment, Payment, Purchase } from '../../../kinds/topup/payment.js';

export interface TestCheckout {
  /** 43 characters of base64url. */
  readonly id: string;
  readonly purchase: Purchase;
  readonly amountUSD: string;
  /** ms. */
  readonly created: number;
  readonly expires: number;
  readonly saveCard: boolean;
  readonly doneURL: string;
  readonly cancelURL: string;
  readonly payment: Payment;
  /** Number of its invoice, once it is paid; they have no gaps and never change. */
  readonly invoice?: number | undefined;
  /** What was paid back, oldest first: each is a credit note to the invoice. */
  readonly creditNotes: readonly CreditNote[];
}

export interface CreditNote {
  /** Of the refund. */
  readonly id: string;
  readonly amountUSD: string;
  /** ms. */
  readonly time: number;
}

export type PaidCheckout = TestCheckout & { readonly payment: PaidPayment; readonly invoice: number };

export type DeskAction =
  /** With a card; `saveCard`: it may be charged again. */
  | { readonly action: 'Pay'; readonly saveCard: boolean }
  /** The card is declined; the page stays open for another try. */
  | { readonly action: 'Decline' }
  /** By a bank, which settles later. */
  | { readonly action: 'PayByBank' }
  /** The bank settles a payment that is pending. */
  | { readonly action: 'BankPays' }
  | { readonly action: 'BankRefuses' }
  /** The payer goes away; the page stays open until it expires. */
  | { readonly action: 'Abandon' }
  /** The holder of the card disputes the payment, and the bank decides. Only of a paid one. */
  | { readonly action: 'Dispute' }
  | { readonly action: 'WinDispute' }
  | { readonly action: 'LoseDispute' };

export type DeskOutcome =
  | { readonly outcome: 'Done'; readonly checkout: TestCheckout }
  | { readonly outcome: 'Absent' }
  /** The page is not in the state for it: it is paid, expired, or waits for the bank. */
  | { readonly outcome: 'NotNow'; readonly checkout: TestCheckout };

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface TestDesk {
  find(id: string): Promise<TestCheckout | undefined>;
  act(id: string, action: DeskAction): Promise<DeskOutcome>;
}
