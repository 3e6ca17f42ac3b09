/** Owns where work may be placed. Source: spec, "Conventions" 10. */
import { z } from 'zod';
import { zDuration, zUsd } from '../../api/schema.js';

/** Waits for a place this long when nothing is said. */
export const DEFAULT_QUEUE_TIMEOUT_MS = 24 * 3_600_000;

export const placement = z.object({
  dedicated: z.literal(true).optional().describe('Reserved; only true is accepted.'),
  interruptible: z
    .enum(['Never', 'Allow', 'Prefer'])
    .optional()
    .describe('Whether interruptible capacity may be used.'),
  maxRateUSDPerHour: zUsd().optional().describe('Highest rate that may be paid.'),
  offerings: z.array(z.string().min(1)).optional().describe('Only these Offerings.'),
  pool: z.string().min(1).optional().describe('A Pool of the project.'),
  profile: z.enum(['Balanced', 'Cost', 'Speed']).optional().describe('What placement weighs most.'),
  queueTimeout: zDuration()
    .optional()
    .describe(
      'Longest wait for a place, 24h when unset; 0s waits for ever. On expiry the work fails with CapacityUnavailable.',
    ),
  regions: z.array(z.string().min(1)).optional().describe('Region classes; empty means any.'),
});

export type Placement = z.infer<typeof placement>;
