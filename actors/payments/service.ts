/** What the payments of the deployment are to HTTP: the pages that browsers come back to, the processor's webhooks, and operators' refunds. */
import type { TestDesk } from '../../src/engines/payments/test/desk.js';
import type { Purchase } from '../../src/kinds/topup/payment.js';

/** How a TopUp stands, for the page that the browser comes back to. */
export interface Landing {
  /** Of the TopUp. */
  readonly name: string;
  readonly amountUSD: string;
  readonly phase: 'Queued' | 'Running' | 'Succeeded' | 'Failed';
  readonly reason?: string | undefined;
  /** The processor has confirmed the payment; its credits may be on their way. */
  readonly paid: boolean;
  readonly receiptURL?: string | undefined;
  readonly invoiceURL?: string | undefined;
  /** Page to pay at, while that is possible. */
  readonly checkoutURL?: string | undefined;
  /** Where the customer wants the browser to go. It is given once for a payment, and the page is shown from then on. */
  readonly redirect?: string | undefined;
}

export type NoticeOutcome =
  /** What it says is committed, or it says nothing of this deployment. */
  | { readonly outcome: 'Taken' }
  /** Not by the processor, or not for now: it is never sent again as it is. */
  | { readonly outcome: 'Refused'; readonly message: string }
  /** It could not be committed: the processor is to send it again. */
  | { readonly outcome: 'Later' };

export type RefundReply =
  | { readonly outcome: 'Refunded'; readonly refund: string; readonly amountUSD: string }
  | { readonly outcome: 'NotFound' }
  /** The TopUp is not paid, or less than that is left of it. */
  | { readonly outcome: 'Refused'; readonly message: string }
  /** The key has paid back another amount, which `message` names. */
  | { readonly outcome: 'KeyUsed'; readonly message: string }
  | { readonly outcome: 'Unreachable' }
  /** This service takes no payments. */
  | { readonly outcome: 'NotConfigured' };

export interface Payments {
  /** The processor; undefined: credits cannot be bought (`TROUPE_PAYMENTS=off`). */
  readonly processor: 'Stripe' | 'Test' | undefined;
  /** The pages of the embedded test processor; undefined: it is not used. */
  readonly desk: TestDesk | undefined;
  /** Asks the processor how the purchase stands, and tells its TopUp. True when that is committed; false: not now, ask again. */
  settle(purchase: Purchase, signal: AbortSignal): Promise<boolean>;
  /**
   * The browser comes back from the processor. `uid` is the TopUp's, `token` what its checkout was made with: undefined when they do not belong
   * together. `Done` settles first.
   */
  landing(uid: string, token: string, way: 'Done' | 'Cancelled', signal: AbortSignal): Promise<Landing | undefined>;
  /** A webhook: `body` as it came, `signature` of its header. */
  notice(body: Buffer, signature: string | undefined, signal: AbortSignal): Promise<NoticeOutcome>;
  /** Pays back; `amountUSD` undefined: all that is left. The same `key` pays back once. */
  refund(uid: string, amountUSD: string | undefined, key: string, signal: AbortSignal): Promise<RefundReply>;
  /** The org has all the bytes of blobs that it may have, and wanted more: its Wallet tells of it. */
  storageFull(org: string, quotaBytes: number): void;
}
