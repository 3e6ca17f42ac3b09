/**
 * Charges a saved card while its holder is away. What a bank wants the holder to confirm is cancelled before it is called declined, so that
 * no payment succeeds later that nobody waits for.
 */
import type { Stripe } from 'stripe';
import type { ChargeOutcome, ChargeRequest } from '../processor.js';
import type { Ask } from './client.js';
import { centsOf, CURRENCY, metadataOf } from './purchase.js';

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
  const { object, id, status } = made.value;
  if (object !== 'payment_intent') return { outcome: 'Unreachable', message: "Stripe's answer is no payment_intent" };
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
