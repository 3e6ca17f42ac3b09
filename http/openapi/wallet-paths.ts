/** The description of the wallet and its ledger. Pure. */
import { described, record } from '../routes/declared/bodies.js';
import { BOOLEAN, INTEGER, list, query, route, TEXT } from './route.js';
import type { Node } from './schema.js';

const TIME: Node = { type: 'string', format: 'date-time' };

const AUTO_RECHARGE: Readonly<Record<string, Node>> = {
  enabled: described('Whether credits are bought by themselves. It needs a saved card.', BOOLEAN),
  belowUSD: described('Available balance below which they are bought.'),
  amountUSD: described('Credits that are bought at once: 5.00 to 1000.00, whole cents.'),
  monthlyLimitUSD: described('Most that is bought in a calendar month in UTC.'),
};

const WALLET: Node = record(
  {
    mode: described(
      'Unlimited: costs are recorded and Budgets bind, but the wallet refuses nothing. Prepaid: what is held has to be in it.',
      {
        type: 'string',
        enum: ['Unlimited', 'Prepaid'],
      },
    ),
    balanceUSD: described('Credits less what is owed.'),
    heldUSD: described('Held for work that runs or waits.'),
    availableUSD: described('Balance less what is held; never below 0.'),
    arrearsUSD: described('To be paid before new work starts.'),
    autoRecharge: described(
      'Credits that are bought by themselves, with the saved card.',
      record({
        ...AUTO_RECHARGE,
        status: described(
          'What was bought so in this month.',
          record({
            month: described('Month in UTC: `2026-11`.'),
            boughtUSD: described('Bought in it, with what is under way.'),
            topUp: described('The TopUp that is under way.'),
            stopped: described('Why nothing more is bought, until the wallet is changed or another card is saved.'),
          }),
        ),
      }),
    ),
    warnBelowUSD: described('Available balance below which billing.low_balance tells of it.'),
    paymentMethod: described('The card that is saved.', record({ brand: TEXT, last4: TEXT })),
    disputes: described('TopUps whose payment is disputed: nothing new begins until they are decided.', {
      type: 'array',
      items: TEXT,
    }),
  },
  ['mode', 'balanceUSD', 'heldUSD', 'availableUSD', 'arrearsUSD'],
);

const LINE: Node = record(
  {
    account: described(
      '`grants/<uid>`, `wallet`, `unbilled`, `revenue`, `funding` (where credits come from) or `expired`.',
    ),
    amountUSD: described('What the account gains.'),
  },
  ['account', 'amountUSD'],
);

const ENTRY: Node = record(
  {
    id: described('Names the entry; `after` takes it.'),
    time: described('When it was posted.', TIME),
    reason: described('What it is.', {
      type: 'string',
      enum: ['Use', 'Refund', 'Correction', 'Credit', 'Clawback', 'Expiry'],
    }),
    period: described('Month (UTC) in which it counts: `2026-11`.'),
    project: described('Project of the work, at its admission.'),
    labels: described('Labels of the work, at its admission.', { type: 'object', additionalProperties: TEXT }),
    owner: described('uid of the object that ran the work.'),
    segment: described('Boot, Running, Restore or Teardown.'),
    amountUSD: described('What was charged, given back, credited or has expired.'),
    coveredUSD: described('What the service paid of it instead.'),
    balanceChangeUSD: described('What it changes the balance by.'),
    lines: described('Double entry: the amounts add up to zero.', { type: 'array', items: LINE }),
  },
  ['id', 'time', 'reason', 'period', 'amountUSD', 'balanceChangeUSD', 'lines'],
);

export function walletPaths(group: string): Record<string, Node> {
  const base = `/apis/${group}/v1/wallet`;
  return {
    [base]: {
      get: route({
        id: 'readWallet',
        tag: 'Wallet',
        summary: 'What the org has, and what is held of it',
        answer: { schema: WALLET, description: 'The wallet, as it is now.' },
      }),
      patch: route({
        id: 'patchWallet',
        tag: 'Wallet',
        summary: 'Change when the org is warned, and when it buys credits by itself',
        description: 'A merge patch: what is left out stays, null takes it away.',
        body: {
          required: true,
          content: {
            'application/merge-patch+json': {
              schema: record({
                autoRecharge: record(AUTO_RECHARGE),
                warnBelowUSD: described('Available balance below which billing.low_balance tells of it.'),
              }),
            },
          },
        },
        answer: { schema: WALLET, description: 'The wallet, as it is now.' },
      }),
    },
    [`${base}/entries`]: {
      get: route({
        id: 'listWalletEntries',
        tag: 'Wallet',
        summary: 'The ledger of the org',
        description:
          'Oldest first. With `format=csv` or `Accept: text/csv` all of it as CSV, or as many entries as `limit` says.',
        parameters: [
          query('after', 'Cursor: entries after this one.'),
          query('limit', 'At most so many: 100 when it is not said, 1000 at most.', INTEGER),
          query('month', 'Only entries that count in this month (UTC): `2026-11`.'),
          query('format', 'The form of the answer.', { type: 'string', enum: ['json', 'csv'] }),
        ],
        answer: { schema: list(ENTRY, { continue: TEXT }), description: 'Entries, and the cursor behind the last.' },
      }),
    },
  };
}
