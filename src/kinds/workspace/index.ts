/** The declaration of Workspace: a development machine. */
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import { isCatalogImage } from '../image/catalog.js';
import type { KindDefinition, Reference } from '../kind.js';
import { likenessOf, singlePart, type ExpectedTime } from '../priced-work.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import { allNamed, envSecrets, image, named, secretMounts } from '../shapes/references.js';
import { floorsOf, limitsOf } from '../shapes/resources.js';
import { isLive } from '../single-attempt/state.js';
import type { VolumeSpec } from '../volume/schema.js';
import type { Images } from '../work.js';
import { idleTimeoutMs, SCHEDULE_LEAD_MS } from './state.js';
import { workspaceMachine } from './machine.js';
import { workspaceSavesInto, workspaceWorkPlan } from './plan.js';
import { workspaceSpec, type WorkspaceSpec, workspaceStatus, type WorkspaceStatus } from './schema.js';

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
  initialStatus: (): WorkspaceStatus => ({ phase: 'Pending' }),
  references: workspaceReferences,
  blobs: ({ status }: This) => (status.home?.digest === undefined ? [] : [status.home.digest]),
  plaintextSecretCheck: (object: This) => plaintextSecretCheckOf(object.spec),
  unsupported: unsupportedFields,
  subresources: ['exec', 'files', 'logs', 'processes', 'terminal', 'tools'],
  workRefusals: { starting: 'WorkspaceStarting', notRunning: 'Conflict', failed: 'Conflict' },
  machine: workspaceMachine,
  awaitsAttempt: ({ kept }, epoch) => isLive(kept, epoch),
  asks: ({ spec }: This) => floorsOf(spec.resources),
  pricedWork: (workspace: This) => {
    const { resources, placement } = workspace.spec;
    const amounts = limitsOf(resources);
    // What has a time to stop at ends then.
    const like =
      workspace.spec.schedule?.stopAt === undefined ? likenessOf('Workspace', workspace.spec, amounts) : undefined;
    const work = { image: workspace.spec.image, expected: expectedTime(workspace), like, untilStopped: true };
    return singlePart(amounts, placement, work);
  },
  workPlan: workspaceWorkPlan,
  savesInto: workspaceSavesInto,
};

const DAY_MS = 24 * 3_600_000;

/** From its start to `schedule.stopAt`; without that until it is idle for the first time (p50), and a day (p90). */
function expectedTime({ metadata, spec }: This): ExpectedTime {
  const { readyBy, stopAt } = spec.schedule ?? {};
  const created = parseTime(metadata.creationTimestamp) ?? 0;
  const start = readyBy === undefined ? created : Math.max(created, (parseTime(readyBy) ?? 0) - SCHEDULE_LEAD_MS);
  const end = stopAt === undefined ? undefined : parseTime(stopAt);
  if (end === undefined) return { p50: Math.min(idleTimeoutMs(spec) ?? DAY_MS, DAY_MS), p90: DAY_MS };
  return { p50: Math.max(0, end - start), p90: Math.max(0, end - start) };
}

export function workspaceReferences({ spec }: ApiObject<WorkspaceSpec>): readonly Reference[] {
  return [
    ...allNamed('Connection', 'spec.connections', spec.connections),
    ...envSecrets('spec.env', spec.env),
    ...image('spec.image', spec.image),
    ...allNamed('Secret', 'spec.imagePullSecrets', spec.imagePullSecrets),
    ...named('Pool', 'spec.placement.pool', spec.placement?.pool),
    ...secretMounts('spec.secrets', spec.secrets),
    ...named('ServiceAccount', 'spec.serviceAccountName', spec.serviceAccountName),
    ...named('Volume', 'spec.volume', spec.volume).map((home) => ({ ...home, objection: notItsOwn })),
  ];
}

/** A home has one writer. */
function notItsOwn({ metadata, spec }: ApiObject<VolumeSpec>): string | undefined {
  if (spec.accessMode === 'ReadWriteOnce') return undefined;
  return `Volume "${metadata.name}" is ${spec.accessMode}; a home must be ReadWriteOnce`;
}

/**
 * Paths of the valid fields that this service does not carry out yet, in the order of the schema. A Workspace that uses one is refused with 501
 * naming the field: nothing is accepted and ignored. A later feature removes its lines here.
 */
export function unsupportedFields(spec: WorkspaceSpec, images: Images): readonly string[] {
  const found: string[] = [];
  const refuse = (path: string, value: unknown): void => {
    if (isGiven(value)) found.push(`spec.${path}`);
  };
  refuse('connections', spec.connections);
  if (spec.image !== undefined && images === 'Catalog' && !isCatalogImage(spec.image)) found.push('spec.image');
  // Images of the catalog are this machine's own.
  if (images === 'Catalog') refuse('imagePullSecrets', spec.imagePullSecrets);
  const { queueTimeout: _carriedOut, ...placement } = spec.placement ?? {};
  for (const [name, value] of Object.entries(placement)) refuse(`placement.${name}`, value);
  refuse('resources.gpu', spec.resources?.gpu);
  return found;
}

/** An empty list asks for nothing. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
