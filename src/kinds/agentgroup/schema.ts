/**
 * The fields of an AgentGroup: many runs of one Agent, with limits, a shared cap and one end; or the evaluation of
 * that Agent on an Environment's tasks. Source: spec, "AgentGroup"; decisions, "Phases". The spec leaves open whether
 * `agent` and `evaluation` may change: they never do, since the members and the pinned digest are of the first ones.
 */
import { z } from 'zod';
import { zDuration, zTimestamp, zUsd } from '../../api/schema.js';
import { catalogName, versionedName } from '../shapes/names.js';
import { cost } from '../shapes/status.js';
import { addIssue, rules } from '../shapes/rules.js';

export const DEFAULT_MAX_ACTIVE = 10;
export const DEFAULT_MAX_PENDING = 10_000;
/** Runs of one evaluation. */
const MOST_TASK_RUNS = 100;

const evaluation = z
  .object({
    environment: versionedName.describe(
      'An Environment of the project, or svc/<name>@<version> for one of the catalog.',
    ),
    repetitions: z
      .int32()
      .min(1)
      .max(MOST_TASK_RUNS)
      .default(1)
      .describe('Runs of each task; tasks times repetitions is at most 100.'),
    seed: z.int().optional().describe('Chooses the tasks and their order.'),
    split: z.enum(['train', 'test']).default('test').describe('Which tasks of the Environment.'),
    tasks: z.int32().min(1).max(MOST_TASK_RUNS).describe("The first so many tasks, in the manifest's order."),
    timeout: zDuration({ min: '1m', max: '24h', description: 'From the creation of the group.' }).default('30m'),
  })
  .check(
    rules(({ value: { tasks, repetitions }, issues }) => {
      if (tasks * repetitions <= MOST_TASK_RUNS) return;
      addIssue(
        issues,
        ['repetitions'],
        `tasks times repetitions must be at most ${MOST_TASK_RUNS}`,
        undefined,
        repetitions,
      );
    }),
  );

const limits = z.object({
  maxActive: z
    .int32()
    .min(0)
    .max(1000)
    .default(DEFAULT_MAX_ACTIVE)
    .describe('Runs that go on at the same time, from 1 to 1000; 10 when zero.'),
  maxPending: z
    .int32()
    .min(0)
    .max(10_000)
    .default(DEFAULT_MAX_PENDING)
    .describe('Runs that have not ended, from 1 to 10000; 10000 when zero.'),
});

export const agentGroupSpec = z.object({
  agent: catalogName.describe('An Agent of the project, or svc/<name> for a template of the catalog.'),
  evaluation: evaluation.optional().describe("Evaluates the Agent on an Environment's tasks."),
  limits: limits.prefault({}).describe('How many runs at once.'),
  maxCostUSD: zUsd({
    description: 'Cap on the model usage of all members together, without Sandboxes. Can only be raised.',
  }).optional(),
  sealed: z
    .boolean()
    .default(false)
    .describe('True: takes no more runs, and ends with the last one. Never false again.'),
  state: z
    .enum(['Running', 'Cancelled'])
    .default('Running')
    .describe('Cancelled cancels every member that has not finished.'),
});

const count = (description: string): z.ZodInt32 => z.int32().describe(description);

export const agentGroupStatus = z.object({
  blockedReasons: z
    .array(
      z.object({
        count: count('Runs that wait for this.').optional(),
        reason: z.enum(['DependencyWait', 'MaxActiveReached', 'MaxCostReached']).optional().describe('Why they wait.'),
      }),
    )
    .optional()
    .describe('Why runs stay queued.'),
  cleanup: z.enum(['Pending', 'Complete']).optional().describe('Whether what cancelled members had is gone.'),
  completionTime: zTimestamp('When it finished.').optional(),
  cost: cost.optional().describe('Cost so far.'),
  counts: z
    .object({
      active: count('Members that run.'),
      cancelled: count('Members that were cancelled.'),
      failed: count('Members that failed.'),
      queued: count('Members that have not started.'),
      succeeded: count('Members that succeeded.'),
      total: count('All members.'),
      waiting: count('Members that wait for a message, money or a decision.'),
    })
    .optional()
    .describe('Members by phase.'),
  evaluation: z
    .object({
      agentRevision: z.string().optional().describe('Revision of the Agent that is evaluated.'),
      agentUID: z.string().optional().describe('uid of the Agent that is evaluated.'),
      cancelled: count('Runs that were cancelled.').optional(),
      environmentDigest: z.string().optional().describe("Digest of the Environment's image."),
      failed: count('Runs that failed.').optional(),
      incorrect: count('Answers that are wrong.').optional(),
      infrastructureFailure: count("Runs that failed through the service's fault.").optional(),
      initialized: z.boolean().optional().describe('The tasks are known and their runs made.'),
      invalidOutput: count('Answers that could not be graded.').optional(),
      meanReward: z.number().optional().describe('Absent while no verdict is scored.'),
      missingAnswer: count('Runs without an answer.').optional(),
      passRate: z.number().optional().describe('Passed, divided by scored verdicts; absent while there is none.'),
      passed: count('Answers that passed.').optional(),
      pending: count('Runs without a verdict yet.').optional(),
      total: count('All runs.').optional(),
    })
    .optional()
    .describe('What the evaluation has found.'),
  message: z.string().optional().describe('Human-readable explanation of the phase.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  phase: z
    .enum(['Running', 'Cancelling', 'Succeeded', 'Failed', 'Cancelled'])
    .optional()
    .describe('Phase of the group.'),
  reason: z.string().optional().describe('Why it is in this phase: RunsFailed, say.'),
  startTime: zTimestamp('When it started.').optional(),
});

export type AgentGroupSpec = z.infer<typeof agentGroupSpec>;
export type AgentGroupStatus = z.infer<typeof agentGroupStatus>;
