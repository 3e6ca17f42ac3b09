/** Owns the fields of an Offering: a class of capacity with its price and availability. Source: spec, "Offering". */
import { z } from 'zod';
import { zDuration, zQuantity, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField } from '../fields.js';

export const offeringSpec = z.object({
  accelerator: z
    .object({
      arch: z.string().optional(),
      family: z.string().optional(),
      formFactor: z.string().optional(),
      id: z.string().optional(),
      memory: zQuantity().optional(),
    })
    .optional(),
  category: z.enum(['GPU', 'CPU']).optional(),
  count: z.int().optional().describe('Accelerators per host; 0 for CPU.'),
  host: z
    .object({ cpu: zQuantity().optional(), disk: zQuantity().optional(), memory: zQuantity().optional() })
    .optional(),
  interconnect: z.string().optional(),
  interruptible: z.boolean().optional(),
  multiNode: z.boolean().optional(),
  regionClass: z.string().optional(),
  supports: z
    .object({
      gangs: z.boolean().optional(),
      jobs: z.boolean().optional(),
      restrictedEgress: z.boolean().optional(),
      sandboxes: z.boolean().optional(),
      workspaces: z.boolean().optional(),
    })
    .optional(),
});

export const offeringStatus = z.object({
  availability: z.enum(['Available', 'Limited', 'Unavailable']).optional(),
  availableNow: z.int().optional(),
  conditions: z.array(conditionField).optional().describe('Available; False with reason NoCapacity.'),
  interruptionRatePerHour: z.number().optional(),
  listPriceUSDPerHour: zUsd().optional(),
  observedTime: zTimestamp().optional(),
  priceUSDPerHour: z.object({ from: zUsd().optional(), typical: zUsd().optional() }).optional(),
  startup: z.object({ p50: zDuration().optional(), p90: zDuration().optional() }).optional(),
});

export type OfferingSpec = z.infer<typeof offeringSpec>;
export type OfferingStatus = z.infer<typeof offeringStatus>;
