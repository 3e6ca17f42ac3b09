/** Who takes the money of TopUps, as the settings say: Stripe, the embedded test processor, or nobody. */
import { randomBytes } from 'node:crypto';
import type { PaymentDeps } from '../../actors/deps.js';
import { openPurchases } from '../../storage/payments/purchases.js';
import { openTestCheckouts } from '../../storage/payments/test-checkouts.js';
import { openWalletBalances } from '../../storage/payments/wallet-balances.js';
import { openStripe } from '../engines/payments/stripe/open.js';
import { openTestProcessor } from '../engines/payments/test/open-processor.js';
import type { LeaderDeps } from './leader.js';

type Deps = Pick<LeaderDeps, 'config' | 'store' | 'endpoints' | 'log'>;

export function openPaymentDeps(deps: Deps): PaymentDeps {
  const { postgres, objects } = deps.store;
  const balances = openWalletBalances(postgres);
  const found = processorOf(deps);
  deps.log.info(SAID[found.processor?.name ?? 'none']);
  return { ...found, purchases: openPurchases(postgres, objects), balances };
}

const SAID = {
  Stripe: 'credits are sold by Stripe',
  Test: 'credits are sold on a test page, at which no money moves',
  none: 'credits are not sold',
} as const;

function processorOf({ config, store, endpoints }: Deps): Pick<PaymentDeps, 'processor' | 'desk'> {
  if (config.payments === 'off') return { processor: undefined };
  const { stripeSecretKey: secretKey, stripeWebhookSecrets: webhookSecrets = [], stripeUrl: url } = config;
  const { clock } = store;
  if (secretKey === undefined)
    return openTestProcessor(openTestCheckouts(store.postgres), { base: endpoints.pages, clock, randomBytes });
  return { processor: openStripe({ secretKey, webhookSecrets, url, clock, deployment: store.clusterId }) };
}
