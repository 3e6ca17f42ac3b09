/** The description of what of the wallet is not served yet. Source: decisions, "Kinds not detailed". */
import { BOOLEAN } from '../../openapi/route.js';
import { described, json, record } from './bodies.js';
import type { CollectionRoute } from './declared.js';

export const WALLET_ROUTES: readonly CollectionRoute[] = [
  {
    ...{ beside: 'wallet', tag: 'Wallet', scope: 'billing:write', method: 'PATCH', path: '' },
    id: 'patchWallet',
    summary: 'Change when the wallet recharges by itself and warns',
    body: json(
      record({
        autoRecharge: record({
          enabled: described('Whether it recharges by itself.', BOOLEAN),
          belowUSD: described('Available balance below which it recharges.'),
          amountUSD: described('Credits that are bought at once.'),
          monthlyLimitUSD: described('Most that is bought in a month.'),
        }),
        warnBelowUSD: described('Available balance below which the org is warned.'),
      }),
    ),
    answer: { description: 'The wallet.' },
  },
];
