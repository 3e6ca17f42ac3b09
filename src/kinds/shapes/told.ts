/** Owns the fields with which nearly every status explains itself; spread into its object. Source: spec, "Versioning" 4. */
import { z } from 'zod';

export const told = {
  message: z.string().optional().describe('Why it is in this phase, for people.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  reason: z.string().optional().describe('Why it is in this phase, as one word.'),
};
