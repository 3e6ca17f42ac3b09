/**
 * Programs of a spec: command lines, environments, init commands, sidecars and mounted Secrets, what becomes of them in a work plan, and
 * which of them the check for plain-text Secrets reads. Source: spec, "Job spec", "Conventions" 7, 8 and 15.
 */
import { z } from 'zod';
import { checkLabelName } from '../../api/names.js';
import { zDuration } from '../../api/schema.js';
import { ENV_PREFIX } from '../../brand.js';
import type { PlaintextSecretCheck } from '../kind.js';
import { isSecretKey } from '../secret/schema.js';
import type { PlannedEnv } from '../work.js';
import { MOST_ARGUMENTS, MOST_ENV, MOST_SIDECARS } from './bounds.js';
import { imageName } from './images.js';
import { objectName } from './names.js';
import { addIssue, rules } from './rules.js';

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const SAY_VARIABLE = 'must be letters, digits and underscores, and must not begin with a digit, for example LOG_LEVEL';

/** A name that every shell takes. */
export const variableName = z.string().regex(VARIABLE, SAY_VARIABLE);

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

/** An object that was stored without it keeps the name of its variable (`planEnv`), so the type stays as it was. */
function requireKey({ key }: { readonly key?: string | undefined }, issues: z.core.ParsePayload['issues']): void {
  if (key === undefined) addIssue(issues, ['key'], 'must name a key of the Secret', 'FieldValueRequired');
}

/** Neither an environment nor an argument can carry one: the kernel ends the text there. */
export function hasNoNul(text: string): boolean {
  return !text.includes('\0');
}

/** One word of a command line. */
export const argument = z.string().refine(hasNoNul, 'must not contain a NUL character');

/** What follows the words of a command. */
export const argumentList = z
  .array(argument, 'must be a list of strings, for example ["--port", "8080"]')
  .max(MOST_ARGUMENTS);

/** A whole command line: its first word is the program. */
export const commandLine = z
  .array(argument, 'must be a list of strings, for example ["sh", "-c", "echo hello"]')
  .min(1, 'must name a program, for example ["sh", "-c", "echo hello"]')
  .max(MOST_ARGUMENTS)
  .refine((words) => words[0] !== '', { path: [0], message: 'must be the name or path of a program' });

/** A command that runs to its end before the program starts. */
export const initCommand = z.object({
  command: commandLine.describe('Program and arguments.'),
  timeout: zDuration({ max: '30m', description: 'Time limit; 30m when unset.' }).optional(),
});

export type InitCommand = z.infer<typeof initCommand>;

/** Names of the processes that the service itself starts; logs are asked for by these names. */
const TAKEN = new Set(['main', 'init', 'system', 'network']);

/** A program that runs beside the main one. */
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
  startupTimeout: zDuration({ description: 'Time limit for its start.' }).optional(),
});

export const sidecars = z.array(sidecar).max(MOST_SIDECARS);

export type Sidecar = z.infer<typeof sidecar>;

const full = z.object({
  name: objectName('Name of a Secret in the project.'),
  version: z.int32().min(1).optional().describe('Version of the Secret; unset pins the newest one at admission.'),
});

/** The mount of a whole Secret, as written: the object, or a bare name, which is stored as the object. */
export const secretMount = z.preprocess((value) => (typeof value === 'string' ? { name: value } : value), full);

export type SecretMount = z.infer<typeof full>;

/** The service's variables stand first, so that the client's can refer to them by `$(NAME)`, and last, so that none of these hides them. */
export function withPlainEnv(
  standing: readonly PlannedEnv[],
  env: readonly EnvVar[] | undefined,
): readonly PlannedEnv[] {
  return env === undefined || env.length === 0 ? standing : [...standing, ...env.map(planEnv), ...standing];
}

function planEnv(variable: EnvVar): PlannedEnv {
  const ref = variable.valueFrom?.secretKeyRef;
  if (ref === undefined) return { name: variable.name, value: variable.value ?? '' };
  return { name: variable.name, fromSecret: { name: ref.name, key: ref.key ?? variable.name } };
}

export interface WithEnv {
  readonly env?: readonly EnvVar[] | null | undefined;
  readonly secrets?: readonly SecretMount[] | null | undefined;
  readonly sidecars?: readonly { readonly env?: readonly EnvVar[] | null | undefined }[] | null | undefined;
}

/** `at` is where the spec stands: `spec`, or `spec.template.spec`. */
export function plaintextSecretCheckOf(spec: WithEnv, at = 'spec'): PlaintextSecretCheck {
  const lists = [
    { env: spec.env ?? [], path: `${at}.env` },
    ...(spec.sidecars ?? []).map(({ env }, index) => ({ env: env ?? [], path: `${at}.sidecars[${index}].env` })),
  ];
  return {
    texts: lists.flatMap(({ env, path }) =>
      env.flatMap(({ value }, index) =>
        value === undefined || value === '' ? [] : [{ field: `${path}[${index}].value`, text: value }],
      ),
    ),
    secrets: [
      ...(spec.secrets ?? []).map(({ name, version }) => ({ name, version })),
      ...lists.flatMap(({ env }) =>
        env.flatMap(({ valueFrom }) => {
          const name = valueFrom?.secretKeyRef?.name;
          return name === undefined ? [] : [{ name, version: undefined }];
        }),
      ),
    ],
  };
}
