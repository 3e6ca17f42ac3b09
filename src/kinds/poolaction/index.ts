/** The declaration of PoolAction: what the automation of a Pool proposes; members change its decision only. */
import type { ApiObject } from '../../api/object.js';
import { textColumn, wide } from '../declare.js';
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
    textColumn('Pool', 'The Pool.', ({ spec }: This) => spec.pool),
    textColumn('Action', 'What is to be done.', ({ spec }: This) => spec.action),
    textColumn('Decision', 'Pending, Approved or Rejected.', ({ spec }: This) => spec.decision),
    textColumn('Phase', 'Phase of the action.', ({ status }: This) => status.phase),
    wide(
      textColumn(
        'Savings',
        'What it is expected to save in 30 days, in USD.',
        ({ spec }: This) => spec.estimatedSavingsUSD,
      ),
    ),
    wide(textColumn('Expires', 'When an undecided proposal ends.', ({ spec }: This) => spec.expirationTime)),
  ],
  selectableFields: {
    'spec.pool': (object: This) => object.spec.pool,
    'spec.decision': (object: This) => object.spec.decision,
  },
  initialStatus: () => ({ phase: 'Pending' }),
  unbuilt: true,
  machine: plainMachine<PoolActionSpec, PoolActionStatus>(),
};
