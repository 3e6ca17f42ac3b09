/** The declaration of Job: batch work over up to ten thousand indexes. */
import { formatDuration } from '../../api/duration.js';
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import { countColumn, EVERY_OPERATION, textColumn, wide } from '../declare.js';
import { pinned } from '../image/catalog.js';
import type { KindDefinition } from '../kind.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import { floorsOf } from '../shapes/resources.js';
import type { JobPrivate } from './draft.js';
import { jobMachine } from './machine.js';
import { jobWorkPlan } from './plan.js';
import { jobPart } from './priced-work.js';
import { jobReferences } from './references.js';
import { JOB_IMMUTABLE, JOB_RAISE_ONLY, jobSpec, type JobSpec } from './schema.js';
import { isFinished, jobStatus, type JobStatus } from './status.js';
import { unsupportedFields } from './unsupported.js';

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
  }),
  blobs: ({ spec, status }: This) =>
    spec.source?.blob === undefined || isFinished(status.phase) ? [] : [spec.source.blob],
  references: jobReferences,
  plaintextSecretCheck: (job: This) => plaintextSecretCheckOf(job.spec),
  unsupported: (spec: JobSpec, images) => unsupportedFields(spec, images, 'spec'),
  subresources: ['logs', 'outputs'],
  unservedSubresources: ['checkpoints'],
  indexes: ({ spec }: This) => spec.completions,
  machine: jobMachine,
  runsWork: true,
  awaitsAttempt: ({ slot }, epoch) => slot?.phase === 'Active' && slot.epoch === epoch,
  asks: ({ spec }: This) => floorsOf(spec.resources),
  pricedWork: ({ spec }: This) => ({ parts: [jobPart(spec, 'spec')] }),
  workPlan: jobWorkPlan,
  asChild: {
    parents: ['Sweep', 'Pipeline'],
    facts(_job, kept) {
      const { startedAt, finishedAt, suspendedMs = 0, units, capped } = (kept ?? {}) as Partial<JobPrivate>;
      return {
        ...{ startedAt, endedAt: finishedAt, units, ...(suspendedMs > 0 && { suspendedMs }) },
        ...(typeof capped === 'object' && { capped }),
      };
    },
    madeFor(kept) {
      const { payer } = (kept ?? {}) as Partial<JobPrivate>;
      return payer?.above.map(({ uid }) => uid);
    },
  },
};

/** Only of a finished Job: a cell is made from the object alone, which does not know what time it is. */
function duration(job: This): string {
  const start = parseTime(job.status.startTime ?? '');
  const end = parseTime(job.status.completionTime ?? '');
  return start === undefined || end === undefined ? '' : formatDuration(Math.max(0, end - start));
}
