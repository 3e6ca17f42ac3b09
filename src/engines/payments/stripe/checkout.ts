/**
 * Opens a page of Stripe Checkout. Stripe alone decides whether enough time is left: a page that was made with the same key before is
 * answered again, however late, where a look at our own clock would answer TooLate and leave a page behind that can be paid at.
 */
import type { Stripe } from 'stripe';
import type { CheckoutOutcome, CheckoutRequest } from '../processor.js';
import type { Ask } from './client.js';
import { centsOf, CURRENCY, metadataOf } from './purchase.js';

/** Stripe takes ends between 30 minutes and 24 hours ahead; the nearer of the two says which one was missed. */
const MIDDLE_MS = 12 * 3_600_000;

export async function openPage(
  ask: Ask,
  request: CheckoutRequest,
  deployment: string,
  now: number,
): Promise<CheckoutOutcome> {
  const params = paramsOf(request, deployment);
  const made = await ask((stripe) => stripe.checkout.sessions.create(params, { idempotencyKey: request.key }));
  switch (made.outcome) {
    case 'Answered': {
      const { object, id, url, expires_at: expires } = made.value;
      if (object === 'checkout.session' && typeof url === 'string')
        return { outcome: 'Opened', id, url, expires: expires * 1_000 };
      return { outcome: 'Unreachable', message: "Stripe's answer is no page with an address" };
    }
    case 'Rejected': {
      if (made.param === 'expires_at' && request.expires - now < MIDDLE_MS) return { outcome: 'TooLate' };
      return { outcome: 'Refused', message: `The payment processor refused the purchase (${made.message}).` };
    }
    case 'Unreachable':
      return made;
  }
}

function paramsOf(request: CheckoutRequest, deployment: string): Stripe.Checkout.SessionCreateParams {
  const { purchase, amountUSD, expires, saveCard, doneURL, cancelURL } = request;
  // Refunds and disputes carry the PaymentIntent's metadata, invoices carry none.
  const metadata = metadataOf(purchase, deployment);
  return {
    mode: 'payment',
    line_items: [
      {
        quantity: 1,
        price_data: { currency: CURRENCY, unit_amount: centsOf(amountUSD), product_data: { name: 'Credits' } },
      },
    ],
    client_reference_id: purchase.uid,
    metadata,
    payment_intent_data: { metadata, ...(saveCard ? { setup_future_usage: 'off_session' as const } : {}) },
    ...(saveCard ? { customer_creation: 'always' as const } : {}),
    invoice_creation: { enabled: true, invoice_data: { metadata } },
    // The same for each try of one key: other parameters under a known key are an error.
    expires_at: Math.floor(expires / 1_000),
    success_url: doneURL,
    cancel_url: cancelURL,
  };
}
