/**
 * What an account of the local Stripe server holds: its objects in the form in which Stripe shows them, as far as payments use it, and the
 * events of what happens to them. Objects may be changed by tests, for answers that Stripe gives only in rare cases.
 */
export interface Session {
  readonly id: string;
  readonly object: 'checkout.session';
  readonly created: number;
  readonly livemode: boolean;
  readonly mode: string;
  url: string | null;
  status: string;
  payment_status: string;
  amount_total: number | null;
  currency: string;
  readonly client_reference_id: string | undefined;
  metadata: Record<string, string>;
  expires_at: number;
  payment_intent: string | null;
  customer: string | null;
  invoice: string | null;
}

export interface Intent {
  readonly id: string;
  readonly object: 'payment_intent';
  readonly created: number;
  readonly livemode: boolean;
  amount: number;
  amount_received: number;
  currency: string;
  status: string;
  metadata: Record<string, string>;
  customer: string | null;
  payment_method: string | null;
  setup_future_usage: string | null;
  latest_charge: string | null;
  last_payment_error: { readonly type: string; readonly code: string; readonly message: string } | null;
}

export interface Charge {
  readonly id: string;
  readonly object: 'charge';
  readonly created: number;
  readonly amount: number;
  amount_refunded: number;
  disputed: boolean;
  readonly currency: string;
  readonly payment_intent: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly payment_method_details: Readonly<Record<string, unknown>>;
  readonly receipt_url: string;
}

export interface Refund {
  readonly id: string;
  readonly object: 'refund';
  readonly created: number;
  readonly amount: number;
  readonly currency: string;
  readonly payment_intent: string;
  readonly charge: string;
  readonly metadata: Readonly<Record<string, string>>;
  status: string;
}

export interface Dispute {
  /** Withdrawals are negative. */
  balance_transactions: readonly { readonly amount: number }[];
  readonly id: string;
  readonly object: 'dispute';
  readonly created: number;
  readonly amount: number;
  currency: string;
  readonly payment_intent: string;
  readonly charge: string;
  readonly metadata: Readonly<Record<string, string>>;
  status: string;
}

/** A card or a bank account. */
export interface Method {
  readonly id: string;
  readonly customer: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  /** What becomes of a charge while its holder is away. */
  away: 'Pays' | 'Declines' | 'WantsHolder' | 'Processes';
}

export interface StripeEvent {
  readonly id: string;
  readonly object: 'event';
  readonly type: string;
  readonly created: number;
  readonly livemode: boolean;
  readonly data: { readonly object: unknown };
}

export interface Account {
  readonly sessions: Map<string, Session>;
  readonly intents: Map<string, Intent>;
  readonly charges: Map<string, Charge>;
  readonly refunds: Map<string, Refund>;
  readonly disputes: Map<string, Dispute>;
  readonly methods: Map<string, Method>;
  readonly customers: Map<string, { readonly id: string; readonly object: 'customer' }>;
  readonly invoices: Map<string, Readonly<Record<string, unknown>> & { readonly id: string }>;
  /** What sessions ask for their payments, by id. */
  readonly asked: Map<string, { readonly metadata: Record<string, string>; readonly save: boolean }>;
  /** Oldest first. */
  readonly events: StripeEvent[];
  /** Events that lists do not show yet. */
  readonly late: Set<string>;
  readonly livemode: boolean;
  /** Seconds. */
  now(): number;
  id(prefix: string): string;
  /** With the object as it is now. */
  emit(type: string, object: object): StripeEvent;
  /** Events from now on are not shown by lists, until `release`. */
  holdBack(): void;
  release(): void;
}

export function openAccount(livemode: boolean, now: () => number): Account {
  const events: StripeEvent[] = [];
  const late = new Set<string>();
  let count = 0;
  let isHeldBack = false;
  const id = (prefix: string): string => `${prefix}_${(count += 1).toString().padStart(6, '0')}`;
  return {
    ...{ sessions: new Map(), intents: new Map(), charges: new Map(), refunds: new Map(), disputes: new Map() },
    ...{ methods: new Map(), customers: new Map(), invoices: new Map(), asked: new Map() },
    ...{ events, late, livemode, now, id },
    emit(type, object) {
      const event: StripeEvent = {
        ...{ id: id('evt'), object: 'event', type, created: now(), livemode },
        data: { object: structuredClone(object) },
      };
      events.push(event);
      if (isHeldBack) late.add(event.id);
      return event;
    },
    holdBack: () => void (isHeldBack = true),
    release() {
      isHeldBack = false;
      late.clear();
    },
  };
}

/** A fault of the test when it is missing. */
export function need<T>(map: ReadonlyMap<string, T>, id: string | null): T {
  const found = map.get(id ?? '');
  if (found === undefined) throw new Error(`the test account has no ${id}`);
  return found;
}
