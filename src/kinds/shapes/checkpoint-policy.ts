/** Owns how work is checkpointed. Source: spec, "Conventions" 13. */
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
  retainAfterFinish: zDuration()
    .optional()
    .describe('How long checkpoints are kept after the Job ends; 168h when unset.'),
});

export type CheckpointPolicy = z.infer<typeof checkpointPolicy>;
