/** Owns the fields of an Attempt. Customers read it and never write it; it never names a provider or a machine. Source: spec, "Attempt". */
import { z } from 'zod';
import { zTimestamp, zUsd } from '../../api/schema.js';
import { costSegments } from '../shapes/cost.js';

export const attemptSpec = z.object({
  epoch: z.int().min(1).describe('Fence number; increases with every replacement in the slot.'),
  slot: z.int().min(0).describe("Position in the owner: a Job's index."),
  gang: z
    .object({
      epoch: z.int().optional(),
      id: z.string().optional(),
      rank: z.int().optional().describe('Rank 0 hosts the rendezvous.'),
      size: z.int().optional(),
    })
    .optional(),
  restoreFrom: z
    .object({
      seq: z.int().optional(),
      cursor: z.object({ completed: z.int().optional(), total: z.int().optional() }).optional(),
    })
    .optional()
    .describe('The checkpoint that it starts from.'),
});

export type AttemptSpec = z.infer<typeof attemptSpec>;

export const ATTEMPT_PHASES = ['Queued', 'Provisioning', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type AttemptPhase = (typeof ATTEMPT_PHASES)[number];

/** Timings have milliseconds: most steps take less than a second. */
const timings = z.object({
  acquiredTime: zTimestamp('When it got a place.').optional(),
  billingStartTime: zTimestamp().optional(),
  bootSeconds: z.number().optional().describe('From the place to the start of the program.'),
  commandStartedTime: zTimestamp().optional(),
  deletionProvenTime: zTimestamp('When it was proven that nothing of it is left running.').optional(),
  finishedTime: zTimestamp().optional(),
  pullSeconds: z.number().optional(),
  queuedTime: zTimestamp().optional(),
  registeredTime: zTimestamp('When its isolate existed.').optional(),
  restoreSeconds: z.number().optional(),
  teardownSeconds: z.number().optional().describe('From its end to the proof of its deletion.'),
});

const placement = z.object({
  candidates: z.int().optional(),
  explain: z
    .object({
      fallbacks: z.array(z.string()).optional(),
      profile: z.string().optional(),
      rejected: z
        .array(z.object({ offeringClass: z.string().optional(), reason: z.string().optional() }))
        .max(20)
        .optional(),
      scores: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
  hedged: z.boolean().optional(),
  interruptible: z.boolean().optional(),
  offering: z.string().optional(),
  profile: z.string().optional(),
  rateUSDPerHour: zUsd().optional(),
  regionClass: z.string().optional(),
  warmReuse: z.boolean().optional(),
});

export const attemptStatus = z.object({
  actual: z
    .object({ costUSD: zUsd().optional(), hours: z.number().optional(), segments: costSegments.optional() })
    .optional(),
  checkpoints: z
    .object({ count: z.int().optional(), lastSeq: z.int().optional(), restoreBytes: z.int().optional() })
    .optional(),
  exitCode: z.int().optional(),
  interruption: z
    .object({
      lostSeconds: z.number().optional(),
      recoverySeconds: z.number().optional(),
      time: zTimestamp().optional(),
      trigger: z
        .enum([
          'PreemptionNotice',
          'ProviderEvidence',
          'HeartbeatLoss',
          'ReadinessFailed',
          'StartupTimeout',
          'Drill',
          'Funding',
          'User',
        ])
        .optional(),
    })
    .optional(),
  phase: z.enum(ATTEMPT_PHASES).optional(),
  placement: placement.optional(),
  predicted: z
    .object({ costUSD: zUsd().optional(), hours: z.number().optional(), interruptionRate: z.number().optional() })
    .optional(),
  progress: z
    .object({
      stage: z
        .enum(['Pending', 'Placing', 'Acquiring', 'Starting', 'Running', 'Succeeded', 'Failed', 'Lost', 'Stopped'])
        .optional(),
    })
    .optional(),
  reason: z
    .string()
    .optional()
    .describe('When Failed: such as NodeLost or CustomerExit; when Cancelled: such as Stopped.'),
  signal: z.int().optional().describe('Number of the signal that ended the program.'),
  supersededBy: z.string().optional().describe('Name of the Attempt that has taken the slot.'),
  timings: timings.optional(),
});

export type AttemptStatus = z.infer<typeof attemptStatus>;
export type AttemptTimings = NonNullable<AttemptStatus['timings']>;

export function hasEnded(phase: AttemptPhase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Cancelled';
}
