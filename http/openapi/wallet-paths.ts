/** The description of the wallet and its ledger. Pure. */
import { described, json, record, STRINGS } from '../routes/declared/bodies.js';
import { IDEMPOTENCY_KEY } from './parameters.js';
import { BOOLEAN, INTEGER, list, query, route, TEXT } from './route.js';
import { ref, type Node } from './schema.js';

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
    key: described(
      'What it is known by: `credit/<uid of the CreditGrant>` (status.transaction of a TopUp), `clawback/refund/<id>`.',
    ),
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
    costOf: described(
      'uids of the objects whose status.cost counts it, so that its sum is explained when the Attempts are gone.',
      {
        type: 'array',
        items: TEXT,
      },
    ),
    amountUSD: described('What was charged, given back, credited or has expired.'),
    coveredUSD: described('What the service paid of it instead.'),
    balanceChangeUSD: described('What it changes the balance by.'),
    lines: described('Double entry: the amounts add up to zero.', { type: 'array', items: LINE }),
  },
  ['id', 'time', 'reason', 'period', 'amountUSD', 'balanceChangeUSD', 'lines'],
);

const SUMS: Readonly<Record<string, Node>> = {
  amountUSD: described('Charged, less what was given back.'),
  coveredUSD: described('What the service paid instead.'),
};

const SPEND: Node = list(
  record(
    {
      day: described('Day (UTC) of the posting: `2026-11-27`. Only when `by` names it, as the next two.'),
      project: described('Project of the work, at its admission; empty: beside all projects.'),
      label: described('Value of the label that the work had at its admission; empty: without it.'),
      ...SUMS,
    },
    ['amountUSD', 'coveredUSD'],
  ),
  {
    from: described('From this time on.', TIME),
    to: described('Until this time, which is not in it.', TIME),
    by: described('What the rows are grouped by.', STRINGS),
    total: described('What the rows add up to.', record(SUMS, ['amountUSD', 'coveredUSD'])),
    missingMonths: described('Months (UTC) whose postings are not kept here any more, and are in no row.', STRINGS),
  },
);

const RUNWAY: Node = record(
  {
    mode: described('Unlimited or Prepaid: of the wallet.'),
    availableUSD: described('What is there for new work.'),
    heldUSD: described('Held for work that runs or waits.'),
    rateUSDPerHour: described('What all that bills now costs in an hour.'),
    spentLast24hUSD: described('Spent in the last 24 hours.'),
    spentLast7dUSD: described('Spent in the last 7 days.'),
    emptyTime: described('When nothing is available any more, if it goes on so; absent after more than a year.', TIME),
    message: described('The same as a sentence: `empty in 3 days at the rate of the last 24 hours`.'),
  },
  ['mode', 'availableUSD', 'heldUSD', 'rateUSDPerHour', 'spentLast24hUSD', 'spentLast7dUSD', 'message'],
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
          'Oldest first. With `format=csv` or `Accept: text/csv` all of it as CSV, or as many entries as `limit` says. With `format=focus` the same as CSV with the columns of FOCUS 1.2: the sum of EffectiveCost is what was spent.',
        parameters: [
          query('after', 'Cursor: entries after this one.'),
          query('limit', 'At most so many: 100 when it is not said, 1000 at most.', INTEGER),
          query('month', 'Only entries that count in this month (UTC): `2026-11`.'),
          query('format', 'The form of the answer.', { type: 'string', enum: ['json', 'csv', 'focus'] }),
        ],
        answer: { schema: list(ENTRY, { continue: TEXT }), description: 'Entries, and the cursor behind the last.' },
      }),
    },
    [`${base}/redemptions`]: {
      post: route({
        id: 'redeemPromoCode',
        tag: 'Wallet',
        summary: 'Redeem a promo code: the org gets its credits, once',
        description:
          'A code that does not exist is 404; ten of those within an hour, and the next tries are 429. One that has expired is 410 PromoCodeExpired; one that the org has redeemed, or that is used up, 409 PromoCodeUsed.',
        parameters: [{ ...IDEMPOTENCY_KEY }],
        body: json(record({ code: described('4 to 64 letters, digits and dashes; case does not matter.') }, ['code'])),
        answer: { status: 201, schema: ref('CreditGrant'), description: 'The CreditGrant that was made.' },
      }),
    },
    [`${base}/runway`]: {
      get: route({
        id: 'readWalletRunway',
        tag: 'Wallet',
        summary: 'How long what is available lasts',
        answer: { schema: RUNWAY, description: 'As it is now.' },
      }),
    },
    [`${base}/spend`]: {
      get: route({
        id: 'readSpend',
        tag: 'Wallet',
        summary: 'What was spent, by day, project and label',
        description:
          'What was charged less what was given back, by the day (UTC) on which it was posted. With `format=csv` or `Accept: text/csv` the rows as CSV. At most 400 days and 10,000 rows.',
        parameters: [
          query('from', 'Day (UTC) or RFC 3339 time from which on; the beginning of the month of `to` when absent.'),
          query('to', 'Day (UTC) or RFC 3339 time, which is not in it any more; now when absent.'),
          query('by', 'Of `day`, `project` and one `label:<key>`, with commas between; `day` when absent.'),
          query('format', 'The form of the answer.', { type: 'string', enum: ['json', 'csv'] }),
        ],
        answer: { schema: SPEND, description: 'Rows, and what they add up to.' },
      }),
    },
  };
}
