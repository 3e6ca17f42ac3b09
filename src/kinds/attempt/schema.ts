/** The fields of an Attempt. Customers read it and never write it; it never names a provider or a machine. Source: spec, "Attempt". */
import { z } from 'zod';
import { zTimestamp, zUsd } from '../../api/schema.js';
import { costSegments } from '../shapes/status.js';

export const attemptSpec = z.object({
  epoch: z.int().min(1).describe('Fence number; increases with every replacement in the slot.'),
  slot: z.int().min(0).describe("Position in the owner: a Job's index."),
  gang: z
    .object({
      epoch: z.int().optional().describe('Fence number of the gang.'),
      id: z.string().optional().describe('Names the gang.'),
      rank: z.int().optional().describe('Rank 0 hosts the rendezvous.'),
      size: z.int().optional().describe('Members of the gang.'),
    })
    .optional()
    .describe('Membership in a gang, whose members start and restart together.'),
  restoreFrom: z
    .object({
      seq: z.int().optional().describe('Number of the checkpoint.'),
      cursor: z
        .object({
          completed: z.int().optional().describe('Completed units.'),
          total: z.int().optional().describe('Total units.'),
        })
        .optional()
        .describe('Progress at the checkpoint.'),
    })
    .optional()
    .describe('The checkpoint that it starts from.'),
});

export type AttemptSpec = z.infer<typeof attemptSpec>;

export const ATTEMPT_PHASES = ['Queued', 'Provisioning', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type AttemptPhase = (typeof ATTEMPT_PHASES)[number];

/** Timings have milliseconds: most steps take less than a second. */
const timings = z.object({
  acquiredTime: zTimestamp('When capacity was acquired.').optional(),
  billingStartTime: zTimestamp('When billing started.').optional(),
  bootSeconds: z.number().optional().describe('Seconds from acquiring capacity to the start of the program.'),
  commandStartedTime: zTimestamp('When the program started.').optional(),
  deletionProvenTime: zTimestamp('When deletion of everything it ran was confirmed.').optional(),
  finishedTime: zTimestamp('When the program ended.').optional(),
  pullSeconds: z.number().optional().describe('Seconds spent pulling the image.'),
  queuedTime: zTimestamp('When it was queued.').optional(),
  registeredTime: zTimestamp('When its container was created.').optional(),
  restoreSeconds: z.number().optional().describe('Seconds spent restoring the checkpoint.'),
  teardownSeconds: z.number().optional().describe('Seconds from its end to confirmed deletion.'),
});

const placement = z.object({
  candidates: z.int().optional().describe('Number of candidates.'),
  explain: z
    .object({
      fallbacks: z.array(z.string()).optional().describe('Next best placements.'),
      profile: z.string().optional().describe('Placement objective.'),
      rejected: z
        .array(
          z.object({
            offeringClass: z.string().optional().describe('Class of capacity.'),
            reason: z.string().optional().describe('Reason for the rejection.'),
          }),
        )
        .max(20)
        .optional()
        .describe('Rejected placements, at most 20.'),
      scores: z
        .record(z.string(), z.unknown())
        .optional()
        .describe('fit, timeToResult, costToComplete, recoveryValue and health.'),
    })
    .optional()
    .describe('Why this placement was chosen.'),
  hedged: z.boolean().optional().describe('Whether capacity was requested in more than one place at once.'),
  interruptible: z.boolean().optional().describe('Whether the capacity is interruptible.'),
  offering: z.string().optional().describe('The Offering.'),
  profile: z.string().optional().describe('Placement objective.'),
  rateUSDPerHour: zUsd({ description: 'Hourly rate.' }).optional(),
  regionClass: z.string().optional().describe('Region class.'),
  warmReuse: z.boolean().optional().describe('Whether warm capacity of an earlier Attempt was reused.'),
});

export const attemptStatus = z.object({
  actual: z
    .object({
      costUSD: zUsd({ description: 'Charged.' }).optional(),
      hours: z.number().optional().describe('Hours from the place to the end.'),
      segments: costSegments.optional().describe('Cost by segment.'),
    })
    .optional()
    .describe('Actual cost and duration.'),
  checkpoints: z
    .object({
      count: z.int().optional().describe('Checkpoints that it saved.'),
      lastSeq: z.int().optional().describe('Number of the last one.'),
      restoreBytes: z.int().optional().describe('Bytes that it was restored from.'),
    })
    .optional()
    .describe('Its checkpoints.'),
  exitCode: z.int().optional().describe('Exit code of the program.'),
  interruption: z
    .object({
      lostSeconds: z.number().optional().describe('Seconds of work that must be repeated.'),
      recoverySeconds: z.number().optional().describe('Seconds from the loss until the replacement ran.'),
      time: zTimestamp('When it was lost.').optional(),
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
        .optional()
        .describe('What detected the interruption.'),
    })
    .optional()
    .describe('Interruption that ended it.'),
  phase: z
    .enum(ATTEMPT_PHASES)
    .optional()
    .describe('Failed: a real failure or lost capacity. Cancelled: a clean stop.'),
  placement: placement.optional().describe('Placement.'),
  predicted: z
    .object({
      costUSD: zUsd({ description: 'Cost.' }).optional(),
      hours: z.number().optional().describe('Hours from the place to the end.'),
      interruptionRate: z.number().optional().describe('Interruptions per hour.'),
    })
    .optional()
    .describe('Prediction at placement.'),
  progress: z
    .object({
      stage: z
        .enum(['Pending', 'Placing', 'Acquiring', 'Starting', 'Running', 'Succeeded', 'Failed', 'Lost', 'Stopped'])
        .optional()
        .describe('Stage.'),
      completed: z.int().optional().describe('Completed units, as reported by the work.'),
      total: z.int().optional().describe('Total units, as reported by the work.'),
    })
    .optional()
    .describe('Progress.'),
  reason: z
    .string()
    .optional()
    .describe('When Failed: such as NodeLost or CustomerExit; when Cancelled: such as Stopped.'),
  signal: z.int().optional().describe('Number of the signal that ended the program.'),
  supersededBy: z.string().optional().describe('Name of the Attempt that has taken the slot.'),
  timings: timings.optional().describe('Timestamps and durations, in milliseconds precision.'),
});

export type AttemptStatus = z.infer<typeof attemptStatus>;
export type AttemptTimings = NonNullable<AttemptStatus['timings']>;

export function hasEnded(phase: AttemptPhase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Cancelled';
}
