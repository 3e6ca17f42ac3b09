/** Owns one environment variable of work. Source: spec, "Conventions" 7. */
import { z } from 'zod';
import { ENV_PREFIX } from '../../brand.js';
import { MOST_ENV } from './sizes.js';

export const envVar = z
  .object({
    name: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must match ^[A-Za-z_][A-Za-z0-9_]*$')
      .max(1024)
      .refine((name) => !name.startsWith(ENV_PREFIX), `the prefix ${ENV_PREFIX} is reserved for the service`)
      .describe(`Name of the variable. The prefix ${ENV_PREFIX} is reserved for variables that the service sets.`),
    value: z.string().refine(hasNoNul, 'must not contain a NUL character').optional().describe('The value.'),
    valueFrom: z
      .object({
        secretKeyRef: z
          .object({
            name: z.string().min(1).describe('Name of a Secret in the project.'),
            key: z.string().min(1).optional().describe("Key in the Secret; the variable's own name when unset."),
          })
          .describe('A key of a Secret.'),
      })
      .optional()
      .describe('Where the value is taken from when an Attempt starts.'),
  })
  .refine((variable) => variable.value === undefined || variable.valueFrom === undefined, {
    path: ['valueFrom'],
    message: 'may not be specified when `value` is given',
  });

/** The environment of a program. */
export const environment = z.array(envVar).max(MOST_ENV);

export type EnvVar = z.infer<typeof envVar>;

/** Neither an environment nor an argument can carry one: the kernel ends the text there. */
export function hasNoNul(text: string): boolean {
  return !text.includes('\0');
}
