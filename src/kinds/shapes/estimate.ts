/** Owns the schema of `status.estimate`. Source: spec, "Conventions" 6. */
import { z } from 'zod';
import { zDuration, zTimestamp, zUsd } from '../../api/schema.js';

const usdSpread = z.object({ p50: zUsd().optional(), p90: zUsd().optional() });
const durationSpread = z.object({ p50: zDuration().optional(), p90: zDuration().optional() });

export const estimate = z.object({
  assemblyBoundUSD: zUsd().optional().describe('Most that a multi-node Job costs if its members never assemble.'),
  blockingReasons: z
    .array(z.object({ code: z.string(), fix: z.string().optional(), message: z.string().optional() }))
    .optional()
    .describe('Why a real create would fail now.'),
  concurrentHoldUSD: zUsd().optional(),
  costUSD: usdSpread.optional(),
  gangHoldUSD: zUsd().optional(),
  holdUSD: zUsd()
    .optional()
    .describe("First hold, which must fit the balance, every matching Budget and the object's own cap."),
  minimumChargeUSD: zUsd().optional(),
  overheadUSD: usdSpread.optional(),
  placementPreview: z
    .object({
      explain: z.record(z.string(), z.unknown()).optional(),
      interruptible: z.boolean().optional(),
      offering: z.string().optional(),
      regionClass: z.string().optional(),
      warmReuse: z.boolean().optional(),
    })
    .optional(),
  pricebookVersion: z.string().optional(),
  rateUSDPerHour: zUsd().optional(),
  startup: z.object({ cold: durationSpread.optional(), warm: durationSpread.optional() }).optional(),
  topology: z.record(z.string(), z.unknown()).optional(),
  validUntil: zTimestamp().optional(),
  warnings: z.array(z.object({ code: z.string(), message: z.string().optional() })).optional(),
});

export type Estimate = z.infer<typeof estimate>;
