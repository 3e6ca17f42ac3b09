/** The fields of an Offering: a class of capacity with its price and availability. Source: spec, "Offering". */
import { z } from 'zod';
import { zDuration, zQuantity, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';

export const offeringSpec = z.object({
  accelerator: z
    .object({
      arch: z.string().optional().describe('Architecture, such as Hopper.'),
      family: z.string().optional().describe('Family that resources.gpu.type may name.'),
      formFactor: z.string().optional().describe('Such as SXM or PCIe.'),
      id: z.string().optional().describe('Exact variant that resources.gpu.type may name.'),
      memory: zQuantity({ description: 'Memory of one accelerator.' }).optional(),
    })
    .optional()
    .describe('The accelerator; absent for CPU.'),
  category: z.enum(['GPU', 'CPU']).optional().describe('What the capacity is for.'),
  count: z.int().optional().describe('Accelerators per host; 0 for CPU.'),
  host: z
    .object({
      cpu: zQuantity({ description: 'Cores.' }).optional(),
      disk: zQuantity({ description: 'Disk.' }).optional(),
      memory: zQuantity({ description: 'Memory.' }).optional(),
    })
    .optional()
    .describe('What one host has.'),
  interconnect: z.string().optional().describe('Between the accelerators of a host, such as NVLink.'),
  interruptible: z.boolean().optional().describe('Whether the capacity can be interrupted.'),
  multiNode: z.boolean().optional().describe('Whether several hosts can form a gang.'),
  regionClass: z.string().optional().describe('Region class.'),
  supports: z
    .object({
      gangs: z.boolean().optional().describe('Jobs of several nodes.'),
      jobs: z.boolean().optional().describe('Jobs.'),
      restrictedEgress: z.boolean().optional().describe('Network policies other than Open.'),
      sandboxes: z.boolean().optional().describe('Sandboxes.'),
      workspaces: z.boolean().optional().describe('Workspaces.'),
    })
    .optional()
    .describe('What may run on it.'),
});

export const offeringStatus = z.object({
  availability: z.enum(['Available', 'Limited', 'Unavailable']).optional().describe('Availability now.'),
  availableNow: z.int().optional().describe('Hosts available now.'),
  conditions: z.array(conditionField).optional().describe('Available; False with reason NoCapacity.'),
  interruptionRatePerHour: z.number().optional().describe('Interruptions per hour of use.'),
  listPriceUSDPerHour: zUsd({ description: 'Price of an hour.' }).optional(),
  observedTime: zTimestamp('When availability and price were observed.').optional(),
  priceUSDPerHour: z
    .object({
      from: zUsd({ description: 'Lowest.' }).optional(),
      typical: zUsd({ description: 'Typical price.' }).optional(),
    })
    .optional()
    .describe('Live price of an hour.'),
  startup: z
    .object({
      p50: zDuration({ description: 'Median.' }).optional(),
      p90: zDuration({ description: '90th percentile.' }).optional(),
    })
    .optional()
    .describe('How long a start takes.'),
});

export type OfferingSpec = z.infer<typeof offeringSpec>;
export type OfferingStatus = z.infer<typeof offeringStatus>;
