/** How work is checkpointed, and what follows when its capacity is lost. Source: spec, "Conventions" 12 and 13; decisions, "Small points". */
import { z } from 'zod';
import { zAbsolutePath, zBytes, zDuration } from '../../api/schema.js';

export const checkpointPolicy = z.object({
  format: z.enum(['Snapshot', 'Dcp']).optional().describe('Dcp when unset for distributed Jobs.'),
  integration: z
    .enum(['Auto', 'None', 'HubTrainer'])
    .optional()
    .describe('How the program is asked to save a checkpoint.'),
  interval: zDuration({ min: '1m', max: '6h', also: ['auto'], description: 'Time between checkpoints.' }).optional(),
  maxSize: zBytes({ max: '2Ti' }).optional().describe('Checked before upload; 1Ti when unset, at most 2Ti.'),
  paths: z.array(zAbsolutePath()).max(64).optional().describe('Paths saved together; /svc/state when unset.'),
  retainAfterFinish: zDuration({
    description: 'How long checkpoints are kept after the Job ends; 168h when unset.',
  }).optional(),
});

export type CheckpointPolicy = z.infer<typeof checkpointPolicy>;

/** Replacements of lost capacity per index when nothing is said. */
export const DEFAULT_MAX_ATTEMPTS = 8;

/** What follows when capacity is lost. */
export const recovery = z.object({
  checkpoint: checkpointPolicy.optional().describe('Checkpoint policy.'),
  continuity: z
    .enum(['Checkpointed', 'Restartable', 'Ephemeral'])
    .optional()
    .describe('What a replacement continues from.'),
  maxAttempts: z
    .int32()
    .min(1)
    .max(32)
    .optional()
    .describe('Replacements of lost capacity per index, 8 when unset. Mutable.'),
  minProgressDuration: zDuration({
    description: 'An Attempt that ran for less than this counts as no progress; 2m when unset.',
  }).optional(),
  onInterruption: z
    .enum(['Resume', 'Fail'])
    .optional()
    .describe('Resume (when unset): lost work is replaced at the next epoch. Fail: it fails the Job.'),
});

export type Recovery = z.infer<typeof recovery>;
