/** The declaration of TopUp: one purchase of credits. It is never changed or deleted. */
import type { ApiObject } from '../../api/object.js';
import { textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { topUpMachine } from './machine.js';
import { topUpRule } from './rule.js';
import { topUpSpec, topUpStatus, type TopUpSpec, type TopUpStatus } from './schema.js';

type This = ApiObject<TopUpSpec, TopUpStatus>;

/** What the condition says. */
function disputedOf({ status }: This): string | undefined {
  return status.conditions?.find(({ type }) => type === 'Disputed')?.reason;
}

export const topUpKind: KindDefinition = {
  kind: 'TopUp',
  plural: 'topups',
  singular: 'topup',
  shortNames: [],
  categories: ['billing'],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: new Set(['list', 'create', 'read']),
  description:
    'A purchase of credits through a hosted checkout page. It is never changed or deleted; an unpaid checkout expires.',
  schema: { spec: topUpSpec, status: topUpStatus, immutable: ['spec'], raiseOnly: [] },
  columns: [
    textColumn('Amount', 'Credits to buy, in USD.', ({ spec }: This) => spec.amountUSD),
    textColumn('Phase', 'Queued, Running, Succeeded or Failed.', ({ status }: This) => status.phase),
    textColumn('Reason', 'Why it is in this phase.', ({ status }: This) => status.reason),
    wide(textColumn('Credited', 'Credited to the wallet, in USD.', ({ status }: This) => status.creditedUSD)),
    wide(textColumn('Refunded', 'Paid back, in USD.', ({ status }: This) => status.refundedUSD)),
    wide(textColumn('Disputed', 'Open, Won or Lost.', disputedOf)),
    wide(textColumn('Checkout', 'Page to pay at.', ({ status }: This) => status.checkoutURL)),
  ],
  selectableFields: {
    'spec.origin': (object: This) => object.spec.origin,
    'status.reason': (object: This) => object.status.reason,
  },
  initialStatus: () => ({ phase: 'Queued' }),
  needsPayments: true,
  rule: topUpRule,
  rulesService: true,
  asChild: { parents: ['Wallet'], facts: () => ({}), madeFor: () => undefined },
  machine: topUpMachine,
};
