/** Owns the declaration of TopUp: one purchase of credits. It is never changed or deleted. */
import type { ApiObject } from '../../api/object.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { topUpSpec, topUpStatus, type TopUpSpec, type TopUpStatus } from './schema.js';

type This = ApiObject<TopUpSpec, TopUpStatus>;

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
    {
      name: 'Amount',
      type: 'string',
      description: 'Credits to buy, in USD.',
      cell: (object: This) => object.spec.amountUSD,
    },
    {
      name: 'Phase',
      type: 'string',
      description: 'Queued, Running, Succeeded or Failed.',
      cell: (object: This) => object.status.phase ?? '',
    },
    {
      name: 'Reason',
      type: 'string',
      description: 'Why it is in this phase.',
      cell: (object: This) => object.status.reason ?? '',
    },
    {
      name: 'Credited',
      type: 'string',
      priority: 1,
      description: 'Credited to the wallet, in USD.',
      cell: (object: This) => object.status.creditedUSD ?? '',
    },
    {
      name: 'Checkout',
      type: 'string',
      priority: 1,
      description: 'Page to pay at.',
      cell: (object: This) => object.status.checkoutURL ?? '',
    },
  ],
  selectableFields: { 'status.reason': (object: This) => object.status.reason },
  initialStatus: () => ({ phase: 'Queued' }),
  unbuilt: true,
  machine: plainMachine<TopUpSpec, TopUpStatus>(),
};
