/**
 * Says how a purchase stands at Stripe, and pays it back. What is looked up has to name this purchase and this deployment in its metadata;
 * an object of another one is Absent, so that no id leads to credits that somebody else has paid for.
 * I10: at most MOST refunds and MOST disputes of one payment are read; one with more of them is a Mismatch, for a person to look at.
 */
import type { Stripe } from 'stripe';
import type { PaymentSource, Purchase } from '../../../kinds/topup/payment.js';
import type { ReadOutcome, RefundOutcome, RefundRequest, Unreachable } from '../processor.js';
import type { Ask, Asked } from './client.js';
import { centsOf, isOf, KEY, metadataOf } from './purchase.js';
import { idOf, paidPayment, standingOfIntent, standingOfSession, type Standing } from './standing.js';

/** A page of Stripe's lists. */
const MOST = 100;

type Found<T> = { readonly outcome: 'Found'; readonly value: T } | { readonly outcome: 'Absent' } | Unreachable;

export async function readPayment(
  ask: Ask,
  purchase: Purchase,
  source: PaymentSource,
  amountUSD: string,
  deployment: string,
): Promise<ReadOutcome> {
  const found = await findStanding(ask, purchase, source, centsOf(amountUSD), deployment);
  if (found.outcome !== 'Found') return found;
  const standing = found.value;
  switch (standing.type) {
    case 'Unpaid':
      return { outcome: 'Known', payment: standing.payment };
    case 'Unknown':
      return {
        outcome: 'Unreachable',
        message: `Stripe says "${standing.said.slice(0, 40)}", which is not understood`,
      };
    case 'Paid':
      return readPaid(ask, standing);
  }
}

async function findStanding(
  ask: Ask,
  purchase: Purchase,
  { type, id }: PaymentSource,
  cents: number,
  deployment: string,
): Promise<Found<Standing>> {
  if (type === 'Charge') {
    const intent = await ask((stripe) => stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] }));
    const found = ownOnly(intent, 'payment_intent', purchase, deployment);
    return found.outcome === 'Found' ? { ...found, value: standingOfIntent(found.value, cents) } : found;
  }
  const expand = ['payment_intent.latest_charge', 'invoice'];
  const session = await ask((stripe) => stripe.checkout.sessions.retrieve(id, { expand }));
  const found = ownOnly(session, 'checkout.session', purchase, deployment);
  return found.outcome === 'Found' ? { ...found, value: standingOfSession(found.value, cents) } : found;
}

/** An answer that is no such object says nothing: it may be a proxy's. */
function ownOnly<T extends { readonly object: string; readonly metadata: Stripe.Metadata | null }>(
  asked: Asked<T>,
  object: string,
  purchase: Purchase,
  deployment: string,
): Found<T> {
  if (asked.outcome === 'Unreachable') return asked;
  if (asked.outcome === 'Rejected') {
    if (asked.code === 'resource_missing' || asked.status === 404) return { outcome: 'Absent' };
    return { outcome: 'Unreachable', message: `Stripe refuses to show a payment (${asked.message})` };
  }
  const { value } = asked;
  if (value.object !== object) return { outcome: 'Unreachable', message: `Stripe's answer is no ${object}` };
  return isOf(value.metadata, purchase, deployment) ? { outcome: 'Found', value } : { outcome: 'Absent' };
}

async function readPaid(ask: Ask, standing: Extract<Standing, { readonly type: 'Paid' }>): Promise<ReadOutcome> {
  const about = { payment_intent: standing.intent.id, limit: MOST };
  const lists = await ask((stripe) => Promise.all([stripe.refunds.list(about), stripe.disputes.list(about)]));
  if (lists.outcome === 'Unreachable') return lists;
  if (lists.outcome === 'Rejected')
    return { outcome: 'Unreachable', message: `Stripe refuses to list refunds and disputes (${lists.message})` };
  const [refunds, disputes] = lists.value;
  if (!Array.isArray(refunds.data) || !Array.isArray(disputes.data))
    return { outcome: 'Unreachable', message: "Stripe's answer is no list" };
  if (refunds.has_more || disputes.has_more) {
    const message = `payment ${standing.intent.id} has more than ${MOST} refunds or disputes`;
    return { outcome: 'Known', payment: { state: 'Mismatch', message } };
  }
  return { outcome: 'Known', payment: paidPayment(standing, refunds.data, disputes.data) };
}

export async function payBack(ask: Ask, request: RefundRequest, deployment: string): Promise<RefundOutcome> {
  const { purchase, source, key, amountUSD } = request;
  const found = await findIntent(ask, purchase, source, deployment);
  if (found.outcome === 'Unreachable') return found;
  if (found.outcome === 'Absent') return { outcome: 'Refused', message: 'There is no such payment.' };
  if (found.value === undefined) return { outcome: 'Refused', message: 'Nothing has been paid yet.' };
  const params: Stripe.RefundCreateParams = {
    payment_intent: found.value,
    amount: centsOf(amountUSD),
    metadata: { ...metadataOf(purchase, deployment), [KEY]: key },
  };
  const made = await ask((stripe) => stripe.refunds.create(params, { idempotencyKey: key }));
  if (made.outcome === 'Answered') {
    if (made.value.object === 'refund') return { outcome: 'Refunded', id: made.value.id };
    return { outcome: 'Unreachable', message: "Stripe's answer is no refund" };
  }
  if (made.outcome === 'Unreachable')
    return made.knownKey === true
      ? { outcome: 'Refused', message: 'this Idempotency-Key has paid back another amount before' }
      : made;
  return { outcome: 'Refused', message: `The payment processor refused to pay it back (${made.message}).` };
}

/** Undefined: nobody has begun to pay. */
async function findIntent(
  ask: Ask,
  purchase: Purchase,
  { type, id }: PaymentSource,
  deployment: string,
): Promise<Found<string | undefined>> {
  if (type === 'Charge') {
    const intent = await ask((stripe) => stripe.paymentIntents.retrieve(id));
    const found = ownOnly(intent, 'payment_intent', purchase, deployment);
    return found.outcome === 'Found' ? { ...found, value: found.value.id } : found;
  }
  const session = await ask((stripe) => stripe.checkout.sessions.retrieve(id));
  const found = ownOnly(session, 'checkout.session', purchase, deployment);
  return found.outcome === 'Found' ? { ...found, value: idOf(found.value.payment_intent) } : found;
}
