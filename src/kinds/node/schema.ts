/** Owns the fields of a Node: one machine that runs work. Source: decisions, "Kinds not detailed". */
import { z } from 'zod';
import { zQuantity, zTimestamp } from '../../api/schema.js';
import { conditionField } from '../fields.js';

export const nodeSpec = z.object({
  unschedulable: z
    .boolean()
    .optional()
    .describe('No new Attempt gets a place; those that have one go on. `kubectl patch` it to drain a machine.'),
  labels: z.record(z.string(), z.string()).optional().describe('What Pools select by.'),
  pool: z.string().min(1).optional().describe('Pool that the machine belongs to.'),
});

export type NodeSpec = z.infer<typeof nodeSpec>;

const amounts = z.object({
  cpu: zQuantity().optional(),
  memory: zQuantity().optional(),
  disk: zQuantity().optional(),
  attempts: z.int().optional().describe('Attempts at the same time.'),
});

export const nodeStatus = z.object({
  addresses: z.array(z.string()).optional(),
  capacity: amounts.optional().describe('What the machine has for work.'),
  allocatable: amounts.optional().describe('What may be promised of it.'),
  allocated: amounts.optional().describe('What is promised now; renewed every few seconds while something changes.'),
  waiting: z.int().optional().describe('Attempts in the queue.'),
  agentVersion: z.string().optional(),
  lastHeartbeatTime: zTimestamp().optional(),
  conditions: z.array(conditionField).optional(),
  phase: z.enum(['Ready', 'NotReady', 'Cordoned', 'Lost']).optional(),
});

export type NodeStatus = z.infer<typeof nodeStatus>;
export type NodeAmounts = z.infer<typeof amounts>;
