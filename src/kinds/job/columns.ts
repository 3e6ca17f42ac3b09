/** Owns what `kubectl get jobs` shows: the columns of batch/v1, and the phase before them. */
import { formatDuration } from '../../api/duration.js';
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import { countColumn, textColumn, wide } from '../declare.js';
import type { Column } from '../kind.js';
import type { JobSpec } from './schema.js';
import type { JobStatus } from './status.js';

type Job = ApiObject<JobSpec, JobStatus>;

export const JOB_COLUMNS: readonly Column[] = [
  textColumn('Status', 'Phase of the Job.', ({ status }: Job) => status.phase),
  textColumn(
    'Completions',
    'Indexes that have succeeded, of those that must.',
    ({ spec, status }: Job) => `${status.succeeded ?? 0}/${spec.completions}`,
  ),
  countColumn('Active', 'Attempts under way.', ({ status }: Job) => status.active),
  wide(countColumn('Failed', 'Failures of the work.', ({ status }: Job) => status.failed)),
  textColumn('Duration', 'From the first start to the end.', (job: Job) => duration(job)),
  wide(textColumn('Image', 'Image that the program runs in.', ({ spec }: Job) => spec.image)),
  textColumn(
    'Reason',
    'Why it is in this phase, or why the last Attempt failed that is tried again.',
    ({ status }: Job) => status.reason,
  ),
];

/** Only of a finished Job: a cell is made from the object alone, which does not know what time it is. */
function duration(job: Job): string {
  const start = parseTime(job.status.startTime ?? '');
  const end = parseTime(job.status.completionTime ?? '');
  return start === undefined || end === undefined ? '' : formatDuration(Math.max(0, end - start));
}
