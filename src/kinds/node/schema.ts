/** The fields of a Node: one machine that runs work. Source: decisions, "Kinds not detailed". */
import { z } from 'zod';
import { zQuantity, zTimestamp } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';
import { labels, objectName } from '../shapes/names.js';

export const nodeSpec = z.object({
  unschedulable: z
    .boolean()
    .optional()
    .describe('No new Attempt gets a place; those that have one go on. `kubectl patch` it to drain a machine.'),
  labels: labels.optional().describe('What Pools select by.'),
  pool: objectName('Name of the Pool that the machine belongs to.').optional(),
});

export type NodeSpec = z.infer<typeof nodeSpec>;

const amounts = z.object({
  cpu: zQuantity({ description: 'Cores.' }).optional(),
  memory: zQuantity({ description: 'Memory.' }).optional(),
  disk: zQuantity({ description: 'Disk.' }).optional(),
  attempts: z.int().optional().describe('Attempts at the same time.'),
});

export const nodeStatus = z.object({
  addresses: z.array(z.string()).optional().describe('Addresses of the machine.'),
  capacity: amounts.optional().describe('What the machine has for work.'),
  allocatable: amounts.optional().describe('What may be promised of it.'),
  allocated: amounts.optional().describe('What is promised now; renewed every few seconds while something changes.'),
  waiting: z.int().optional().describe('Attempts in the queue.'),
  agentVersion: z.string().optional().describe('Version of the agent on it.'),
  lastHeartbeatTime: zTimestamp('When the agent was last heard of.').optional(),
  conditions: z
    .array(conditionField)
    .optional()
    .describe('Ready: it runs work. DiskPressure: nothing new begins on it, since its disk is nearly full.'),
  phase: z
    .enum(['Ready', 'NotReady', 'Cordoned', 'Lost'])
    .optional()
    .describe('Cordoned: no new Attempt gets a place. Lost: what ran on it is replaced.'),
});

export type NodeStatus = z.infer<typeof nodeStatus>;
export type NodeAmounts = z.infer<typeof amounts>;
