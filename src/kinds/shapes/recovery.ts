/** Owns what follows when capacity is lost. Source: spec, "Conventions" 12; decisions, "Small points". */
import { z } from 'zod';
import { zDuration } from '../../api/schema.js';
import { checkpointPolicy } from './checkpoint-policy.js';

/** Replacements of lost capacity per index when nothing is said. */
export const DEFAULT_MAX_ATTEMPTS = 8;

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
  minProgressDuration: zDuration()
    .optional()
    .describe('An Attempt that ran for less than this counts as no progress; 2m when unset.'),
  onInterruption: z
    .enum(['Resume', 'Fail'])
    .optional()
    .describe('Resume (when unset): lost work is replaced at the next epoch. Fail: it fails the Job.'),
});

export type Recovery = z.infer<typeof recovery>;
