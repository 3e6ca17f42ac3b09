/** Owns the zod building blocks that several kinds share beyond the value formats of `src/api/schema.ts`. */
import { z } from 'zod';
import { zName, zTimestamp } from '../api/schema.js';

/** `status.conditions[]`. Source: spec, "Conventions" 4. */
export const conditionField = z.object({
  type: z.string().describe('Type of the condition; one condition for each type.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
  lastTransitionTime: zTimestamp('When the status last changed.'),
  reason: z.string().describe('Reason, one CamelCase word.'),
  message: z.string().describe('Human-readable explanation.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that it was found at.'),
});

export const projectNameField = zName({ form: 'label', description: 'Name of a project.' });

/** Projects that something is held to. */
export const projectsField = z.array(projectNameField).max(256).nullable().optional();
