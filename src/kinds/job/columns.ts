/** Owns what `kubectl get jobs` shows: the columns of batch/v1, and the phase before them. */
import { formatDuration } from '../../api/duration.js';
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import type { Column } from '../kind.js';
import type { JobSpec } from './schema.js';
import type { JobStatus } from './status.js';

type Job = ApiObject<JobSpec, JobStatus>;

export const JOB_COLUMNS: readonly Column[] = [
  {
    name: 'Status',
    type: 'string',
    description: 'Phase of the Job.',
    cell: (job: Job) => job.status.phase ?? '',
  },
  {
    name: 'Completions',
    type: 'string',
    description: 'Indexes that have succeeded, of those that must.',
    cell: (job: Job) => `${job.status.succeeded ?? 0}/${job.spec.completions}`,
  },
  {
    name: 'Active',
    type: 'integer',
    description: 'Attempts under way.',
    cell: (job: Job) => job.status.active ?? 0,
  },
  {
    name: 'Failed',
    type: 'integer',
    priority: 1,
    description: 'Failures of the work.',
    cell: (job: Job) => job.status.failed ?? 0,
  },
  {
    name: 'Duration',
    type: 'string',
    description: 'From the first start to the end.',
    cell: (job: Job) => duration(job),
  },
  {
    name: 'Image',
    type: 'string',
    priority: 1,
    description: 'Image that the program runs in.',
    cell: (job: Job) => job.spec.image,
  },
  {
    name: 'Reason',
    type: 'string',
    description: 'Why it is in this phase, or why the last Attempt failed that is tried again.',
    cell: (job: Job) => job.status.reason ?? '',
  },
];

/** Only of a finished Job: a cell is made from the object alone, which does not know what time it is. */
function duration(job: Job): string {
  const start = parseTime(job.status.startTime ?? '');
  const end = parseTime(job.status.completionTime ?? '');
  return start === undefined || end === undefined ? '' : formatDuration(Math.max(0, end - start));
}
