/**
 * The spec of a Job: every field of the interface with its limits, and which fields may change after create.
 * What of it this service does not carry out yet is in `index.ts`; amounts and defaults are read in `plan.ts` and `ended.ts`.
 * Source: spec, "Job spec"; decisions, "Small points".
 */
import { z } from 'zod';
import { zAbsolutePath, zDuration, zTimestamp, zUsd } from '../../api/schema.js';
import { BRAND } from '../../brand.js';
import { DEFAULT_IMAGE, isCatalogImage } from '../image/catalog.js';
import { MOST_CONNECTIONS, MOST_INPUTS, MOST_VOLUMES } from '../shapes/bounds.js';
import { input, output, volumeMount } from '../shapes/files.js';
import { imageName } from '../shapes/images.js';
import { objectName } from '../shapes/names.js';
import { network } from '../shapes/network.js';
import {
  addIssueOfServiceNames,
  argumentList,
  commandLine,
  environment,
  initCommand,
  secretMount,
  sidecars,
} from '../shapes/program.js';
import { recovery } from '../shapes/recovery.js';
import { checkGang, distributed, placement, resources } from '../shapes/resources.js';
import { addIssue, rules } from '../shapes/rules.js';
import { source } from '../shapes/sources.js';

export const MAX_PARALLELISM = 256;
export const DEFAULT_BACKOFF_LIMIT = 6;

const MAX_INT32 = 2 ** 31 - 1;

export const jobFields = z.object({
  activeDeadlineSeconds: z
    .int()
    .min(1)
    .max(MAX_INT32)
    .optional()
    .describe('Alias of timeout, in seconds; folded into it.'),
  args: argumentList.optional().describe('Arguments, after those of command.'),
  backoffLimit: z
    .int32()
    .min(0)
    .max(100)
    .default(DEFAULT_BACKOFF_LIMIT)
    .describe('Failures of the work, such as non-zero exits, over all indexes before the Job fails. Mutable.'),
  command: commandLine
    .optional()
    .describe('Program and arguments. `$(NAME)` stands for a variable of the environment, `$$(NAME)` for itself.'),
  completeByTime: zTimestamp().optional().describe('Finish-by hint; never stops the Job.'),
  completions: z.int32().min(1).max(10_000).default(1).describe('Indexes that must succeed.'),
  connections: z
    .array(objectName('Name of a Connection in the project.'))
    .max(MOST_CONNECTIONS)
    .optional()
    .describe('Connections that the work may use.'),
  distributed: distributed.optional().describe('A gang of nodes (beta).'),
  env: environment.optional().describe('Environment of the program.'),
  expectedDuration: zDuration({ description: 'How long one index is expected to run.' }).optional(),
  image: imageName.default(DEFAULT_IMAGE).describe('Image that the program runs in.'),
  imagePullSecrets: z
    .array(objectName('Name of a Secret of type Registry.'))
    .max(4)
    .optional()
    .describe('Credentials of registries.'),
  imageRef: objectName('Name of an Image object in the project.').optional(),
  initCommand: initCommand.optional().describe('Runs to its end before the program; a failure fails the Attempt.'),
  inputs: z.array(input).max(MOST_INPUTS).optional().describe('Mounted read-only below /svc/inputs.'),
  maxCostUSD: zUsd({ description: 'Cost cap of the Job. Can only be raised.' }).optional(),
  network: network.optional().describe('What the work may reach. Unset: the policy Open.'),
  outputs: z.array(output).max(32).optional().describe('Collected when the program has ended.'),
  parallelism: z
    .int32()
    .min(1)
    .max(MAX_PARALLELISM)
    .default(1)
    .describe(
      'Indexes that run at the same time; at most completions. Mutable: when lowered, running indexes run to their end.',
    ),
  placement: placement.optional().describe('Placement constraints.'),
  recovery: recovery.optional().describe('How lost capacity is recovered.'),
  resources: resources.optional().describe('Resources of each Attempt.'),
  scaledownWindow: zDuration({ max: '20m', description: 'Warm reuse after the Job ends.' }).optional(),
  secrets: z
    .array(secretMount)
    .max(32)
    .optional()
    .describe('Mounted whole: each key as an environment variable and as a file below /run/secrets.'),
  serviceAccountName: objectName('Name of a ServiceAccount in the project: the identity of the work.').optional(),
  sidecars: sidecars.optional().describe('Programs that run beside the main one.'),
  source: source.optional().describe('Source code, unpacked before the start.'),
  state: z
    .enum(['Running', 'Suspended', 'Cancelled'])
    .default('Running')
    .describe('Suspended stops the work and keeps what has succeeded; Cancelled stops the Job for good. Mutable.'),
  timeout: zDuration({
    min: '1ms',
    description:
      'From the first Provisioning, without Suspended time; then the Job fails with DeadlineExceeded. Mutable.',
  }).optional(),
  ttlSecondsAfterFinished: z
    .int()
    .min(0)
    .max(MAX_INT32)
    .optional()
    .describe('Seconds after its end until the Job is deleted with its Attempts and outputs. Mutable.'),
  volumes: z.array(volumeMount).max(MOST_VOLUMES).optional().describe('Volumes.'),
  workingDir: zAbsolutePath().optional().describe('Working directory of the program; /workspace when unset.'),
});

