/** Owns programs that run beside the main one. Source: spec, "Conventions" 15. */
import { z } from 'zod';
import { zDuration } from '../../api/schema.js';
import { checkLabelName } from '../../api/names.js';
import { commandLine } from './argument.js';
import { environment } from './env-var.js';
import { imageName } from './image-name.js';
import { MOST_SIDECARS } from './sizes.js';

/** Names of the processes that the service itself starts; logs are asked for by these names. */
const TAKEN = new Set(['main', 'init', 'system', 'network']);

export const sidecar = z.object({
  name: z
    .string()
    .refine((name) => checkLabelName(name) === undefined, 'must be a DNS label of at most 63 characters')
    .refine(
      (name) => !TAKEN.has(name),
      "must not be main, init, system or network, which are names of the service's own processes",
    )
    .describe('Unique in the Job; also names its log.'),
  command: commandLine.describe('Program and arguments.'),
  env: environment.optional().describe("Its environment, beside the service's own variables."),
  image: imageName.optional().describe("The Job's image when unset."),
  startupTimeout: zDuration().optional().describe('Time limit for its start.'),
});

export const sidecars = z.array(sidecar).max(MOST_SIDECARS);

export type Sidecar = z.infer<typeof sidecar>;
