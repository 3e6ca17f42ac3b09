/** What a TopUp keeps beside its status: where its payment is found, what the customer has heard of it, and what was taken back. Pure. */
import type { Effect } from '../effect.js';
import type { Current } from '../machine.js';
import type { PlainDecision } from '../plain-machine.js';
import type { PaidPayment, PaymentDispute, PaymentSource, SavedCard } from './payment.js';
import type { TopUpSpec, TopUpStatus } from './schema.js';

export type Here = Current<TopUpSpec, TopUpStatus, TopUpPrivate>;
export type Decided = PlainDecision<TopUpStatus, TopUpPrivate>;

export interface TopUpPrivate {
  /** Part of the addresses that the browser comes back to; nobody else can know it. */
  readonly token: string;
  /** Where the browser goes after the payment. It is used once. */
  readonly successURL?: string | undefined;
  /** The last page, as it was requested. */
  readonly attempt: number;
  /** When that ends (ms). */
  readonly expires: number;
  /** The card to charge. It is kept before the first try, since the Wallet may have another one at the next. */
  readonly card?: SavedCard | undefined;
  /** Absent: there is no page or charge yet. */
  readonly source?: PaymentSource | undefined;
  /** As the processor has told it last. */
  readonly paid?: PaidPayment | undefined;
  /** uid of the CreditGrant; absent: nothing is credited yet. */
  readonly grant?: string | undefined;
  /** CreditGrants that were asked for and are not there yet, by name. They are asked for until they are. */
  readonly awaited: Readonly<Record<string, GrantSpec>>;
  /** By the processor's id of a refund or dispute. */
  readonly taken: Readonly<Record<string, Taken>>;
  /** What the Wallet has heard of each dispute. */
  readonly disputes: Readonly<Record<string, PaymentDispute['state']>>;
}

export interface GrantSpec {
  readonly amountUSD: string;
  readonly source: 'TopUp' | 'Refund';
  readonly note: string;
}

/** Credits that were taken back for a refund or a lost dispute. */
export interface Taken {
  /** Zero: it was restored. */
  readonly amountUSD: string;
  /** How often something was taken or restored for it: each time is another one. */
  readonly times: number;
}

/** The CreditGrant that the payment buys. No client can make one, so the name is this TopUp's alone. */
export function grantName(uid: string): string {
  return `topup-${uid}`;
}

export function wantGrant(name: string, spec: GrantSpec): Effect {
  return { type: 'CreateChild', kind: 'CreditGrant', name, spec };
}

export function isOver({ phase }: TopUpStatus): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
