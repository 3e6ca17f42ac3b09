/** The declaration of Pool: capacity that a customer brings. */
import type { ApiObject } from '../../api/object.js';
import { booleanColumn, EVERY_OPERATION, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { poolSpec, type PoolSpec, poolStatus, type PoolStatus } from './schema.js';

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
    textColumn('Phase', 'Pending, Ready or Degraded.', ({ status }: This) => status.phase),
    textColumn(
      'Nodes',
      'Nodes that are Ready, of those that belong to it.',
      ({ status }: This) => `${status.readyNodes ?? 0}/${status.nodes ?? 0}`,
    ),
    textColumn('Mode', 'What the automation may do.', ({ spec }: This) => spec.automation?.mode),
    wide(booleanColumn('Paused', 'The automation carries nothing out.', ({ spec }: This) => spec.paused)),
    wide(booleanColumn('Burst', 'Work may go to the market.', ({ spec }: This) => spec.burst?.toMarket)),
  ],
  selectableFields: { 'spec.automation.mode': (object: This) => object.spec.automation?.mode },
  initialStatus: () => ({ phase: 'Pending' }),
  unbuilt: true,
  machine: plainMachine<PoolSpec, PoolStatus>(),
};
