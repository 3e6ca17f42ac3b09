/**
 * Owns what work asks of a machine, and its two readings: the limits that it runs under and the floors that a Node counts.
 * Source: spec, "Conventions" 9; decisions, "Small points".
 */
import { z } from 'zod';
import { zBytes, zCpu } from '../../api/schema.js';
import { parseBytes, parseMilliCpu } from '../../api/quantity.js';
import type { ResourceAmounts } from '../amounts.js';

const MI = 2 ** 20;

const accelerator = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    'must be an accelerator id or family of at most 63 letters, digits, dots, underscores or hyphens, for example h100',
  )
  .meta({ example: 'h100' });

export const gpu = z.object({
  count: z.literal([1, 2, 4, 8]).optional().describe('GPUs per node.'),
  exact: z.boolean().optional().describe('Pin the exact variant rather than the family.'),
  interconnect: z.enum(['Any', 'NVLink']).optional().describe('How the GPUs of a node are connected.'),
  minMemory: zBytes().optional().describe('Least memory of each GPU.'),
  type: z
    .array(accelerator)
    .min(1)
    .max(8)
    .nullable()
    .optional()
    .describe('Accelerator ids or families; a family matches any of its variants.'),
});

export const resources = z.object({
  cpu: zCpu().optional().describe('CPU cores, such as 500m or 2. Unset: a limit of 1.'),
  memory: zBytes().optional().describe('Memory. Unset: a limit of 512Mi.'),
  disk: zBytes().optional().describe('Disk for the writable files. Unset: a limit of 10Gi.'),
  nodes: z
    .int32()
    .min(0)
    .max(16)
    .optional()
    .describe('Number of nodes. Above 1 it is a short form of distributed.nodes.'),
  gpu: gpu.optional().describe('GPUs.'),
});

export type Resources = z.infer<typeof resources>;

/** Limits of work that names none. */
const DEFAULT_LIMITS: ResourceAmounts = { milliCpu: 1000, memory: 512 * MI, disk: 10 * 1024 * MI };

/**
 * What a Node sets aside for an amount that the client left unset. Small on purpose: most programs stay far below the
 * default limits, and counting those in full would let two cores run two Attempts. A stated amount counts in full.
 */
const UNSTATED_FLOOR: ResourceAmounts = { milliCpu: 25, memory: 32 * MI, disk: 64 * MI };

/** What the work may use: stated amounts, else the defaults. */
export function limitsOf(stated: Resources | undefined): ResourceAmounts {
  return amounts(stated, DEFAULT_LIMITS);
}

/** What a Node counts for the work. */
export function floorsOf(stated: Resources | undefined): ResourceAmounts {
  return amounts(stated, UNSTATED_FLOOR);
}

function amounts(stated: Resources | undefined, unset: ResourceAmounts): ResourceAmounts {
  // A zero is as good as unset: work cannot run under a limit of nothing.
  return {
    milliCpu: (stated?.cpu === undefined ? 0 : parseMilliCpu(stated.cpu)) || unset.milliCpu,
    memory: (stated?.memory === undefined ? 0 : parseBytes(stated.memory)) || unset.memory,
    disk: (stated?.disk === undefined ? 0 : parseBytes(stated.disk)) || unset.disk,
  };
}
