/**
 * Charges a saved card while its holder is away, and finds such a charge again without its key. What a bank wants the holder to confirm is cancelled before it is called declined, so that
 * no payment succeeds later that nobody waits for.
 * I10: PAGES pages of a customer's payments are looked through.
 */
import type { Stripe } from 'stripe';
import type { ChargeOutcome, ChargeRequest, FindChargeOutcome } from '../processor.js';
import type { Ask } from './client.js';
import { centsOf, CURRENCY, isOf, metadataOf } from './purchase.js';

const PAGE = 100;
const PAGES = 20;
const ASK_HOLDER = 'The bank wants the holder of the card to confirm this payment.';

export async function chargeCard(ask: Ask, request: ChargeRequest, deployment: string): Promise<ChargeOutcome> {
  const { purchase, key, amountUSD, card } = request;
  const params: Stripe.PaymentIntentCreateParams = {
    amount: centsOf(amountUSD),
    currency: CURRENCY,
    customer: card.customer,
    payment_method: card.method,
    off_session: true,
    confirm: true,
    description: 'Credits',
    metadata: metadataOf(purchase, deployment),
  };
  const made = await ask((stripe) => stripe.paymentIntents.create(params, { idempotencyKey: key }));
  if (made.outcome === 'Unreachable') return made;
  if (made.outcome === 'Rejected') {
    const message =
      made.about === 'Card' ? made.message : `The saved card cannot be charged any more (${made.message}).`;
    return { outcome: 'Declined', message };
  }
  if (made.value.object !== 'payment_intent')
    return { outcome: 'Unreachable', message: "Stripe's answer is no payment_intent" };
  return outcomeOf(ask, made.value);
}

/** By the metadata of the customer's payments since then. Stripe lists them as they are, while its search lags behind. */
export async function findCharge(
  ask: Ask,
  { purchase, card: { customer } }: ChargeRequest,
  since: number,
  deployment: string,
): Promise<FindChargeOutcome> {
  let last: string | undefined;
  for (let read = 0; read < PAGES; read++) {
    const params: Stripe.PaymentIntentListParams = {
      ...{ customer, created: { gte: Math.floor(since / 1_000) }, limit: PAGE },
      ...(last !== undefined && { starting_after: last }),
    };
    const listed = await ask((stripe) => stripe.paymentIntents.list(params));
    if (listed.outcome === 'Unreachable') return listed;
    if (listed.outcome === 'Rejected') {
      // A customer that is gone has no payments any more that could be found by it: only a person can look.
      return { outcome: 'Unreachable', message: `Stripe refuses to list payments (${listed.message})` };
    }
    const { data, has_more: more } = listed.value;
    if (!Array.isArray(data)) return { outcome: 'Unreachable', message: "Stripe's answer is no list" };
    const own = data.find(({ metadata }) => isOf(metadata, purchase, deployment));
    if (own !== undefined) return outcomeOf(ask, own);
    last = data.at(-1)?.id;
    if (!more || last === undefined) return { outcome: 'Absent' };
  }
  return { outcome: 'Unreachable', message: `a customer has more than ${PAGE * PAGES} payments` };
}

async function outcomeOf(ask: Ask, { id, status }: Stripe.PaymentIntent): Promise<ChargeOutcome> {
  switch (status) {
    case 'requires_action':
      return cancel(ask, id);
    case 'requires_payment_method':
    case 'canceled':
      return { outcome: 'Declined', message: 'The card was declined.' };
    default:
      return { outcome: 'Charged', payment: id };
  }
}

async function cancel(ask: Ask, id: string): Promise<ChargeOutcome> {
  const done = await ask((stripe) => stripe.paymentIntents.cancel(id, {}, { idempotencyKey: `cancel/${id}` }));
  if (done.outcome === 'Unreachable') return done;
  if (done.outcome === 'Answered') {
    if (done.value.status === 'canceled') return { outcome: 'Declined', message: ASK_HOLDER };
    return { outcome: 'Unreachable', message: 'Stripe has not cancelled a payment that its holder was to confirm' };
  }
  // It cannot be cancelled any more: it was cancelled before, or the holder has confirmed it in the meantime.
  const now = await ask((stripe) => stripe.paymentIntents.retrieve(id));
  if (now.outcome === 'Unreachable') return now;
  const isOver = now.outcome === 'Answered' && now.value.status === 'canceled';
  return isOver ? { outcome: 'Declined', message: ASK_HOLDER } : { outcome: 'Charged', payment: id };
}
