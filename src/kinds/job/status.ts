/** The status of a Job. What grows with the number of indexes is in rows, not here. Source: decisions, "Phases not named by the spec". */
import { z } from 'zod';
import { zTimestamp } from '../../api/schema.js';
import { conditionField, cost, estimate } from '../shapes/status.js';

export const JOB_PHASES = ['Pending', 'Running', 'Suspended', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type JobPhase = (typeof JOB_PHASES)[number];

/** More would make every write of a large Job longer; the route has all of them. */
export const MAX_LISTED_OUTPUTS = 100;

export const jobOutput = z.object({
  name: z.string().describe('Name of the output.'),
  index: z.int().describe('Index that it is of.'),
  size: z.int().describe('Bytes.'),
  sha256: z.string().describe('Digest of its bytes, as hexadecimal digits.'),
  time: zTimestamp('When it was collected.'),
});

export type JobOutput = z.infer<typeof jobOutput>;

export const jobStatus = z.object({
  phase: z.enum(JOB_PHASES).optional().describe('Lifecycle phase.'),
  reason: z
    .string()
    .optional()
    .describe('Reason for the phase, or for the last failure while an index is retried, one CamelCase word.'),
  message: z.string().optional().describe('Human-readable explanation of the reason.'),
  active: z.int().optional().describe('Attempts that wait, start, run or stop now.'),
  succeeded: z.int().optional().describe('Indexes that have succeeded.'),
  failed: z.int().optional().describe('Attempts that failed by themselves, which backoffLimit counts.'),
  attempts: z.int().optional().describe('Attempts made so far.'),
  completedIndexes: z.string().optional().describe('Indexes that have succeeded, as 1,3-5,7.'),
  failedIndexes: z.string().optional().describe('Indexes that have failed for good, as 1,3-5,7.'),
  startTime: zTimestamp().optional().describe('When the first Attempt was provisioned.'),
  completionTime: zTimestamp('When it finished.').optional(),
  conditions: z.array(conditionField).optional().describe('Complete, Failed, Suspended, Funded and OutputsCollected.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  outputs: z
    .array(jobOutput)
    .optional()
    .describe('The first hundred outputs, in the order in which they were collected.'),
  checkpoints: z
    .object({
      count: z.int().optional().describe('Checkpoints that are kept.'),
      lastSeq: z.int().optional().describe('Number of the last one.'),
      lastTime: zTimestamp('When the last one was saved.').optional(),
    })
    .optional()
    .describe('Its checkpoints.'),
  topology: z.record(z.string(), z.unknown()).optional().describe('Nodes and GPUs that a gang was resolved to.'),
  image: z
    .object({
      reference: z.string().optional().describe('As it was named.'),
      digest: z.string().optional().describe('What the name stood for at admission.'),
      user: z.string().optional().describe('User that the program runs as.'),
    })
    .optional()
    .describe('The image that it runs.'),
  cost: cost.optional().describe('Cost so far.'),
  estimate: estimate.optional().describe('Estimated cost.'),
});

export type JobStatus = z.infer<typeof jobStatus>;

export function isFinished(phase: JobPhase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Cancelled';
}
