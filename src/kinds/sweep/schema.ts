/**
 * The fields of a Sweep: a Job's template, the matrix that it is fanned out over, and how many cells run at once.
 * Source: spec, "Sweep"; decisions, "Phases".
 */
import { z } from 'zod';
import { zMap, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField, cost, estimate } from '../shapes/status.js';
import { hasNoNul } from '../shapes/program.js';
import { regionClass } from '../shapes/resources.js';
import { jobSpec } from '../job/schema.js';
import { checkTemplate } from '../job/template.js';
import { JOB_PHASES } from '../job/status.js';
import { addIssue, addIssueOfRepeats, rules } from '../shapes/rules.js';
import { countCells } from './cells.js';

/** As many as a Job may have indexes. */
export const MOST_CELLS = 10_000;

/** Parameters of a matrix; 14 of two values each are more than the most cells. */
const MOST_PARAMS = 32;

const matrix = z.object({
  gpu: z
    .array(
      z
        .string()
        .regex(
          /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}:[1248]$/,
          'must be family:count with a count of 1, 2, 4 or 8, for example h100:8',
        ),
    )
    .max(16)
    .optional()
    .describe("Accelerators as family:count; empty keeps the template's."),
  params: zMap(
    z
      .string()
      .regex(
        /^[A-Z][A-Z0-9_]{0,62}$/,
        'must be an upper case letter and up to 62 more upper case letters, digits or underscores, for example LEARNING_RATE',
      ),
    z
      .array(z.string().max(4096).refine(hasNoNul, 'must not contain a NUL character'))
      .max(256)
      .describe('Values of this parameter.'),
    MOST_PARAMS,
  )
    .optional()
    .describe('Values by upper-case name; each cell gets SVC_PARAM_<NAME>.'),
  regions: z
    .array(regionClass)
    .max(64)
    .optional()
    .describe("Region classes, one per cell; may narrow the template's regions, never widen them."),
});

/** Of the parameters of one cell: they are an annotation of its Job. */
const MOST_PARAM_BYTES = 128 * 1024;

/** Of the cell whose values are the longest. */
function paramBytes(params: Readonly<Record<string, readonly string[]>>): number {
  return Object.entries(params).reduce((sum, [name, values]) => {
    const longest = Math.max(0, ...values.map((value) => Buffer.byteLength(JSON.stringify(value))));
    return sum + name.length + longest + 4;
  }, 2);
}

export const sweepSpec = z
  .object({
    matrix: matrix
      .optional()
      .describe('What differs from cell to cell; an empty dimension keeps the value of the template.'),
    maxCostUSD: zUsd({
      description:
        'Cost cap shared by all cells; every running cell is suspended when it is reached. Can only be raised.',
    }).optional(),
    maxParallel: z.int32().min(1).max(256).default(4).describe('Cells that run at the same time. Mutable.'),
    repetitions: z.int32().min(1).max(64).default(1).describe('How often each combination is run.'),
    state: z
      .enum(['Running', 'Suspended', 'Cancelled'])
      .default('Running')
      .describe('Goes on to the cells; Cancelled ends the Sweep for good. Mutable.'),
    template: z
      .object({
        kind: z.enum(['Job']).default('Job').describe('What a cell is.'),
        spec: jobSpec.describe('Spec of the Job of each cell, without ttlSecondsAfterFinished.'),
      })
      .describe('What each cell runs.'),
  })
  .check(
    rules(({ value, issues }) => {
      const { gpu = [], params = {}, regions = [] } = value.matrix ?? {};
      addIssueOfRepeats(issues, ['matrix', 'gpu'], gpu);
      addIssueOfRepeats(issues, ['matrix', 'regions'], regions);
      for (const [name, values] of Object.entries(params))
        addIssueOfRepeats(issues, ['matrix', 'params', name], values);
      const allowed = value.template.spec.placement?.regions ?? [];
      for (const [index, region] of regions.entries()) {
        if (allowed.length === 0 || allowed.includes(region)) continue;
        addIssue(issues, ['matrix', 'regions', index], 'is none of template.spec.placement.regions', undefined, region);
      }
      checkTemplate(value.template.spec, ['template', 'spec'], issues);
      const cells = countCells(value.matrix, value.repetitions);
      if (paramBytes(params) > MOST_PARAM_BYTES)
        addIssue(issues, ['matrix', 'params'], `must be at most ${MOST_PARAM_BYTES} bytes as JSON for any one cell`);
      if (cells > MOST_CELLS) addIssue(issues, ['matrix'], `must make at most ${MOST_CELLS} cells, and makes ${cells}`);
    }),
  );

const cell = z.object({
  costUSD: zUsd({ description: 'What it has cost, once nothing more will be charged.' }).optional(),
  gpu: z.string().optional().describe('Accelerator of the cell.'),
  index: z.int().optional().describe('Place of the cell in the matrix.'),
  object: z.string().optional().describe('Name of its Job.'),
  params: z.record(z.string(), z.string()).optional().describe('Parameters of the cell.'),
  phase: z.enum(JOB_PHASES).optional().describe('Pending before its Job exists.'),
  region: z.string().optional().describe('Region class of the cell.'),
  repetition: z.int().optional().describe('From 0.'),
  unitsPerSecond: z
    .string()
    .optional()
    .describe('Units of work that its indexes have reported, by wallSeconds, as a decimal number.'),
  wallSeconds: z
    .number()
    .optional()
    .describe('Seconds from its start to its end, without those that it was suspended.'),
});

export type SweepCell = z.infer<typeof cell>;

export const sweepStatus = z.object({
  best: z
    .object({
      byCost: z.int().optional().describe('Index of the cheapest cell that succeeded.'),
      byThroughput: z.int().optional().describe('Index of the fastest cell that succeeded.'),
    })
    .optional()
    .describe('The best cells.'),
  cells: z
    .array(cell)
    .optional()
    .describe('The first cells, by index: at most 100 and 48 KiB. The route …/cells has all.'),
  completionTime: zTimestamp('When it finished.').optional(),
  active: z.int().optional().describe('Cells whose Jobs wait, start, run or stop now.'),
  cancelled: z.int().optional().describe('Cells that were cancelled.'),
  conditions: z.array(conditionField).optional().describe('Complete, Failed, Cancelled, Suspended and Funded.'),
  cost: cost.optional().describe('Cost so far.'),
  estimate: estimate.optional().describe('Estimated cost.'),
  failed: z.int().optional().describe('Cells that have failed.'),
  message: z.string().optional().describe('Human-readable explanation of the phase.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  phase: z.enum(JOB_PHASES).optional().describe('Phase of the Sweep.'),
  reason: z.string().optional().describe('Why it is in this phase: MaxCostReached, say.'),
  startTime: zTimestamp('When it started.').optional(),
  succeeded: z.int().optional().describe('Cells that have succeeded.'),
  total: z.int().optional().describe('Cells of the matrix.'),
});

export type SweepSpec = z.infer<typeof sweepSpec>;
export type SweepStatus = z.infer<typeof sweepStatus>;
