/** Stripe's processor against the local Stripe server, as the contract has it. */
import { openStripe, type StripeOptions } from '../../../src/engines/payments/stripe/open.js';
import { need } from './stripe-account.js';
import type { Bench } from '../contract.js';
import { openStripeServer, type StripeServer } from './stripe-server.js';

export const DEPLOYMENT = 'deployment-1';

export interface StripeBench extends Bench {
  readonly processor: ReturnType<typeof openStripe>;
  readonly server: StripeServer;
  /** Another processor on the same account. */
  also(more: Partial<StripeOptions>): ReturnType<typeof openStripe>;
  /** Id of the payment of a page. */
  intentOf(page: string): string;
}

export async function openStripeBench(
  more: Partial<StripeOptions> = {},
  mode: 'test' | 'live' = 'test',
): Promise<StripeBench> {
  const server = await openStripeServer(mode);
  const { account, secretKey, webhookSecret, url, now } = server;
  const options = { secretKey, webhookSecrets: [webhookSecret], url, deployment: DEPLOYMENT, clock: now, ...more };
  const intentOf = (page: string): string => need(account.sessions, page).payment_intent ?? '';
  const disputeOf = (page: string): string => {
    const found = [...account.disputes.values()].findLast((dispute) => dispute.payment_intent === intentOf(page));
    if (found === undefined) throw new Error(`${page} has no dispute`);
    return found.id;
  };
  return {
    processor: openStripe(options),
    payer: {
      pay: async (page, way) => server.pay(page, way === 'Card' ? 'card' : 'bank'),
      decline: async (page) => server.declines(page),
      bankPays: async (page) => server.bankSettles(page),
      bankRefuses: async (page) => server.bankFails(page),
      dispute: async (page) => void server.dispute(intentOf(page)),
      winDispute: async (page) => server.setDispute(disputeOf(page), 'won'),
      loseDispute: async (page) => server.setDispute(disputeOf(page), 'lost'),
      expire: async (page) => server.expire(page),
      failRefund: async (refund) => server.refundFails(refund),
      refuseCard: async (card) => void (need(account.methods, card.method).away = 'Declines'),
    },
    ...{ server, now, intentOf },
    also: (other) => openStripe({ ...options, ...other }),
    close: () => server.close(),
  };
}
