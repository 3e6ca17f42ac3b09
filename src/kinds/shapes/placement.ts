/** Owns where work may be placed. Source: spec, "Conventions" 10. */
import { z } from 'zod';
import { parseDuration } from '../../api/duration.js';
import { zDuration, zUsd } from '../../api/schema.js';
import { objectName } from './object-name.js';
import { MOST_NAMES } from './sizes.js';

/** Waits for a place this long when nothing is said. */
const DEFAULT_QUEUE_TIMEOUT = '24h';

export const regionClass = z
  .string()
  .max(63)
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'must be a region class, for example eu-central')
  .meta({ example: 'eu-central' });

export const placement = z.object({
  dedicated: z.literal(true).optional().describe('Reserved; only true is accepted.'),
  interruptible: z
    .enum(['Never', 'Allow', 'Prefer'])
    .optional()
    .describe('Whether interruptible capacity may be used.'),
  maxRateUSDPerHour: zUsd().optional().describe('Highest accepted hourly rate.'),
  offerings: z
    .array(objectName('Name of an Offering.'))
    .max(MOST_NAMES)
    .optional()
    .describe('Only these Offerings; any when empty.'),
  pool: objectName('Name of a Pool in the project.').optional(),
  profile: z.enum(['Balanced', 'Cost', 'Speed']).optional().describe('Placement objective.'),
  queueTimeout: zDuration()
    .optional()
    .describe(
      'Longest wait for capacity, 24h when unset; 0s waits without limit. On expiry the work fails with CapacityUnavailable.',
    ),
  regions: z.array(regionClass).max(MOST_NAMES).optional().describe('Region classes; empty means any.'),
});

export type Placement = z.infer<typeof placement>;

/** Undefined: waits for ever (`0s`). */
export function queueTimeoutMs(placed: Placement | undefined): number | undefined {
  return parseDuration(placed?.queueTimeout ?? DEFAULT_QUEUE_TIMEOUT) || undefined;
}

/** Why work fails whose wait for a place was too long. */
export function noPlace(placed: Placement | undefined): { readonly reason: string; readonly message: string } {
  const limit = placed?.queueTimeout ?? DEFAULT_QUEUE_TIMEOUT;
  return {
    reason: 'CapacityUnavailable',
    message: `no capacity became available within placement.queueTimeout ${limit}`,
  };
}
