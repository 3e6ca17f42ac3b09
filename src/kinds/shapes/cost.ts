/** Owns the schema of `status.cost`, a display copy of the ledger. Source: spec, "Conventions" 5. */
import { z } from 'zod';
import { zTimestamp, zUsd } from '../../api/schema.js';

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
