/** Opens the payment processor Stripe: pages of Stripe Checkout, charges of saved cards, refunds, and news by webhooks and the list of events. */
import { CALL_WITHIN_MS, type PaymentProcessor } from '../processor.js';
import { readChanges } from './changes.js';
import { chargeCard, findCharge } from './charge.js';
import { openPage } from './checkout.js';
import { openClient } from './client.js';
import { readNotice } from './notice.js';
import { openOwners } from './owners.js';
import { payBack, readPayment } from './read.js';

export interface StripeOptions {
  /** `sk_…` or `rk_…`; its mode is that of all payments. */
  readonly secretKey: string;
  /** Signing secrets of the webhook endpoint; empty: webhooks are refused. */
  readonly webhookSecrets: readonly string[];
  /** Origin of the API. */
  readonly url: string;
  /** Of this service, at most 500 characters and the same for ever: payments of another deployment on the account are not seen. */
  readonly deployment: string;
  /** ms. */
  readonly clock?: (() => number) | undefined;
  /** Longest time of one call, ms. */
  readonly withinMs?: number | undefined;
}

export function openStripe(options: StripeOptions): PaymentProcessor & Required<Pick<PaymentProcessor, 'notice'>> {
  const { secretKey, webhookSecrets, url, deployment, clock = Date.now, withinMs = CALL_WITHIN_MS } = options;
  const begin = openClient({ secretKey, url, withinMs });
  const owners = openOwners(deployment);
  const live = /^[a-z]+_live_/.test(secretKey);
  return {
    name: 'Stripe',
    openCheckout: (request, signal) => begin(signal, (ask) => openPage(ask, request, deployment, clock())),
    charge: (request, signal) => begin(signal, (ask) => chargeCard(ask, request, deployment)),
    findCharge: (request, since, signal) => begin(signal, (ask) => findCharge(ask, request, since, deployment)),
    refund: (request, signal) => begin(signal, (ask) => payBack(ask, request, deployment)),
    read: (purchase, source, amountUSD, signal) =>
      begin(signal, (ask) => readPayment(ask, purchase, source, amountUSD, deployment)),
    changes: (cursor, signal) => begin(signal, (ask) => readChanges(ask, owners, cursor, deployment, clock())),
    async check(signal) {
      // A restricted key has to be able to read events, and need not see the balance.
      const listed = await begin(signal, (ask) => ask((stripe) => stripe.events.list({ limit: 1 })));
      if (listed.outcome === 'Answered') {
        if (Array.isArray(listed.value.data)) return { outcome: 'Reachable' };
        return { outcome: 'Unreachable', message: "Stripe's answer is no list" };
      }
      return listed.outcome === 'Unreachable'
        ? listed
        : { outcome: 'Unreachable', message: `Stripe refuses to list events (${listed.message})` };
    },
    notice: (body, signature, now, signal) =>
      begin(signal, (ask) => readNotice(ask, owners, { body, signature, now }, { deployment, webhookSecrets, live })),
  };
}
