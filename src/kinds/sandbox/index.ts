/** Owns the declaration of Sandbox: an isolated container for agents and tools. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn } from '../declare.js';
import { estimateWork } from '../estimate.js';
import { pinned } from '../image/catalog.js';
import type { KindDefinition } from '../kind.js';
import { isLive } from '../single-attempt/state.js';
import { plaintextSecretCheckOf } from '../shapes/plaintext-secrets.js';
import { floorsOf } from '../shapes/resources.js';
import { sandboxMachine } from './machine.js';
import { sandboxWorkPlan } from './plan.js';
import { sandboxReferences } from './references.js';
import { SANDBOX_IMMUTABLE, sandboxSpec, sandboxStatus, type SandboxSpec, type SandboxStatus } from './schema.js';
import { unsupportedFields } from './unsupported.js';

type This = ApiObject<SandboxSpec, SandboxStatus>;

export const sandboxKind: KindDefinition = {
  kind: 'Sandbox',
  plural: 'sandboxes',
  singular: 'sandbox',
  shortNames: ['sb'],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  runsWork: true,
  description:
    'An isolated container on CPU nodes, driven by commands and files. It bills per second while it holds compute, stops when it is idle, and keeps /workspace.',
  schema: {
    spec: sandboxSpec,
    status: sandboxStatus,
    immutable: SANDBOX_IMMUTABLE,
    raiseOnly: ['spec.maxCostUSD'],
  },
  columns: [
    phaseColumn('Sandbox'),
    {
      name: 'State',
      type: 'string',
      description: 'Running or Stopped, as asked for.',
      cell: (object: This) => object.spec.state,
    },
    {
      name: 'Activity',
      type: 'string',
      description: 'Busy or Idle.',
      cell: (object: This) => object.status.activity ?? '',
    },
    {
      name: 'Image',
      type: 'string',
      description: 'Image that it runs.',
      cell: (object: This) => object.spec.image,
    },
    {
      name: 'Expires',
      type: 'string',
      priority: 1,
      description: 'When it is deleted at the latest.',
      cell: (object: This) => object.status.expirationTime ?? '',
    },
    reasonColumn(),
  ],
  selectableFields: {
    'spec.image': (object: This) => object.spec.image,
    'status.activity': (object: This) => object.status.activity,
    'status.reason': (object: This) => object.status.reason,
  },
  initialStatus: (object: This): SandboxStatus => ({
    phase: 'Pending',
    image: pinned(object.spec.image),
    estimate: estimateWork(object),
  }),
  blobs: ({ status }: This) => (status.snapshot?.digest === undefined ? [] : [status.snapshot.digest]),
  references: sandboxReferences,
  plainSight: (object: This) => plaintextSecretCheckOf(object.spec),
  unsupported: unsupportedFields,
  subresources: ['exec', 'files', 'logs', 'ports', 'processes', 'terminal'],
  workRefusals: { starting: 'SandboxStarting', notRunning: 'SandboxNotRunning', failed: 'SandboxFailed' },
  machine: sandboxMachine,
  awaitsAttempt: ({ kept }, epoch) => isLive(kept, epoch),
  asks: ({ spec }: This) => floorsOf(spec.resources),
  workPlan: sandboxWorkPlan,
};
