/** Owns one environment variable of work. Source: spec, "Conventions" 7. */
import { z } from 'zod';
import { ENV_PREFIX } from '../../brand.js';
import { isSecretKey } from '../secret/schema.js';
import { addIssue, rules } from './rules.js';
import { objectName } from './object-name.js';
import { MOST_ENV } from './sizes.js';

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const SAY_NAME = 'must be letters, digits and underscores, and must not begin with a digit, for example LOG_LEVEL';

/** A name that every shell takes. */
export const variableName = z.string().regex(NAME, SAY_NAME);

/** The same, for variables of a spec: the service's own are not taken. */
export const ownVariableName = variableName.refine(
  (name) => !name.startsWith(ENV_PREFIX),
  `must not begin with ${ENV_PREFIX}, which is reserved for variables that the service sets`,
);

export const envVar = z
  .object({
    name: ownVariableName
      .max(1024)
      .describe(`Name of the variable. The prefix ${ENV_PREFIX} is reserved for variables that the service sets.`),
    value: z.string().refine(hasNoNul, 'must not contain a NUL character').optional().describe('The value.'),
    valueFrom: z
      .object({
        secretKeyRef: z
          .object({
            name: objectName('Name of a Secret in the project.'),
            key: z
              .string()
              .refine(isSecretKey, "must consist of alphanumeric characters, '-', '_' or '.', for example password")
              .optional()
              .describe('Key in the Secret. Required on write, which the interface leaves open.'),
          })
          .check(rules(({ value, issues }) => requireKey(value, issues)))
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

/** A name that the service sets itself beside those of its prefix: what a client gave it would have no effect. */
export function addIssueOfServiceNames(
  issues: z.core.ParsePayload['issues'],
  list: readonly (string | number)[],
  env: readonly EnvVar[] | undefined,
  taken: string,
): void {
  for (const [index, { name }] of (env ?? []).entries()) {
    if (name !== taken) continue;
    addIssue(
      issues,
      [...list, index, 'name'],
      'must not be a variable that the service sets',
      'FieldValueInvalid',
      name,
    );
  }
}

/** An object that was stored without it keeps the name of its variable (`planned-env.ts`), so the type stays as it was. */
function requireKey({ key }: { readonly key?: string | undefined }, issues: z.core.ParsePayload['issues']): void {
  if (key === undefined) addIssue(issues, ['key'], 'must name a key of the Secret', 'FieldValueRequired');
}

/** Neither an environment nor an argument can carry one: the kernel ends the text there. */
export function hasNoNul(text: string): boolean {
  return !text.includes('\0');
}
