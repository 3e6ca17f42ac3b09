/** The description of the wallet and its ledger. Source: decisions, "Kinds not detailed". */
import { INTEGER, list, OBJECT, query, TEXT } from '../../openapi/route.js';
import { record, described } from './bodies.js';
import type { CollectionRoute } from './declared.js';

const WALLET = { beside: 'wallet', tag: 'Wallet', scope: 'billing:read', method: 'GET' } as const;

export const WALLET_ROUTES: readonly CollectionRoute[] = [
  {
    ...WALLET,
    path: '',
    id: 'readWallet',
    summary: 'What the org has, and what is held of it',
    answer: {
      schema: record({
        balanceUSD: described('Credits.'),
        heldUSD: described('Held for work that runs.'),
        availableUSD: described('Balance less what is held.'),
        arrearsUSD: described('To be paid before new work starts.'),
        autoRecharge: described('When and how much is recharged by itself.', OBJECT),
      }),
      description: 'The wallet.',
    },
  },
  {
    ...WALLET,
    path: 'entries',
    id: 'listWalletEntries',
    summary: 'The ledger of the wallet',
    parameters: [query('after', '`continue` of the page before.'), query('limit', 'At most so many.', INTEGER)],
    answer: { schema: list(OBJECT, { continue: TEXT }), description: 'Entries, newest first.' },
  },
];
