/** Owns the schema of `status.estimate`. Source: spec, "Conventions" 6. */
import { z } from 'zod';
import { zDuration, zTimestamp, zUsd } from '../../api/schema.js';

const usdSpread = z.object({
  p50: zUsd({ description: 'Median.' }).optional(),
  p90: zUsd({ description: '90th percentile.' }).optional(),
});
const durationSpread = z.object({
  p50: zDuration({ description: 'Median.' }).optional(),
  p90: zDuration({ description: '90th percentile.' }).optional(),
});

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
    concurrentHoldUSD: zUsd({ description: 'Largest amount held at the same time.' }).optional(),
    costUSD: usdSpread.optional().describe('Expected total cost.'),
    gangHoldUSD: zUsd({ description: 'First hold for the whole gang.' }).optional(),
    holdUSD: zUsd()
      .optional()
      .describe("First hold, which must fit the balance, every matching Budget and the object's own cap."),
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
    rateUSDPerHour: zUsd({ description: 'Hourly rate.' }).optional(),
    startup: z
      .object({
        cold: durationSpread.optional().describe('On new capacity.'),
        warm: durationSpread.optional().describe('On warm capacity.'),
      })
      .optional()
      .describe('Expected startup time.'),
    topology: z.record(z.string(), z.unknown()).optional().describe('Resolved topology of a gang: nodes and GPUs.'),
    validUntil: zTimestamp('When the estimate expires.').optional(),
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
