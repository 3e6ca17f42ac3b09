/** Owns the fields with which nearly every status explains itself; spread into its object. Source: spec, "Versioning" 4. */
import { z } from 'zod';

export const statusReason = {
  message: z.string().optional().describe('Human-readable explanation of the phase.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  reason: z.string().optional().describe('Reason for the phase, one CamelCase word.'),
};
