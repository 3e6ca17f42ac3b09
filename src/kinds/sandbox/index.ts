/** The declaration of Sandbox: an isolated container for agents and tools. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import { isCatalogImage, pinned } from '../image/catalog.js';
import type { KindDefinition, Reference } from '../kind.js';
import { likenessOf, singlePart, type ExpectedTime } from '../priced-work.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import { envSecrets, image, secretMounts } from '../shapes/references.js';
import { floorsOf, limitsOf } from '../shapes/resources.js';
import { isLive } from '../single-attempt/state.js';
import type { Images } from '../work.js';
import { idleTimeoutMs, maxLifetimeMs } from './state.js';
import { sandboxMachine } from './machine.js';
import { sandboxWorkPlan } from './plan.js';
import { SANDBOX_IMMUTABLE, sandboxSpec, type SandboxSpec, sandboxStatus, type SandboxStatus } from './schema.js';

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
    textColumn('State', 'Running or Stopped, as asked for.', ({ spec }: This) => spec.state),
    textColumn('Activity', 'Busy or Idle.', ({ status }: This) => status.activity),
    textColumn('Image', 'Image that it runs.', ({ spec }: This) => spec.image),
    wide(textColumn('Expires', 'When it is deleted at the latest.', ({ status }: This) => status.expirationTime)),
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
  }),
  blobs: ({ status }: This) => (status.snapshot?.digest === undefined ? [] : [status.snapshot.digest]),
  references: sandboxReferences,
  plaintextSecretCheck: (object: This) => plaintextSecretCheckOf(object.spec),
  unsupported: unsupportedFields,
  subresources: ['exec', 'files', 'logs', 'ports', 'processes', 'terminal'],
  workRefusals: { starting: 'SandboxStarting', notRunning: 'SandboxNotRunning', failed: 'SandboxFailed' },
  machine: sandboxMachine,
  awaitsAttempt: ({ kept }, epoch) => isLive(kept, epoch),
  asks: ({ spec }: This) => floorsOf(spec.resources),
  pricedWork: ({ spec }: This) => {
    const amounts = limitsOf(spec.resources);
    const like = likenessOf('Sandbox', spec, amounts);
    return singlePart(amounts, undefined, {
      image: spec.image,
      expected: expectedTime(spec),
      most: maxLifetimeMs(spec),
      like,
      untilStopped: true,
    });
  },
  workPlan: sandboxWorkPlan,
};

/** Until it is idle for the first time, and for as long as it may live. */
function expectedTime(spec: SandboxSpec): ExpectedTime {
  const most = maxLifetimeMs(spec);
  return { p50: Math.min(idleTimeoutMs(spec) ?? most, most), p90: most };
}

export function sandboxReferences({ spec }: ApiObject<SandboxSpec>): readonly Reference[] {
  return [
    ...secretMounts('spec.secrets', spec.secrets),
    ...envSecrets('spec.env', spec.env),
    ...image('spec.image', spec.image),
  ];
}

/**
 * Paths of the valid fields that this service does not carry out yet, in the order of the schema. A Sandbox that uses one is refused with 501
 * naming the field: nothing is accepted and ignored. A later feature removes its lines here.
 */
export function unsupportedFields(spec: SandboxSpec, images: Images): readonly string[] {
  const found: string[] = [];
  // They would be those of the image's own program, and catalog images have none.
  if (spec.command === undefined && (spec.args ?? []).length > 0) found.push('spec.args');
  if (images === 'Catalog' && !isCatalogImage(spec.image)) found.push('spec.image');
  return found;
}
