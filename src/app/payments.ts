/** Who takes the money of TopUps, as the settings say: Stripe, the embedded test processor, or nobody. */
import type { PaymentDeps } from '../../actors/deps.js';
import { openPurchases } from '../../storage/payments/purchases.js';
import { openWalletBalances } from '../../storage/payments/wallet-balances.js';
import type { LeaderDeps } from './leader.js';

export function openPaymentDeps({ store }: Pick<LeaderDeps, 'store'>): PaymentDeps {
  const { postgres, objects } = store;
  return {
    processor: undefined,
    purchases: openPurchases(postgres, objects),
    balances: openWalletBalances(postgres),
  };
}
