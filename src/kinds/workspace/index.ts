/** Owns the declaration of Workspace: a development machine. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, listCell, phaseColumn, reasonColumn } from '../declare.js';
import { estimateWork } from '../estimate.js';
import type { KindDefinition } from '../kind.js';
import { isLive } from '../single-attempt/state.js';
import { plaintextSecretCheckOf } from '../shapes/plaintext-secrets.js';
import { floorsOf } from '../shapes/resources.js';
import { workspaceMachine } from './machine.js';
import { workspaceWorkPlan } from './plan.js';
import { workspaceReferences } from './references.js';
import { workspaceSpec, workspaceStatus, type WorkspaceSpec, type WorkspaceStatus } from './schema.js';
import { unsupportedFields } from './unsupported.js';

type This = ApiObject<WorkspaceSpec, WorkspaceStatus>;

export const workspaceKind: KindDefinition = {
  kind: 'Workspace',
  plural: 'workspaces',
  singular: 'workspace',
  shortNames: ['ws'],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  runsWork: true,
  description:
    'A development machine with SSH, a browser IDE and a notebook. Its home outlives the machine, which is released when the Workspace is stopped or idle.',
  schema: { spec: workspaceSpec, status: workspaceStatus, immutable: [], raiseOnly: ['spec.maxCostUSD'] },
  columns: [
    phaseColumn('Workspace'),
    {
      name: 'State',
      type: 'string',
      description: 'Running or Stopped, as asked for.',
      cell: (object: This) => object.spec.state,
    },
    {
      name: 'Home',
      type: 'string',
      description: 'Volume of its home directory.',
      cell: (object: This) => object.spec.volume ?? '<ephemeral>',
    },
    {
      name: 'SSH',
      type: 'string',
      priority: 1,
      description: 'Command that opens a session.',
      cell: (object: This) => object.status.connect?.ssh?.command ?? '',
    },
    {
      name: 'Tools',
      type: 'string',
      priority: 1,
      description: 'What is started inside.',
      cell: (object: This) => listCell(object.spec.tools),
    },
    {
      name: 'Image',
      type: 'string',
      priority: 1,
      description: 'Image that it runs.',
      cell: (object: This) => object.spec.image ?? '',
    },
    reasonColumn(),
  ],
  selectableFields: {
    'spec.volume': (object: This) => object.spec.volume,
    'status.reason': (object: This) => object.status.reason,
  },
  initialStatus: (object: This): WorkspaceStatus => ({ phase: 'Pending', estimate: estimateWork(object) }),
  references: workspaceReferences,
  blobs: ({ status }: This) => (status.home?.digest === undefined ? [] : [status.home.digest]),
  plainSight: (object: This) => plaintextSecretCheckOf(object.spec),
  unsupported: unsupportedFields,
  subresources: ['exec', 'files', 'logs', 'processes', 'terminal', 'tools'],
  workRefusals: { starting: 'WorkspaceStarting', notRunning: 'Conflict', failed: 'Conflict' },
  machine: workspaceMachine,
  awaitsAttempt: ({ kept }, epoch) => isLive(kept, epoch),
  asks: ({ spec }: This) => floorsOf(spec.resources),
  workPlan: workspaceWorkPlan,
};
