/** Owns gangs of nodes that start and restart together (beta). Source: spec, "Conventions" 14. */
import { z } from 'zod';
import { zDuration } from '../../api/schema.js';
import { addIssue } from './rules.js';
import type { Resources } from './resources.js';

const SIZE = 'exactly one of nodes and totalGPUs must be given';

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
  startupTimeout: zDuration({ min: '5m', max: '60m' })
    .optional()
    .describe('Time limit for assembling the gang; 15m when unset.'),
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