export const jobSpec = jobFields.check(
  rules(({ value, issues }) => {
    if (sizeOf(value) > MOST_SPEC_BYTES)
      addIssue(issues, [], `must be at most ${MOST_SPEC_BYTES} bytes as JSON`, TOO_LONG);
    checkJob(value, 'Job', issues, []);
  }),
);

/** A Job's spec in parts: each field by its own rule, none of them needed, nothing filled in. */
export const jobParts: z.ZodType<JobParts> = z.object(withoutDefaults(jobFields.shape));

export type JobSpec = z.infer<typeof jobFields>;

export type JobParts = Partial<JobSpec>;

/** All fields that the spec does not call mutable. */
export const JOB_IMMUTABLE: readonly string[] = [
  'args',
  'command',
  'completeByTime',
  'completions',
  'connections',
  'distributed',
  'env',
  'expectedDuration',
  'image',
  'imagePullSecrets',
  'imageRef',
  'initCommand',
  'inputs',
  'network',
  'outputs',
  'placement',
  'recovery.checkpoint.format',
  'recovery.checkpoint.integration',
  'recovery.checkpoint.maxSize',
  'recovery.checkpoint.paths',
  'recovery.continuity',
  'recovery.minProgressDuration',
  'recovery.onInterruption',
  'resources',
  'scaledownWindow',
  'secrets',
  'serviceAccountName',
  'sidecars',
  'source',
  'volumes',
  'workingDir',
].map((path) => `spec.${path}`);

export const JOB_RAISE_ONLY: readonly string[] = ['spec.maxCostUSD'];

/** Set for each index, under the name that Kubernetes gives it. */
export const COMPLETION_INDEX = 'JOB_COMPLETION_INDEX';

/**
 * Bytes of a spec as JSON. A Job may start 256 Attempts, and a Sweep or Pipeline 256 Jobs, at the same time, each with all of it. Linux
 * itself takes no argument of more than 128 KiB.
 */
export const MOST_SPEC_BYTES = 256 * 1024;
export const TOO_LONG = 'FieldValueTooLong';

export function sizeOf(part: JobParts): number {
  return Buffer.byteLength(JSON.stringify(part));
}

/** The rules over several fields. In a Pipeline's stage an input may be an output of an earlier stage. */
export function checkJob(
  spec: Ruled,
  where: 'Job' | 'Stage',
  issues: z.core.ParsePayload['issues'],
  at: readonly (string | number)[],
): void {
  const complain = (
    path: (string | number)[],
    message: string,
    reason = 'FieldValueInvalid',
    value?: unknown,
  ): void => {
    issues.push({ code: 'custom', message, input: value, path: [...at, ...path], params: { reason }, continue: true });
  };
  if (spec.completions >= 1 && spec.parallelism > spec.completions) {
    complain(['parallelism'], 'must be at most completions', 'FieldValueInvalid', spec.parallelism);
  }
  if ((spec.command ?? []).length + (spec.args ?? []).length === 0) {
    complain(['command'], 'must name a program', 'FieldValueRequired');
  }
  if (spec.image.startsWith(`${BRAND}/`) && !isCatalogImage(spec.image)) {
    complain(['image'], 'is not in the catalog', 'ImageNotFound', spec.image);
  }
  const complainOfSameNames = (list: string, items: readonly { readonly name: string }[] | undefined): void => {
    // Most lists have one item or none: nothing is built for them.
    if (items === undefined || items.length < 2) return;
    const seen = new Set<string>();
    for (const [index, { name }] of items.entries()) {
      if (seen.has(name)) complain([list, index, 'name'], 'must be unique', 'FieldValueDuplicate', name);
      seen.add(name);
    }
  };
  complainOfSameNames('inputs', spec.inputs);
  complainOfSameNames('outputs', spec.outputs);
  complainOfSameNames('secrets', spec.secrets);
  complainOfSameNames('sidecars', spec.sidecars);
  for (const [index, item] of (where === 'Job' ? (spec.inputs ?? []) : []).entries()) {
    if (item.fromStage !== undefined) {
      complain(['inputs', index, 'fromStage'], 'is for stages of a Pipeline only', 'FieldValueForbidden');
    }
  }
  addIssueOfServiceNames(issues, [...at, 'env'], spec.env, COMPLETION_INDEX);
  for (const [index, { env }] of (spec.sidecars ?? []).entries()) {
    addIssueOfServiceNames(issues, [...at, 'sidecars', index, 'env'], env, COMPLETION_INDEX);
  }
  checkGang(spec, at, issues);
}

/** What a Job has where nothing is written. */
export const UNSAID = jobFields.parse({});

/** What the rules over several fields look at. */
export type Ruled = Pick<
  JobSpec,
  | 'args'
  | 'command'
  | 'completions'
  | 'distributed'
  | 'env'
  | 'image'
  | 'inputs'
  | 'outputs'
  | 'parallelism'
  | 'resources'
  | 'secrets'
  | 'sidecars'
>;

/** What is written in a part must not be hidden by a default of the part that it is laid over. */
function withoutDefaults(shape: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  const parts = Object.entries(shape).map(([key, field]): [string, z.ZodType] => {
    if (!(field instanceof z.ZodDefault)) return [key, field];
    const { description } = field;
    const bare = (field.unwrap() as z.ZodType).optional();
    return [key, description === undefined ? bare : bare.describe(description)];
  });
  return Object.fromEntries(parts);
}
