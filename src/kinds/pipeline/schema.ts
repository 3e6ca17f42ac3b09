/**
 * The fields of a Pipeline: Jobs in stages. A stage's Job is its template laid over `defaults`: objects field by field,
 * lists and values whole. Source: spec, "Pipeline"; decisions, "Phases".
 * What the spec leaves open: `failurePolicy` is FailFast (no further stage starts) or Continue (only what needs the failed
 * stage is skipped); an unset `maxParallel` lets every stage run that can.
 */
import { z } from 'zod';
import { zName, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField, cost, estimate } from '../shapes/status.js';
import { INPUT_NAME, outputName, SAY_INPUT_NAME, STANDING_OUTPUT } from '../shapes/files.js';
import { jobParts } from '../job/schema.js';
import { JOB_PHASES } from '../job/status.js';
import { rules } from '../shapes/rules.js';
import { checkGraph } from './graph.js';
import { checkStages } from './stages.js';

const MAX_INT32 = 2 ** 31 - 1;
/** What one decision may have to weigh. */
const MOST_STAGES = 256;

const stageInput = z.object({
  fromStage: zName({ form: 'label', description: 'The stage that makes it.' }),
  name: z.string().regex(INPUT_NAME, SAY_INPUT_NAME).describe('Name below the inputs directory; unique in the stage.'),
  output: outputName.default(STANDING_OUTPUT.name).describe('Name of the output of that stage.'),
});

const stage = z.object({
  name: zName({ form: 'label', description: "Unique in the Pipeline; part of the name of the stage's Job." }),
  dependsOn: z.array(z.string().min(1)).max(MOST_STAGES).optional().describe('Stages that must have succeeded before.'),
  inputs: z.array(stageInput).max(256).optional().describe('Outputs of earlier stages, as inputs of this one.'),
  template: jobParts
    .optional()
    .describe("Spec of the stage's Job, laid over defaults: objects field by field; lists and values replace."),
});

export const pipelineSpec = z
  .object({
    defaults: jobParts
      .optional()
      .describe(
        'Spec that the templates of all stages are laid over: objects field by field; lists and values are replaced.',
      ),
    failurePolicy: z
      .enum(['FailFast', 'Continue'])
      .default('FailFast')
      .describe('Once a stage has failed: FailFast starts no other one, Continue skips only what needs it.'),
    maxCostUSD: zUsd({ description: 'Cost cap of all stages together. Can only be raised.' }).optional(),
    maxParallel: z
      .int32()
      .min(1)
      .max(256)
      .optional()
      .describe('Stages that run at the same time; all that can when unset.'),
    stages: z.array(stage).min(1).max(MOST_STAGES).describe('The stages.'),
    state: z
      .enum(['Running', 'Suspended', 'Cancelled'])
      .default('Running')
      .describe("Goes on to the stages' Jobs; Cancelled ends the Pipeline for good."),
    ttlSecondsAfterFinished: z
      .int()
      .min(0)
      .max(MAX_INT32)
      .optional()
      .describe("Seconds after its end until the Pipeline is deleted with its stages' Jobs."),
  })
  .check(
    rules(({ value: { defaults, stages }, issues }) => {
      checkGraph(stages, issues);
      checkStages(defaults ?? {}, stages, issues);
    }),
  );

export const STAGE_PHASES = [...JOB_PHASES, 'Skipped'] as const;

const stageStatus = z.object({
  completionTime: zTimestamp().optional(),
  costUSD: zUsd({ description: 'What it has cost, once nothing more will be charged.' }).optional(),
  job: z.string().optional().describe("Name of the stage's Job."),
  name: z.string().optional().describe('Name of the stage.'),
  phase: z
    .enum(STAGE_PHASES)
    .optional()
    .describe('Pending before its Job exists; Skipped when a failure before it means that it never runs.'),
  startTime: zTimestamp().optional(),
});

export type StageStatus = z.infer<typeof stageStatus>;

export const pipelineStatus = z.object({
  completionTime: zTimestamp('When it finished.').optional(),
  conditions: z.array(conditionField).optional().describe('Complete, Failed, Cancelled, Suspended and Funded.'),
  cost: cost.optional().describe('Cost so far.'),
  estimate: estimate.optional().describe('Estimated cost.'),
  message: z.string().optional().describe('Names the stage that failed, or that waits.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  phase: z.enum(JOB_PHASES).optional().describe('Phase of the Pipeline.'),
  reason: z.string().optional().describe('Why it is in this phase: StageFailed or MaxCostReached, say.'),
  stages: z.array(stageStatus).optional().describe('The stages, as in the spec.'),
  startTime: zTimestamp('When it started.').optional(),
});

export type PipelineSpec = z.infer<typeof pipelineSpec>;
export type PipelineStatus = z.infer<typeof pipelineStatus>;
