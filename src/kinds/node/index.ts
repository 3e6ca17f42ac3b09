/** Owns the declaration of Node: one machine that runs work, an object of the operator's org. */
import type { ApiObject } from '../../api/object.js';
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
  description: 'A machine that runs work. It gives places to Attempts as far as its capacity goes.',
  schema: { spec: nodeSpec, status: nodeStatus, immutable: [], raiseOnly: [] },
  columns: [
    {
      name: 'Status',
      type: 'string',
      description: 'Ready, NotReady, Cordoned or Lost.',
      cell: (node: This) => node.status.phase ?? '',
    },
    {
      name: 'CPU',
      type: 'string',
      description: 'Promised and allocatable cores.',
      cell: (node: This) => pair(node.status.allocated?.cpu, node.status.allocatable?.cpu),
    },
    {
      name: 'Memory',
      type: 'string',
      description: 'Promised and allocatable memory.',
      cell: (node: This) => pair(node.status.allocated?.memory, node.status.allocatable?.memory),
    },
    {
      name: 'Attempts',
      type: 'integer',
      description: 'Attempts that have a place.',
      cell: (node: This) => node.status.allocated?.attempts ?? 0,
    },
    {
      name: 'Waiting',
      type: 'integer',
      priority: 1,
      description: 'Attempts in the queue.',
      cell: (node: This) => node.status.waiting ?? 0,
    },
    {
      name: 'Version',
      type: 'string',
      priority: 1,
      description: 'Version of the agent.',
      cell: (node: This) => node.status.agentVersion ?? '',
    },
  ],
  selectableFields: { 'spec.pool': (node: This) => node.spec.pool },
  initialStatus: () => ({ phase: 'NotReady' }),
  unsupported: (spec: NodeSpec) => (spec.pool === undefined ? [] : ['spec.pool']),
  machine: nodeMachine,
};

function pair(used: string | undefined, of: string | undefined): string {
  return of === undefined ? '' : `${used ?? '0'}/${of}`;
}
