/** Owns the fields of an Attempt. Customers read it and never write it; it never names a provider or a machine. Source: spec, "Attempt". */
import { z } from 'zod';
import { zTimestamp, zUsd } from '../../api/schema.js';
import { costSegments } from '../shapes/cost.js';

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
    .describe('Its place in a gang that starts and restarts together.'),
  restoreFrom: z
    .object({
      seq: z.int().optional().describe('Number of the checkpoint.'),
      cursor: z
        .object({
          completed: z.int().optional().describe('Units that were done.'),
          total: z.int().optional().describe('Units in all.'),
        })
        .optional()
        .describe('How far the work had come.'),
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
  billingStartTime: zTimestamp('From when on it is charged.').optional(),
  bootSeconds: z.number().optional().describe('From the place to the start of the program.'),
  commandStartedTime: zTimestamp('When the program started.').optional(),
  deletionProvenTime: zTimestamp('When it was proven that nothing of it is left running.').optional(),
  finishedTime: zTimestamp('When the program ended.').optional(),
  pullSeconds: z.number().optional().describe('Fetching the image.'),
  queuedTime: zTimestamp('When it began to wait for a place.').optional(),
  registeredTime: zTimestamp('When its isolate existed.').optional(),
  restoreSeconds: z.number().optional().describe('Bringing back the checkpoint.'),
  teardownSeconds: z.number().optional().describe('From its end to the proof of its deletion.'),
});

const placement = z.object({
  candidates: z.int().optional().describe('Places that were weighed.'),
  explain: z
    .object({
      fallbacks: z.array(z.string()).optional().describe('What would have been taken next.'),
      profile: z.string().optional().describe('What was weighed most.'),
      rejected: z
        .array(
          z.object({
            offeringClass: z.string().optional().describe('Class of capacity.'),
            reason: z.string().optional().describe('Why it was not taken.'),
          }),
        )
        .max(20)
        .optional()
        .describe('What was not taken.'),
      scores: z
        .record(z.string(), z.unknown())
        .optional()
        .describe('fit, timeToResult, costToComplete, recoveryValue and health.'),
    })
    .optional()
    .describe('Why it was placed there.'),
  hedged: z.boolean().optional().describe('More than one place was asked for at once.'),
  interruptible: z.boolean().optional().describe('The capacity may be taken away.'),
  offering: z.string().optional().describe('The Offering.'),
  profile: z.string().optional().describe('What placement was asked to weigh most.'),
  rateUSDPerHour: zUsd({ description: 'Rate of an hour.' }).optional(),
  regionClass: z.string().optional().describe('Where it is.'),
  warmReuse: z.boolean().optional().describe('It took over what an earlier Attempt left warm.'),
});

export const attemptStatus = z.object({
  actual: z
    .object({
      costUSD: zUsd({ description: 'Charged.' }).optional(),
      hours: z.number().optional().describe('Hours from the place to the end.'),
      segments: costSegments.optional().describe('The cost by what it was for.'),
    })
    .optional()
    .describe('What it came to.'),
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
      lostSeconds: z.number().optional().describe('Work that has to be done again.'),
      recoverySeconds: z.number().optional().describe('From the loss until the replacement ran.'),
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
        .describe('What told of it.'),
    })
    .optional()
    .describe('How its capacity was lost.'),
  phase: z
    .enum(ATTEMPT_PHASES)
    .optional()
    .describe('Failed: a real failure or lost capacity. Cancelled: a clean stop.'),
  placement: placement.optional().describe('Where it runs and why.'),
  predicted: z
    .object({
      costUSD: zUsd({ description: 'Cost.' }).optional(),
      hours: z.number().optional().describe('Hours from the place to the end.'),
      interruptionRate: z.number().optional().describe('Interruptions per hour.'),
    })
    .optional()
    .describe('What was expected when it was placed.'),
  progress: z
    .object({
      stage: z
        .enum(['Pending', 'Placing', 'Acquiring', 'Starting', 'Running', 'Succeeded', 'Failed', 'Lost', 'Stopped'])
        .optional()
        .describe('What it is doing.'),
      completed: z.int().optional().describe('Units that are done, as the work itself says.'),
      total: z.int().optional().describe('Units in all, as the work itself says.'),
    })
    .optional()
    .describe('How far it has come.'),
  reason: z
    .string()
    .optional()
    .describe('When Failed: such as NodeLost or CustomerExit; when Cancelled: such as Stopped.'),
  signal: z.int().optional().describe('Number of the signal that ended the program.'),
  supersededBy: z.string().optional().describe('Name of the Attempt that has taken the slot.'),
  timings: timings.optional().describe('When what happened, to the millisecond.'),
});

export type AttemptStatus = z.infer<typeof attemptStatus>;
export type AttemptTimings = NonNullable<AttemptStatus['timings']>;

export function hasEnded(phase: AttemptPhase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Cancelled';
}
