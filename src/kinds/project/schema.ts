/** The fields of a project, which is a core Namespace, so that kubectl knows it. */
import { z } from 'zod';
import { conditionField } from '../shapes/status.js';

export const namespaceSpec = z.object({});

export const namespaceStatus = z.object({
  phase: z.enum(['Active', 'Terminating']).optional().describe('Terminating: what is in it is being deleted.'),
  conditions: z
    .array(conditionField)
    .optional()
    .describe('ContentRemaining: what a project under deletion still holds.'),
});

export type NamespaceSpec = z.infer<typeof namespaceSpec>;
export type NamespaceStatus = z.infer<typeof namespaceStatus>;
