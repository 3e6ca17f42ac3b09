/** Owns the status of a Job. What grows with the number of indexes is in rows, not here. Source: decisions, "Phases not named by the spec". */
import { z } from 'zod';
import { zTimestamp } from '../../api/schema.js';
import { conditionField } from '../fields.js';
import { cost } from '../shapes/cost.js';
import { estimate } from '../shapes/estimate.js';

export const JOB_PHASES = ['Pending', 'Running', 'Suspended', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type JobPhase = (typeof JOB_PHASES)[number];

/** More would make every write of a large Job longer; the route has all of them. */
export const MAX_LISTED_OUTPUTS = 100;

export const jobOutput = z.object({
  name: z.string(),
  index: z.int(),
  size: z.int().describe('Bytes.'),
  sha256: z.string(),
  time: zTimestamp(),
});

export type JobOutput = z.infer<typeof jobOutput>;

export const jobStatus = z.object({
  phase: z.enum(JOB_PHASES).optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  active: z.int().optional().describe('Attempts that wait, start, run or stop now.'),
  succeeded: z.int().optional().describe('Indexes that have succeeded.'),
  failed: z.int().optional().describe('Attempts that failed by themselves, which backoffLimit counts.'),
  attempts: z.int().optional().describe('Attempts made so far.'),
  completedIndexes: z.string().optional().describe('Indexes that have succeeded, as 1,3-5,7.'),
  failedIndexes: z.string().optional().describe('Indexes that have failed for good, as 1,3-5,7.'),
  startTime: zTimestamp().optional().describe('When the first Attempt was provisioned.'),
  completionTime: zTimestamp().optional(),
  conditions: z.array(conditionField).optional(),
  observedGeneration: z.int().optional(),
  outputs: z
    .array(jobOutput)
    .optional()
    .describe('The first hundred outputs, in the order in which they were collected.'),
  checkpoints: z
    .object({ count: z.int().optional(), lastSeq: z.int().optional(), lastTime: zTimestamp().optional() })
    .optional(),
  topology: z.record(z.string(), z.unknown()).optional(),
  image: z
    .object({ reference: z.string().optional(), digest: z.string().optional(), user: z.string().optional() })
    .optional(),
  cost: cost.optional(),
  estimate: estimate.optional(),
});

export type JobStatus = z.infer<typeof jobStatus>;

export function isFinished(phase: JobPhase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Cancelled';
}
