/** Owns the schema of `status.estimate`. Source: spec, "Conventions" 6. */
import { z } from 'zod';
import { zDuration, zTimestamp, zUsd } from '../../api/schema.js';

const usdSpread = z.object({
  p50: zUsd({ description: 'As likely more as less.' }).optional(),
  p90: zUsd({ description: 'Less in nine of ten cases.' }).optional(),
});
const durationSpread = z.object({
  p50: zDuration({ description: 'As likely more as less.' }).optional(),
  p90: zDuration({ description: 'Less in nine of ten cases.' }).optional(),
});

export const estimate = z
  .object({
    assemblyBoundUSD: zUsd().optional().describe('Most that a multi-node Job costs if its members never assemble.'),
    blockingReasons: z
      .array(
        z.object({
          code: z.string().describe('Registered error code, such as InsufficientCredits.'),
          fix: z.string().optional().describe('What to do about it.'),
          message: z.string().optional().describe('What is wrong, for people.'),
        }),
      )
      .optional()
      .describe('Why a real create would fail now.'),
    concurrentHoldUSD: zUsd({ description: 'Held at most at one time.' }).optional(),
    costUSD: usdSpread.optional().describe('What it will cost.'),
    gangHoldUSD: zUsd({ description: 'First hold of a whole gang.' }).optional(),
    holdUSD: zUsd()
      .optional()
      .describe("First hold, which must fit the balance, every matching Budget and the object's own cap."),
    minimumChargeUSD: zUsd({ description: 'Charged however short it runs.' }).optional(),
    overheadUSD: usdSpread.optional().describe('Of it, what start and end cost.'),
    placementPreview: z
      .object({
        explain: z.record(z.string(), z.unknown()).optional().describe('Why there.'),
        interruptible: z.boolean().optional().describe('The capacity may be taken away.'),
        offering: z.string().optional().describe('The Offering.'),
        regionClass: z.string().optional().describe('Where it is.'),
        warmReuse: z.boolean().optional().describe('It would take over what earlier work left warm.'),
      })
      .optional()
      .describe('Where it would be placed now.'),
    pricebookVersion: z.string().optional().describe('Version of the prices.'),
    rateUSDPerHour: zUsd({ description: 'Rate of an hour.' }).optional(),
    startup: z
      .object({
        cold: durationSpread.optional().describe('On new capacity.'),
        warm: durationSpread.optional().describe('On capacity that is warm.'),
      })
      .optional()
      .describe('How long the start takes.'),
    topology: z.record(z.string(), z.unknown()).optional().describe('Nodes and GPUs that a gang is resolved to.'),
    validUntil: zTimestamp('Until then it holds.').optional(),
    warnings: z
      .array(
        z.object({
          code: z.string().describe('Such as ColdStart or InterruptibleSelected.'),
          message: z.string().optional().describe('What to know, for people.'),
        }),
      )
      .optional()
      .describe('What does not stop it and is good to know.'),
  })
  .describe('What it is expected to cost.');

export type Estimate = z.infer<typeof estimate>;
