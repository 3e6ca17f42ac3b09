/** The declaration of Node: one machine that runs work, an object of the operator's org. */
import type { ApiObject } from '../../api/object.js';
import { countColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { nodeMachine } from './machine.js';
import { nodeSpec, nodeStatus, type NodeSpec, type NodeStatus } from './schema.js';

export { LOCAL_NODE } from './local.js';

type This = ApiObject<NodeSpec, NodeStatus>;

export const nodeKind: KindDefinition = {
  kind: 'Node',
  plural: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  categories: ['fleet'],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: new Set(['list', 'read', 'patch', 'delete']),
  collectionDelete: 'AllOrNone',
  description: 'A machine that runs work. It gives places to Attempts as far as its capacity goes.',
  schema: { spec: nodeSpec, status: nodeStatus, immutable: [], raiseOnly: [] },
  columns: [
    textColumn('Status', 'Ready, NotReady, Cordoned or Lost.', ({ status }: This) => status.phase),
    textColumn('CPU', 'Promised and allocatable cores.', ({ status }: This) =>
      pair(status.allocated?.cpu, status.allocatable?.cpu),
    ),
    textColumn('Memory', 'Promised and allocatable memory.', ({ status }: This) =>
      pair(status.allocated?.memory, status.allocatable?.memory),
    ),
    countColumn('Attempts', 'Attempts that have a place.', ({ status }: This) => status.allocated?.attempts),
    wide(countColumn('Waiting', 'Attempts in the queue.', ({ status }: This) => status.waiting)),
    wide(textColumn('Version', 'Version of the agent.', ({ status }: This) => status.agentVersion)),
  ],
  selectableFields: { 'spec.pool': (node: This) => node.spec.pool },
  initialStatus: () => ({ phase: 'NotReady' }),
  unsupported: (spec: NodeSpec) => (spec.pool === undefined ? [] : ['spec.pool']),
  machine: nodeMachine,
};

function pair(used: string | undefined, of: string | undefined): string {
  return of === undefined ? '' : `${used ?? '0'}/${of}`;
}
