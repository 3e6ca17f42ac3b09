/**
 * The fields of a TrainingJob (beta): what is trained or evaluated, by which runtime, on what, and what came of it.
 * Source: spec, "Comparison"; decisions, "Kinds not detailed". Beyond them: `data` is where an input of a Job may come
 * from outside; `overrides` are the fields of a Job that its runtime does not own; like a Job's, the fields that say what
 * is done never change.
 */
import { z } from 'zod';
import { zUsd } from '../../api/schema.js';
import { MODES } from '../environment/schema.js';
import { jobFields } from '../job/schema.js';
import { jobStatus } from '../job/status.js';
import { boundedObject } from '../shapes/bounds.js';
import { catalogName, versionedName } from '../shapes/names.js';
import { checkGang } from '../shapes/resources.js';
import { hubModel } from '../shapes/sources.js';
import { input } from '../shapes/files.js';
import { addIssueOfRepeats, addIssueUnlessOne, rules } from '../shapes/rules.js';
import { METHODS } from '../trainingruntime/schema.js';

const { bucket, output, url, volume } = input.shape;
const data = z
  .object({ bucket, output, url, volume })
  .check(rules(({ value, issues }) => addIssueUnlessOne(issues, [], value, ['bucket', 'output', 'url', 'volume'])));

/** An Environment that a TrainingJob is trained or evaluated on. Source: spec, "Comparison". */
export const environmentBinding = z.object({
  name: versionedName.describe('An Environment of the project, or svc/<name>@<version> for one of the catalog.'),
  heldOutTasks: z.int32().min(1).optional().describe('Held-out tasks that are evaluated before and after training.'),
});

const job = jobFields.shape;
const overrides = z
  .object({
    connections: job.connections,
    distributed: job.distributed,
    env: job.env,
    expectedDuration: job.expectedDuration,
    imagePullSecrets: job.imagePullSecrets,
    network: job.network,
    placement: job.placement,
    recovery: job.recovery,
    resources: job.resources,
    scaledownWindow: job.scaledownWindow,
    secrets: job.secrets,
    serviceAccountName: job.serviceAccountName,
    timeout: job.timeout,
    volumes: job.volumes,
  })
  .check(
    rules(({ value, issues }) => {
      const mounted = value.secrets?.map(({ name }) => name);
      addIssueOfRepeats(issues, ['secrets'], mounted, ['name']);
      addIssueOfRepeats(issues, ['connections'], value.connections);
      checkGang(value, [], issues);
    }),
  );

export const trainingJobSpec = z.object({
  runtime: catalogName.describe('A TrainingRuntime of the project, or svc/<name> for one of the catalog.'),
  model: hubModel.optional().describe('Model that is trained or evaluated: hf://<repo>@<40-hex revision>.'),
  data: data.optional().describe('What it is trained on. Exactly one of bucket, output, url and volume.'),
  environment: environmentBinding.optional().describe('Tasks that it is trained or evaluated on.'),
  teacher: hubModel.optional().describe('Model that it learns from: hf://<repo>@<40-hex revision>.'),
  mode: z.enum(MODES).default('Train').describe('Train, or only evaluate.'),
  method: z.enum(METHODS).optional().describe("How the weights are trained; the runtime's own way when unset."),
  parameters: boundedObject(64 * 1024, '64 KiB')
    .optional()
    .describe("Parameters, as the runtime's JSON Schema has them."),
  overrides: overrides.optional().describe("Fields of the stages' Jobs that differ from the runtime's."),
  maxCostUSD: zUsd({ description: 'Cost cap of all stages together. Can only be raised.' }).optional(),
  state: z
    .enum(['Running', 'Suspended', 'Cancelled'])
    .default('Running')
    .describe("Goes on to the stages' Jobs; Cancelled ends the TrainingJob for good. Mutable."),
});

export const TRAINING_JOB_IMMUTABLE: readonly string[] = [
  'runtime',
  'model',
  'data',
  'environment',
  'teacher',
  'mode',
  'method',
  'parameters',
  'overrides',
].map((field) => `spec.${field}`);

const decimal = (description: string): z.ZodOptional<z.ZodString> =>
  z
    .string()
    .regex(/^-?[0-9]+(?:\.[0-9]+)?$/, 'must be a decimal number')
    .optional()
    .describe(description);

/** Whether two evaluations may be compared, and what the difference is. Source: spec, "Comparison". */
export const comparison = z.object({
  comparable: z.boolean().describe('Both are of the same tasks, whole, and neither is all or nothing.'),
  measurable: z.boolean().describe('The difference is larger than one task.'),
  reason: z
    .enum([
      'Comparable',
      'SmallestStep',
      'TooFewTasks',
      'DifferentTasks',
      'NonePassed',
      'AllPassed',
      'IncompleteEvents',
    ])
    .describe('Why.'),
  note: z.string().optional().describe('Why, for people.'),
  changePP: decimal('Change of the pass rate in percentage points.'),
  resolutionPP: decimal('The smallest change that can be seen: 100 divided by the tasks.'),
});

const measured = z.object({
  passRate: z.number().optional().describe('Passed, divided by scored verdicts.'),
  passed: z.int().optional().describe('Answers that passed.'),
  tasks: z.int().optional().describe('Tasks that were evaluated.'),
});

export const trainingJobStatus = jobStatus.extend({
  evaluation: z
    .object({
      baseline: measured.optional().describe('Before training.'),
      trained: measured.optional().describe('After training.'),
      comparison: comparison.optional().describe('What training has changed.'),
    })
    .optional()
    .describe('What held-out tasks have shown.'),
});

export type TrainingJobSpec = z.infer<typeof trainingJobSpec>;
export type TrainingJobStatus = z.infer<typeof trainingJobStatus>;
