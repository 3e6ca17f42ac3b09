/** Owns the declaration of Workspace: a development machine. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import { estimateWork } from '../estimate.js';
import type { KindDefinition } from '../kind.js';
import { isLive } from '../single-attempt/state.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
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
    textColumn('State', 'Running or Stopped, as asked for.', ({ spec }: This) => spec.state),
    textColumn('Home', 'Volume of its home directory.', ({ spec }: This) => spec.volume ?? '<ephemeral>'),
    wide(textColumn('SSH', 'Command that opens a session.', ({ status }: This) => status.connect?.ssh?.command)),
    wide(textColumn('Tools', 'What is started inside.', ({ spec }: This) => spec.tools)),
    wide(textColumn('Image', 'Image that it runs.', ({ spec }: This) => spec.image)),
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
  machine: workspaceMachine,
  awaitsAttempt: ({ kept }, epoch) => isLive(kept, epoch),
  asks: ({ spec }: This) => floorsOf(spec.resources),
  workPlan: workspaceWorkPlan,
};
