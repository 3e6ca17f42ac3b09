/** Owns the mount of a whole Secret. A bare name is accepted on write. Source: spec, "Conventions" 8. */
import { z } from 'zod';
import { objectName } from './object-name.js';

const full = z.object({
  name: objectName('Name of a Secret in the project.'),
  version: z.int32().min(1).optional().describe('Version of the Secret; unset pins the newest one at admission.'),
});

/** As written: the object, or a bare name, which is stored as the object. */
export const secretMount = z.preprocess((value) => (typeof value === 'string' ? { name: value } : value), full);

export type SecretMount = z.infer<typeof full>;
