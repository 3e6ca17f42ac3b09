/** Owns the mount of a Volume. Source: spec, "Conventions" 16. */
import { z } from 'zod';
import { objectName } from './object-name.js';
import { mountPath } from './paths.js';

export const volumeMount = z
  .object({
    volume: objectName('Name of a Volume in the project.'),
    mountPath: mountPath.describe('Absolute; system paths are refused.'),
    readOnly: z.boolean().optional().describe('Mount without the right to write.'),
    revision: z.string().min(1).optional().describe('An exact revision; only with readOnly.'),
  })
  .refine((mount) => mount.revision === undefined || mount.readOnly === true, {
    path: ['revision'],
    message: 'may only be set together with readOnly: true',
  });

export type VolumeMount = z.infer<typeof volumeMount>;
