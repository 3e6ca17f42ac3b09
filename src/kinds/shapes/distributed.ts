/** Owns gangs of nodes that start and restart together (beta). Source: spec, "Conventions" 14. */
import { z } from 'zod';
import { zDuration } from '../../api/schema.js';

export const distributed = z
  .object({
    gpusPerNode: z.literal([1, 2, 4, 8]).optional().describe('Equals resources.gpu.count when both are set.'),
    launcher: z
      .enum(['Plain', 'Torchrun', 'Ray', 'Verl', 'Accelerate', 'Deepspeed'])
      .optional()
      .describe('What starts the ranks.'),
    maxAssemblyRetries: z.int32().min(0).max(5).optional().describe('2 when unset.'),
    network: z.enum(['Colocated', 'Regional', 'Global']).optional().describe('How near the nodes must be.'),
    nodes: z.int32().min(2).max(16).optional().describe('Number of nodes; exactly one of nodes and totalGPUs.'),
    startupTimeout: zDuration({ min: '5m', max: '60m' }).optional().describe('15m when unset.'),
    totalGPUs: z
      .int32()
      .min(2)
      .max(64)
      .optional()
      .describe('GPUs of all nodes; resolved into status.topology at admission.'),
    transport: z.enum(['Direct', 'Auto']).optional().describe('Auto allows relayed paths.'),
  })
  .refine((gang) => (gang.nodes === undefined) !== (gang.totalGPUs === undefined), {
    path: ['nodes'],
    message: 'exactly one of nodes and totalGPUs must be given',
  });

export type Distributed = z.infer<typeof distributed>;
