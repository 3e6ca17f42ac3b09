/** The fields of a Pool, and the part of them that a PoolAction may change (when its work goes to the market). Source: spec, "PoolAction". */
import { z } from 'zod';
import { zDuration, zQuantity, zTimestamp } from '../../api/schema.js';
import { MOST_NAMES } from '../shapes/bounds.js';
import { labelSelector } from '../shapes/names.js';
import { conditionField } from '../shapes/status.js';

const maxGPUs = z.int32().min(0).describe('GPUs of the market that may be used at the same time.');
const toMarket = z.boolean().describe('Work that finds no place in the Pool may go to the market.');
const waitTimeout = zDuration({ description: 'How long work waits for a place in the Pool before it may go.' });

/** As a Pool's spec spells it. */
export const burst = z.object({
  maxGPUs: maxGPUs.optional(),
  toMarket: toMarket.optional(),
  waitTimeout: waitTimeout.optional(),
});

/** As PoolActions spell it, and the Pool's status. */
export const routing = z.object({
  burstMaxGPUs: maxGPUs.optional(),
  burstToMarket: toMarket.optional(),
  waitTimeout: waitTimeout.optional(),
});

export const POOL_MODES = ['Observe', 'Propose', 'Act'] as const;

export const poolSpec = z.object({
  displayName: z.string().max(256).optional().describe('Display name.'),
  selector: labelSelector.optional().describe('Labels of the Nodes that belong to it.'),
  burst: burst.optional().describe('When its work may go to the market.'),
  automation: z
    .object({
      mode: z
        .enum(POOL_MODES)
        .optional()
        .describe(
          'Observe: only watches. Propose: makes PoolActions that a member decides. Act: carries them out itself.',
        ),
      actions: z
        .array(z.string().min(1).max(128))
        .max(MOST_NAMES)
        .optional()
        .describe('Actions that it may take; none named: all.'),
    })
    .optional()
    .describe('What the automation may do.'),
  paused: z.boolean().optional().describe('The automation carries nothing out while it is true.'),
});

const amounts = z.object({
  cpu: zQuantity({ description: 'Cores.' }).optional(),
  memory: zQuantity({ description: 'Memory.' }).optional(),
  disk: zQuantity({ description: 'Disk.' }).optional(),
  gpus: z.record(z.string(), z.int32()).optional().describe('GPUs by model.'),
});

export const poolStatus = z.object({
  nodes: z.int32().optional().describe('Nodes that belong to it.'),
  readyNodes: z.int32().optional().describe('Nodes of it that are Ready.'),
  capacity: amounts.optional().describe('What its Nodes have for work.'),
  allocated: amounts.optional().describe('What is promised now.'),
  conditions: z.array(conditionField).optional().describe('Conditions of the Pool.'),
  phase: z
    .enum(['Pending', 'Ready', 'Degraded'])
    .optional()
    .describe('Pending without Nodes; Degraded when some are not Ready.'),
  routing: routing.optional().describe('The routing that is in force.'),
  forecast: z
    .object({
      time: zTimestamp('When capacity is expected to be short.').optional(),
      shortfallGPUs: z.int32().optional().describe('GPUs that will be missing.'),
      message: z.string().optional().describe('What it is based on.'),
    })
    .optional()
    .describe('What is expected of its capacity.'),
});

export type PoolSpec = z.infer<typeof poolSpec>;
export type PoolStatus = z.infer<typeof poolStatus>;
