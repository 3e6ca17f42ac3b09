/**
 * What takes money: one interface for Stripe and for the embedded test processor, with one contract test for both. A processor decides nothing
 * about credits. It makes pages and charges, each once for a key, and says how a purchase stands now. All news of a change (a webhook, a
 * browser that comes back, a look at what has changed) leads to one more `read`, so order, repeats and losses of news mean nothing.
 */
import type { Payment, PaymentSource, Purchase, SavedCard } from '../../kinds/topup/payment.js';

export interface CheckoutRequest {
  readonly purchase: Purchase;
  /** The same key gets the same page, whenever it comes. At most 255 characters. */
  readonly key: string;
  /** Whole cents. */
  readonly amountUSD: string;
  /** When an unpaid page ends (ms). The same at each try of one key. */
  readonly expires: number;
  /** The payer is asked to let the card be charged again. */
  readonly saveCard: boolean;
  /** Pages of this service, to which the browser comes after the payment, and when the payer gives up. */
  readonly doneURL: string;
  readonly cancelURL: string;
}

/** Nothing is known of what the call has done: it may be made again with the same key. `message` is for operators, without secrets. */
export interface Unreachable {
  readonly outcome: 'Unreachable';
  readonly message: string;
}

export type CheckoutOutcome =
  | { readonly outcome: 'Opened'; readonly id: string; readonly url: string; readonly expires: number }
  /** Too little of its time is left for this processor, and no page was made: another key and a later end are needed. */
  | { readonly outcome: 'TooLate' }
  /** For good. `message`: for the customer. */
  | { readonly outcome: 'Refused'; readonly message: string }
  | Unreachable;

export interface ChargeRequest {
  readonly purchase: Purchase;
  /** As of a page. */
  readonly key: string;
  readonly amountUSD: string;
  readonly card: SavedCard;
}

export type ChargeOutcome =
  /** The charge was begun; `read` says how it stands. */
  | { readonly outcome: 'Charged'; readonly payment: string }
  /** For good: the card was declined, or its holder has to be asked. `message`: for the customer. */
  | { readonly outcome: 'Declined'; readonly message: string }
  | Unreachable;

/** Past the time in which a processor remembers the key of a charge. */
export type FindChargeOutcome =
  | ChargeOutcome
  /** No such charge was ever made. */
  | { readonly outcome: 'Absent' };

export interface RefundRequest {
  readonly purchase: Purchase;
  readonly source: PaymentSource;
  readonly key: string;
  /** Whole cents, at most what was paid and not paid back. */
  readonly amountUSD: string;
}

export type RefundOutcome =
  | { readonly outcome: 'Refunded'; readonly id: string }
  | { readonly outcome: 'Refused'; readonly message: string }
  | Unreachable;

export type ReadOutcome =
  | { readonly outcome: 'Known'; readonly payment: Payment }
  /** The processor has no such purchase, or it is of another TopUp. */
  | { readonly outcome: 'Absent' }
  | Unreachable;

export interface PaymentChanges {
  /** Purchases that something has happened to; any may come more than once. */
  readonly changed: readonly Purchase[];
  /** Where to go on. */
  readonly cursor: string;
  /** There is more behind the cursor now. */
  readonly more: boolean;
}

export type ChangesOutcome = ({ readonly outcome: 'Changes' } & PaymentChanges) | Unreachable;

/** What a webhook came to. */
export type Notice =
  | { readonly outcome: 'Changed'; readonly purchases: readonly Purchase[] }
  /** It is genuine, and of nothing that this deployment sells. */
  | { readonly outcome: 'Ignored' }
  /** Not signed by the processor, too old, from the future, of the other mode, or unreadable. */
  | { readonly outcome: 'Refused'; readonly message: string };

/** Each call takes at most `CALL_WITHIN_MS`, ends early when the signal is aborted, and rejects for faults of this program only. */
export interface PaymentProcessor {
  readonly name: 'Stripe' | 'Test';
  openCheckout(request: CheckoutRequest, signal: AbortSignal): Promise<CheckoutOutcome>;
  charge(request: ChargeRequest, signal: AbortSignal): Promise<ChargeOutcome>;
  /** What became of a charge that was asked for at `since` (ms) or later. It charges nothing that was not charged before. */
  findCharge(request: ChargeRequest, since: number, signal: AbortSignal): Promise<FindChargeOutcome>;
  refund(request: RefundRequest, signal: AbortSignal): Promise<RefundOutcome>;
  /** How a purchase stands now. `amountUSD`: what the TopUp says. */
  read(purchase: Purchase, source: PaymentSource, amountUSD: string, signal: AbortSignal): Promise<ReadOutcome>;
  /** What has happened since the cursor, oldest first, a page at a time. Undefined: since the processor began to keep it, at most a day. */
  changes(cursor: string | undefined, signal: AbortSignal): Promise<ChangesOutcome>;
  /** Whether the processor answers, and lets this service in. */
  check(signal: AbortSignal): Promise<{ readonly outcome: 'Reachable' } | Unreachable>;
  /**
   * Absent: it sends none. `body` as it came, `signature`: of its header, `now` in ms. Unreachable: it is genuine, and the processor was to say
   * which purchase it is about.
   */
  notice?(body: Buffer, signature: string | undefined, now: number, signal: AbortSignal): Promise<Notice | Unreachable>;
}

export const CALL_WITHIN_MS = 20_000;
/** How long a page can be paid at, unless the request says another end (ms). */
export const CHECKOUT_MS = 60 * 60_000;
