/** Owns the declaration of Job: batch work over up to ten thousand indexes. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION } from '../declare.js';
import { estimateWork } from '../estimate.js';
import { pinned } from '../image/catalog.js';
import type { KindDefinition } from '../kind.js';
import { isFinished } from './status.js';
import { plaintextSecretCheckOf } from '../shapes/plaintext-secrets.js';
import { floorsOf } from '../shapes/resources.js';
import { JOB_COLUMNS } from './columns.js';
import { jobMachine } from './machine.js';
import { jobWorkPlan } from './plan.js';
import { jobReferences } from './references.js';
import { JOB_IMMUTABLE, JOB_RAISE_ONLY, jobSpec, type JobSpec } from './schema.js';
import { jobStatus, type JobStatus } from './status.js';
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
  columns: JOB_COLUMNS,
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
  plainSight: (job: This) => plaintextSecretCheckOf(job.spec),
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
