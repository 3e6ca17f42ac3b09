/** What a Wallet keeps beside its status. */
import type { PaymentDispute, SavedCard } from '../topup/payment.js';

export interface WalletPrivate {
  /** As the ledger told it last. */
  readonly belowRecharge: boolean;
  readonly card?: SavedCard | undefined;
  /** The purchase that is under way. */
  readonly open?: { readonly name: string; readonly month: string; readonly amountUSD: string } | undefined;
  /** What was bought in the latest month. */
  readonly month?: { readonly month: string; readonly usedUSD: string } | undefined;
  /** Month in which an event said that the limit is reached. */
  readonly limitTold?: string | undefined;
  /** Why the month's limit left no room for one more purchase. */
  readonly limitReached?: string | undefined;
  /** Why nothing more is bought. */
  readonly stopped?: string | undefined;
  /** Why the last purchase was not made. It is tried again from `until` (ms) on, since such reasons pass by themselves. */
  readonly refused?: { readonly name: string; readonly message: string; readonly until: number } | undefined;
  /** When it was last told that storage is full (ms). */
  readonly storageTold?: number | undefined;
  /** Disputes by the processor's id; the newest MOST_DISPUTES that are over, and all that are open. */
  readonly disputes: Readonly<Record<string, { readonly topUp: string; readonly state: PaymentDispute['state'] }>>;
}

export const NO_STATE: WalletPrivate = { belowRecharge: false, disputes: {} };
