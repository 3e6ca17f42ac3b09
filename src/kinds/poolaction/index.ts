/** Owns the declaration of PoolAction: what the automation of a Pool proposes; members change its decision only. */
import type { ApiObject } from '../../api/object.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import {
  POOL_ACTION_IMMUTABLE,
  poolActionSpec,
  poolActionStatus,
  type PoolActionSpec,
  type PoolActionStatus,
} from './schema.js';

type This = ApiObject<PoolActionSpec, PoolActionStatus>;

export const poolActionKind: KindDefinition = {
  kind: 'PoolAction',
  plural: 'poolactions',
  singular: 'poolaction',
  shortNames: [],
  categories: ['fleet'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: new Set(['list', 'read', 'patch']),
  description:
    'A change to a Pool that its automation proposes or takes. The service makes it; members decide it and change nothing else.',
  schema: { spec: poolActionSpec, status: poolActionStatus, immutable: POOL_ACTION_IMMUTABLE, raiseOnly: [] },
  columns: [
    {
      name: 'Pool',
      type: 'string',
      description: 'The Pool.',
      cell: (object: This) => object.spec.pool ?? '',
    },
    {
      name: 'Action',
      type: 'string',
      description: 'What is to be done.',
      cell: (object: This) => object.spec.action ?? '',
    },
    {
      name: 'Decision',
      type: 'string',
      description: 'Pending, Approved or Rejected.',
      cell: (object: This) => object.spec.decision,
    },
    {
      name: 'Phase',
      type: 'string',
      description: 'Phase of the action.',
      cell: (object: This) => object.status.phase ?? '',
    },
    {
      name: 'Savings',
      type: 'string',
      priority: 1,
      description: 'What it is expected to save in 30 days, in USD.',
      cell: (object: This) => object.spec.estimatedSavingsUSD ?? '',
    },
    {
      name: 'Expires',
      type: 'string',
      priority: 1,
      description: 'When an undecided proposal ends.',
      cell: (object: This) => object.spec.expirationTime ?? '',
    },
  ],
  selectableFields: {
    'spec.pool': (object: This) => object.spec.pool,
    'spec.decision': (object: This) => object.spec.decision,
  },
  initialStatus: () => ({ phase: 'Pending' }),
  unbuilt: true,
  machine: plainMachine<PoolActionSpec, PoolActionStatus>(),
};
