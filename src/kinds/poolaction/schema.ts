/** The fields of a PoolAction. Source: spec, "PoolAction". */
import { z } from 'zod';
import { zName, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';
import { objectName } from '../shapes/names.js';
import { MOST_NAMES } from '../shapes/bounds.js';
import { routing } from '../pool/schema.js';

/** A kind, and the name of an object of it. */
const KIND_AND_NAME = /^[A-Za-z][A-Za-z0-9]{0,62}\/[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/;

export const poolActionSpec = z.object({
  action: z.string().min(1).optional().describe('What is to be done.'),
  change: routing.optional().describe('What of the routing of the Pool it changes.'),
  decision: z
    .enum(['Pending', 'Approved', 'Rejected'])
    .default('Pending')
    .describe('Written once, by a member. Mutable.'),
  estimatedSavingsUSD: zUsd({ description: 'What it is expected to save in 30 days.' }).optional(),
  expirationTime: zTimestamp('An undecided proposal ends then, 24 hours after it was made.').optional(),
  mode: z.string().min(1).optional().describe('Mode of the automation that made it, such as Propose.'),
  opportunityCostUSD: zUsd({ description: 'What not doing it is expected to cost.' }).optional(),
  pool: zName({ description: 'The Pool.' }).optional(),
  reason: z.string().optional().describe('Why it is proposed.'),
  recommendation: z.string().optional().describe('What the automation recommends, for people.'),
  targets: z
    .object({
      nodes: z.array(objectName('Name of a Node.')).max(MOST_NAMES).optional().describe('Names of Nodes.'),
      objects: z
        .array(z.string().max(317).regex(KIND_AND_NAME, 'must be kind/name, for example Job/train'))
        .max(MOST_NAMES)
        .optional()
        .describe('Objects as kind/name.'),
    })
    .optional()
    .describe('What it is done to.'),
});

export const poolActionStatus = z.object({
  completionTime: zTimestamp('When it was through.').optional(),
  conditions: z.array(conditionField).optional().describe('Conditions.'),
  executed: z.boolean().optional().describe('True only when something was changed.'),
  handledRequests: z
    .record(z.string(), z.string())
    .optional()
    .describe('Last value carried out, by request annotation.'),
  phase: z.string().optional().describe('Such as Pending, Approved or Rejected.'),
  previous: routing.optional().describe('What the change replaced.'),
  reason: z.string().optional().describe('Such as Expired, Rejected or KillSwitch.'),
  results: z
    .array(
      z.object({
        message: z.string().optional().describe('Human-readable result.'),
        outcome: z.enum(['Applied', 'Skipped', 'Failed', 'Reverted']).optional().describe('What became of it.'),
        target: z.string().optional().describe('What it was done to.'),
      }),
    )
    .optional()
    .describe('What was done to each target.'),
  revertible: z.boolean().optional().describe('It can be taken back.'),
  startTime: zTimestamp('When it was begun.').optional(),
});

export type PoolActionSpec = z.infer<typeof poolActionSpec>;
export type PoolActionStatus = z.infer<typeof poolActionStatus>;

/** All but the decision. */
export const POOL_ACTION_IMMUTABLE: readonly string[] = [
  'action',
  'change',
  'estimatedSavingsUSD',
  'expirationTime',
  'mode',
  'opportunityCostUSD',
  'pool',
  'reason',
  'recommendation',
  'targets',
].map((path) => `spec.${path}`);
