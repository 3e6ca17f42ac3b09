/**
 * What work asks of machines: amounts, gangs of nodes that start and restart together (beta), and placement. An amount has two readings:
 * the limit that the work runs under, and the floor that a Node counts. Source: spec, "Conventions" 9, 10 and 14; decisions, "Small points".
 */
import { z } from 'zod';
import { parseDuration } from '../../api/duration.js';
import { parseBytes, parseMilliCpu } from '../../api/quantity.js';
import { zBytes, zCpu, zDuration, zUsd } from '../../api/schema.js';
import type { ResourceAmounts } from '../amounts.js';
import { MOST_NAMES } from './bounds.js';
import { objectName } from './names.js';
import { addIssue } from './rules.js';

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

/** Nothing runs in less, and `100m` is a tenth of a byte: `100Mi` was meant. Zero is as good as unset. */
const LEAST = { min: '1Mi', orZero: true } as const;

export const resources = z.object({
  cpu: zCpu().optional().describe('CPU cores, such as 500m or 2. Unset: a limit of 1.'),
  memory: zBytes(LEAST)
    .optional()
    .describe('Memory, with which the number of processes grows. Unset: a limit of 512Mi.'),
  disk: zBytes(LEAST).optional().describe('Disk for the writable files. Unset: a limit of 10Gi.'),
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

const SIZE = 'exactly one of nodes and totalGPUs must be given';

/** A gang of nodes. */
export const distributed = z.object({
  gpusPerNode: z.literal([1, 2, 4, 8]).optional().describe('Equals resources.gpu.count when both are set.'),
  launcher: z
    .enum(['Plain', 'Torchrun', 'Ray', 'Verl', 'Accelerate', 'Deepspeed'])
    .optional()
    .describe('Launcher of the ranks.'),
  maxAssemblyRetries: z.int32().min(0).max(5).optional().describe('Retries of assembling the gang; 2 when unset.'),
  network: z.enum(['Colocated', 'Regional', 'Global']).optional().describe('How close together the nodes must be.'),
  nodes: z
    .int32()
    .min(2)
    .max(16)
    .optional()
    .describe(
      'Number of nodes, at most 8 during the beta. Exactly one of nodes and totalGPUs; resources.nodes is its short form.',
    ),
  startupTimeout: zDuration({
    min: '5m',
    max: '60m',
    description: 'Time limit for assembling the gang; 15m when unset.',
  }).optional(),
  totalGPUs: z
    .int32()
    .min(2)
    .max(64)
    .optional()
    .describe('GPUs of all nodes; resolved into status.topology at admission.'),
  transport: z.enum(['Direct', 'Auto']).optional().describe('Auto allows relayed paths.'),
});

export type Distributed = z.infer<typeof distributed>;

/** What of a spec says how large a gang is. */
interface Sized {
  readonly distributed?: Distributed | undefined;
  readonly resources?: Resources | undefined;
}

/** `at` is where the spec stands. */
export function checkGang(spec: Sized, at: readonly (string | number)[], issues: z.core.ParsePayload['issues']): void {
  const { distributed: gang, resources: wanted } = spec;
  if (gang === undefined) return;
  const path = [...at, 'distributed'];
  const gpus = wanted?.gpu?.count;
  if (gpus !== undefined && gang.gpusPerNode !== undefined && gpus !== gang.gpusPerNode) {
    addIssue(issues, [...path, 'gpusPerNode'], 'must equal resources.gpu.count', 'FieldValueInvalid', gang.gpusPerNode);
  }
  const shorthand = (wanted?.nodes ?? 0) > 1 ? wanted?.nodes : undefined;
  if (gang.nodes !== undefined && shorthand !== undefined && gang.nodes !== shorthand) {
    addIssue(issues, [...path, 'nodes'], 'must equal resources.nodes, its short form', 'FieldValueInvalid', gang.nodes);
  }
  if ((gang.nodes ?? shorthand) === undefined && gang.totalGPUs === undefined) {
    addIssue(issues, [...path, 'nodes'], SIZE, 'FieldValueRequired');
  } else if ((gang.nodes ?? shorthand) !== undefined && gang.totalGPUs !== undefined) {
    addIssue(issues, [...path, 'nodes'], SIZE, 'FieldValueForbidden');
  }
}

/** Waits for a place this long when nothing is said. */
const DEFAULT_QUEUE_TIMEOUT = '24h';

export const regionClass = z
  .string()
  .max(63)
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'must be a region class, for example eu-central')
  .meta({ example: 'eu-central' });

export const placement = z.object({
  dedicated: z.literal(true).optional().describe('Reserved; only true is accepted.'),
  interruptible: z
    .enum(['Never', 'Allow', 'Prefer'])
    .optional()
    .describe('Whether interruptible capacity may be used.'),
  maxRateUSDPerHour: zUsd({
    description: 'Highest accepted hourly rate of one Attempt; work whose rate is above it is refused.',
  }).optional(),
  offerings: z
    .array(objectName('Name of an Offering.'))
    .max(MOST_NAMES)
    .optional()
    .describe('Only these Offerings; any when empty.'),
  pool: objectName('Name of a Pool in the project.').optional(),
  profile: z.enum(['Balanced', 'Cost', 'Speed']).optional().describe('Placement objective.'),
  queueTimeout: zDuration({
    description:
      'Longest wait for capacity, 24h when unset; 0s waits without limit. On expiry the work fails with CapacityUnavailable.',
  }).optional(),
  regions: z.array(regionClass).max(MOST_NAMES).optional().describe('Region classes; empty means any.'),
});

export type Placement = z.infer<typeof placement>;

/** Undefined: waits for ever (`0s`). */
export function queueTimeoutMs(placed: Placement | undefined): number | undefined {
  return parseDuration(placed?.queueTimeout ?? DEFAULT_QUEUE_TIMEOUT) || undefined;
}

/** Why work fails whose wait for a place was too long. */
export function noPlace(placed: Placement | undefined): { readonly reason: string; readonly message: string } {
  const limit = placed?.queueTimeout ?? DEFAULT_QUEUE_TIMEOUT;
  return {
    reason: 'CapacityUnavailable',
    message: `no capacity became available within placement.queueTimeout ${limit}`,
  };
}
