/** The description of what operators give and pay back: promo codes, and refunds of TopUps. Pure. */
import { described, json, record } from '../routes/declared/bodies.js';
import { IDEMPOTENCY_KEY } from './parameters.js';
import { INTEGER, list, path, query, route, type Route } from './route.js';
import type { Node } from './schema.js';

const TIME: Node = { type: 'string', format: 'date-time' };
const AT = '/ops/v1/promocodes';

const GIVEN: Readonly<Record<string, Node>> = {
  code: described('4 to 64 letters, digits and dashes; case does not matter.'),
  amountUSD: described('Credits that an org gets, as a decimal string.'),
  expirationTime: described('From then on nobody redeems it; absent: it does not expire.', TIME),
  maxRedemptions: described(
    'Greatest number of orgs that may redeem the code; an org redeems it once. Absent: no limit.',
    INTEGER,
  ),
  creditsExpireAfter: described('How long the credits last from the redemption on, such as `720h`; absent: for ever.'),
  note: described('Shown on the CreditGrants.'),
};

const CODE: Node = record(
  {
    ...GIVEN,
    state: described('Whether it can be redeemed.', {
      type: 'string',
      enum: ['Active', 'Expired', 'UsedUp', 'Withdrawn'],
    }),
    redemptions: described('How many orgs have redeemed it.', INTEGER),
    creationTimestamp: described('When it was made.', TIME),
    withdrawnTime: described('When it was withdrawn.', TIME),
  },
  ['code', 'amountUSD', 'state', 'redemptions', 'creationTimestamp'],
);

function ops(id: string, summary: string, schema: Node, more: Partial<Route> = {}, status = 200): Node {
  return route({ id, tag: 'Operators', summary, answer: { status, schema, description: 'What there is.' }, ...more });
}

export function billingOperatorPaths(): Record<string, Node> {
  const parameters = [path('code', 'The code.')];
  return {
    [AT]: {
      get: ops(
        'listPromoCodes',
        'The promo codes in their order, a page at a time',
        list(CODE, { metadata: { type: 'object', properties: { continue: { type: 'string' } } } }),
        { parameters: [query('limit', 'At most so many (500).', INTEGER), query('continue', 'Of the page before.')] },
      ),
      post: ops(
        'createPromoCode',
        'Make a promo code',
        CODE,
        { parameters: [{ ...IDEMPOTENCY_KEY }], body: json(record(GIVEN, ['code', 'amountUSD'])) },
        201,
      ),
    },
    '/ops/v1/topups/{uid}/refunds': {
      post: ops(
        'refundTopUp',
        'Pay back what a TopUp has bought',
        record(
          {
            refund: described("The processor's id of it."),
            amountUSD: described('What is paid back, as a decimal string.'),
          },
          ['refund', 'amountUSD'],
        ),
        {
          parameters: [path('uid', 'uid of the TopUp.'), { ...IDEMPOTENCY_KEY }],
          body: json(record({ amountUSD: described('In whole cents; absent: all that is left.') })),
        },
        201,
      ),
    },
    [`${AT}/{code}`]: {
      get: ops('readPromoCode', 'One promo code', CODE, { parameters }),
      delete: ops('withdrawPromoCode', 'Withdraw a promo code: given credits stay, and it is never used again', CODE, {
        parameters,
      }),
    },
  };
}
