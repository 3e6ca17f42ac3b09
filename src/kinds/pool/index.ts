/** Owns the declaration of Pool: capacity that a customer brings. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { poolSpec, poolStatus, type PoolSpec, type PoolStatus } from './schema.js';

type This = ApiObject<PoolSpec, PoolStatus>;

export const poolKind: KindDefinition = {
  kind: 'Pool',
  plural: 'pools',
  singular: 'pool',
  shortNames: [],
  categories: ['fleet'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'Machines that a customer brings, used as one; its automation watches them and proposes or takes actions.',
  schema: { spec: poolSpec, status: poolStatus, immutable: [], raiseOnly: [] },
  columns: [
    {
      name: 'Phase',
      type: 'string',
      description: 'Pending, Ready or Degraded.',
      cell: (object: This) => object.status.phase ?? '',
    },
    {
      name: 'Nodes',
      type: 'string',
      description: 'Nodes that are Ready, of those that belong to it.',
      cell: ({ status }: This) => `${status.readyNodes ?? 0}/${status.nodes ?? 0}`,
    },
    {
      name: 'Mode',
      type: 'string',
      description: 'What the automation may do.',
      cell: (object: This) => object.spec.automation?.mode ?? '',
    },
    {
      name: 'Paused',
      type: 'boolean',
      priority: 1,
      description: 'The automation carries nothing out.',
      cell: (object: This) => object.spec.paused ?? false,
    },
    {
      name: 'Burst',
      type: 'boolean',
      priority: 1,
      description: 'Work may go to the market.',
      cell: (object: This) => object.spec.burst?.toMarket ?? false,
    },
  ],
  selectableFields: { 'spec.automation.mode': (object: This) => object.spec.automation?.mode },
  initialStatus: () => ({ phase: 'Pending' }),
  unbuilt: true,
  machine: plainMachine<PoolSpec, PoolStatus>(),
};
