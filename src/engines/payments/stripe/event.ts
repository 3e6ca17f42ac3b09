/** Which events of Stripe concern a payment, and what their objects say of its purchase. Pure. */
import { ownerOf, type Owner } from './purchase.js';

/** At most 20: a list of events takes no more. */
export const EVENT_TYPES = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.refunded',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  // The link to the invoice comes after the payment.
  'invoice.paid',
];

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

export type EventSubject =
  | Extract<Owner, { readonly type: 'Ours' }>
  /** Only the payment knows whose it is. `intent`: its id. */
  | { readonly type: 'Payment'; readonly intent: string }
  /** Nothing that this deployment sells. */
  | { readonly type: 'None' };

/** `event` as parsed from JSON. */
export function subjectOf(event: unknown, deployment: string): EventSubject {
  const { type, data } = fieldsOf(event);
  if (typeof type !== 'string' || !KNOWN.has(type)) return { type: 'None' };
  const object = fieldsOf(fieldsOf(data)['object']);
  const owner = ownerOf(object['metadata'], deployment);
  if (owner.type === 'Ours') return owner;
  const intent = object['payment_intent'];
  const isOfPayment = /^(refund|charge)\./.test(type);
  if (owner.type === 'Foreign' || !isOfPayment || typeof intent !== 'string') return { type: 'None' };
  return { type: 'Payment', intent };
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
