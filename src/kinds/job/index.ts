/** The declaration of Job: batch work over up to ten thousand indexes. */
import { formatDuration } from '../../api/duration.js';
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import { countColumn, EVERY_OPERATION, textColumn, wide } from '../declare.js';
import { estimateWork } from '../estimate.js';
import { isCatalogImage, pinned } from '../image/catalog.js';
import type { KindDefinition } from '../kind.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import { floorsOf } from '../shapes/resources.js';
import type { Images } from '../work.js';
import { jobMachine } from './machine.js';
import { jobWorkPlan } from './plan.js';
import { jobReferences } from './references.js';
import { JOB_IMMUTABLE, JOB_RAISE_ONLY, jobSpec, type JobSpec } from './schema.js';
import { isFinished, jobStatus, type JobStatus } from './status.js';

type This = ApiObject<JobSpec, JobStatus>;

export const jobKind: KindDefinition = {
  kind: 'Job',
  plural: 'jobs',
  singular: 'job',
  shortNames: [],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'Batch work. Each of its indexes runs as an Attempt until it has succeeded; failures are retried up to backoffLimit, and lost capacity is replaced.',
  schema: { spec: jobSpec, status: jobStatus, immutable: JOB_IMMUTABLE, raiseOnly: JOB_RAISE_ONLY },
  columns: [
    textColumn('Status', 'Phase of the Job.', ({ status }: This) => status.phase),
    textColumn(
      'Completions',
      'Indexes that have succeeded, of those that must.',
      ({ spec, status }: This) => `${status.succeeded ?? 0}/${spec.completions}`,
    ),
    countColumn('Active', 'Attempts under way.', ({ status }: This) => status.active),
    wide(countColumn('Failed', 'Failures of the work.', ({ status }: This) => status.failed)),
    textColumn('Duration', 'From the first start to the end.', (job: This) => duration(job)),
    wide(textColumn('Image', 'Image that the program runs in.', ({ spec }: This) => spec.image)),
    textColumn(
      'Reason',
      'Why it is in this phase, or why the last Attempt failed that is tried again.',
      ({ status }: This) => status.reason,
    ),
  ],
  selectableFields: {
    'spec.image': (job: This) => job.spec.image,
    'status.reason': (job: This) => job.status.reason,
  },
  initialStatus: (job: This): JobStatus => ({
    phase: 'Pending',
    image: pinned(job.spec.image),
    estimate: estimateWork(job),
  }),
  blobs: ({ spec, status }: This) =>
    spec.source?.blob === undefined || isFinished(status.phase) ? [] : [spec.source.blob],
  references: jobReferences,
  plaintextSecretCheck: (job: This) => plaintextSecretCheckOf(job.spec),
  unsupported: unsupportedFields,
  subresources: ['logs', 'outputs'],
  unservedSubresources: ['checkpoints'],
  indexes: ({ spec }: This) => spec.completions,
  machine: jobMachine,
  runsWork: true,
  awaitsAttempt: ({ slot }, epoch) => slot?.phase === 'Active' && slot.epoch === epoch,
  asks: ({ spec }: This) => floorsOf(spec.resources),
  workPlan: jobWorkPlan,
};

/** Only of a finished Job: a cell is made from the object alone, which does not know what time it is. */
function duration(job: This): string {
  const start = parseTime(job.status.startTime ?? '');
  const end = parseTime(job.status.completionTime ?? '');
  return start === undefined || end === undefined ? '' : formatDuration(Math.max(0, end - start));
}

/**
 * Paths of the valid fields that this service does not carry out yet, in the order of the schema. A Job that uses one is refused with 501
 * naming the field: nothing is accepted and ignored. A later feature removes its lines here.
 */
export function unsupportedFields(spec: JobSpec, images: Images): readonly string[] {
  const found: string[] = [];
  const refuse = (path: string, value: unknown): void => {
    if (isGiven(value)) found.push(`spec.${path}`);
  };
  refuse('completeByTime', spec.completeByTime);
  refuse('connections', spec.connections);
  refuse('distributed', spec.distributed);
  refuse('expectedDuration', spec.expectedDuration);
  if (images === 'Catalog' && !isCatalogImage(spec.image)) found.push('spec.image');
  // Images of the catalog are this machine's own.
  if (images === 'Catalog') refuse('imagePullSecrets', spec.imagePullSecrets);
  refuse('imageRef', spec.imageRef);
  for (const [index, input] of (spec.inputs ?? []).entries()) {
    refuse(`inputs[${index}].volume`, input.volume);
    refuse(`inputs[${index}].bucket`, input.bucket);
    refuse(`inputs[${index}].fromWorkspace`, input.fromWorkspace);
  }
  refuse('maxCostUSD', spec.maxCostUSD);
  for (const [index, output] of (spec.outputs ?? []).entries()) {
    refuse(`outputs[${index}].fromRanks`, output.fromRanks);
    refuse(`outputs[${index}].sink`, output.sink);
  }
  const { queueTimeout: _carriedOut, ...placement } = spec.placement ?? {};
  for (const [name, value] of Object.entries(placement)) refuse(`placement.${name}`, value);
  refuse('recovery.checkpoint', spec.recovery?.checkpoint);
  refuse('recovery.continuity', spec.recovery?.continuity);
  refuse('recovery.minProgressDuration', spec.recovery?.minProgressDuration);
  if ((spec.resources?.nodes ?? 0) > 1) found.push('spec.resources.nodes');
  refuse('resources.gpu', spec.resources?.gpu);
  refuse('scaledownWindow', spec.scaledownWindow);
  refuse('serviceAccountName', spec.serviceAccountName);
  for (const [index, sidecar] of (spec.sidecars ?? []).entries()) {
    // All programs of one Attempt share its file system, so another image cannot be given to one of them.
    if (sidecar.image !== undefined && sidecar.image !== spec.image) found.push(`spec.sidecars[${index}].image`);
    refuse(`sidecars[${index}].startupTimeout`, sidecar.startupTimeout);
  }
  refuse('source.git', spec.source?.git);
  refuse('volumes', spec.volumes);
  return found;
}

/** An empty list asks for nothing. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
