/** Parts that many statuses have: the reason, conditions, the image, cost and estimate. Source: spec, "Conventions" 4 to 6, "Versioning" 4. */
import { z } from 'zod';
import { zDuration, zTimestamp, zUsd } from '../../api/schema.js';

/** The fields with which nearly every status explains itself; spread into its object. */
export const statusReason = {
  message: z.string().optional().describe('Human-readable explanation of the phase.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  reason: z.string().optional().describe('Reason for the phase, one CamelCase word.'),
};

/** `status.conditions[]`. Source: spec, "Conventions" 4. */
export const conditionField = z.object({
  type: z.string().describe('Type of the condition; one condition for each type.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
  lastTransitionTime: zTimestamp('When the status last changed.'),
  reason: z.string().describe('Reason, one CamelCase word.'),
  message: z.string().describe('Human-readable explanation.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that it was found at.'),
});

/** The image that work runs on. */
export const imageStatus = z
  .object({
    digest: z.string().optional().describe('sha256:<64 hexadecimal digits>'),
    reference: z.string().optional().describe('Reference as written in the spec.'),
    user: z.string().optional().describe('User that programs run as; root when the image names none.'),
  })
  .describe('Image that is running.');

export const costSegments = z.object({
  bootUSD: zUsd().optional().describe('From the start of billing until the program started.'),
  runningUSD: zUsd({ description: 'While the program ran.' }).optional(),
  restoreUSD: zUsd().optional().describe('Bringing up a replacement after capacity was lost.'),
  teardownUSD: zUsd().optional().describe('From the stop until deletion was confirmed.'),
  coveredBySvc: z
    .array(z.enum(['Boot', 'Running', 'Restore', 'Teardown']))
    .nullable()
    .optional()
    .describe('Segments that the service paid for instead of charging.'),
});

/** `status.cost`, a display copy of the ledger. */
export const cost = z
  .object({
    bySegment: costSegments.optional().describe('Cost by segment.'),
    final: z.boolean().optional().describe('True once the final charge is posted.'),
    fundedUntilTime: zTimestamp('Until when the current hold covers the cost.').optional(),
    heldUSD: zUsd({ description: 'Amount held now.' }).optional(),
    limitUSD: zUsd().optional().describe("The object's maxCostUSD, if any."),
    rateUSDPerHour: zUsd().optional().describe('Sum of the hourly rates of capacity that is still billing.'),
    totalUSD: zUsd({ description: 'Amount charged so far.' }).optional(),
  })
  .describe('Cost so far; a display copy of the ledger.');

export type Cost = z.infer<typeof cost>;

const usdSpread = z.object({
  p50: zUsd({ description: 'Median.' }).optional(),
  p90: zUsd({ description: '90th percentile.' }).optional(),
});
const durationSpread = z.object({
  p50: zDuration({ description: 'Median.' }).optional(),
  p90: zDuration({ description: '90th percentile.' }).optional(),
});

/** `status.estimate`. */
export const estimate = z
  .object({
    assemblyBoundUSD: zUsd().optional().describe('Most that a multi-node Job costs if its members never assemble.'),
    blockingReasons: z
      .array(
        z.object({
          code: z.string().describe('Registered error code, such as InsufficientCredits.'),
          fix: z.string().optional().describe('Next step.'),
          message: z.string().optional().describe('Human-readable explanation.'),
        }),
      )
      .optional()
      .describe('Why a real create would fail now.'),
    concurrentHoldUSD: zUsd()
      .optional()
      .describe('Largest amount held at the same time: holdUSD for each Attempt that may run at once.'),
    costUSD: usdSpread
      .optional()
      .describe(
        'Expected total cost when nothing fails, at the prices of now. Percentiles of the last 32 undisturbed runs of like work: same project, kind, image, command and resources. Where there are none, each index of a Job runs for expectedDuration (p50) or twice that (p90), at most what timeout leaves it; with a timeout only, for half of it or all; with neither, for a minute. A Sandbox runs until it is idle once, or for maxLifetime; a Workspace until schedule.stopAt, else until it is idle once, or for a day. Sweeps and Pipelines: the sum of their Jobs.',
      ),
    gangHoldUSD: zUsd({ description: 'First hold for the whole gang.' }).optional(),
    holdUSD: zUsd()
      .optional()
      .describe(
        "First hold, which must fit the balance, every matching Budget and the object's own cap: a minute at the rate or the minimum charge, and a minute for a graceful end. Of a Pipeline the largest of its stages.",
      ),
    minimumChargeUSD: zUsd({ description: 'Smallest charge, however short the run.' }).optional(),
    overheadUSD: usdSpread.optional().describe('Share of the cost spent on start and teardown.'),
    placementPreview: z
      .object({
        explain: z.record(z.string(), z.unknown()).optional().describe('Why this placement was chosen.'),
        interruptible: z.boolean().optional().describe('Whether the capacity is interruptible.'),
        offering: z.string().optional().describe('Name of the Offering.'),
        regionClass: z.string().optional().describe('Region class.'),
        warmReuse: z.boolean().optional().describe('Whether warm capacity would be reused.'),
      })
      .optional()
      .describe('Placement if it were created now.'),
    pricebookVersion: z.string().optional().describe('Version of the price book.'),
    rateUSDPerHour: zUsd()
      .optional()
      .describe('Hourly rate of one Attempt; of a Sweep or Pipeline, of all that may run at once.'),
    startup: z
      .object({
        cold: durationSpread.optional().describe('On new capacity.'),
        warm: durationSpread.optional().describe('On warm capacity.'),
      })
      .optional()
      .describe('Expected startup time. Cold: as like work has taken, if there is any.'),
    topology: z.record(z.string(), z.unknown()).optional().describe('Resolved topology of a gang: nodes and GPUs.'),
    validUntil: zTimestamp(
      'Until when the price stands. Later, too, a create with the ETag of the dry run as If-Match is admitted while the rate has risen by 10 % at most.',
    ).optional(),
    warnings: z
      .array(
        z.object({
          code: z.string().describe('Such as ColdStart or InterruptibleSelected.'),
          message: z.string().optional().describe('Human-readable explanation.'),
        }),
      )
      .optional()
      .describe('Warnings, which do not prevent the create.'),
  })
  .describe('Estimated cost.');

export type Estimate = z.infer<typeof estimate>;
