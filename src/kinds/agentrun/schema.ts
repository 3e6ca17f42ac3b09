/** The fields of an AgentRun: one durable execution of an Agent. Source: spec, "AgentRun"; decisions, "Phases". */
import { z } from 'zod';
import { zName, zTimestamp, zUsd } from '../../api/schema.js';
import { boundedJson } from '../shapes/bounds.js';
import { catalogName } from '../shapes/names.js';
import { cost } from '../shapes/status.js';
import { addIssue, addIssueOfRepeats, rules } from '../shapes/rules.js';

export const AGENT_RUN_PHASES = ['Queued', 'Running', 'Waiting', 'Succeeded', 'Failed', 'Cancelled'] as const;

/** As many as a group may have waiting. */
const MOST_DEPENDENCIES = 10_000;

export const agentRunSpec = z
  .object({
    agent: catalogName.describe('An Agent of the project, or svc/<name> for a template of the catalog.'),
    deadline: zTimestamp('When it fails with DeadlineExceeded, if it has not ended.').optional(),
    dependsOn: z
      .array(zName({ form: 'label', description: 'Key of a task of the group.' }))
      .max(MOST_DEPENDENCIES)
      .optional()
      .describe('Tasks of the group that must finish first: already in it, or earlier in the same list.'),
    group: zName({ description: 'An AgentGroup of the project.' }).optional(),
    input: boundedJson(256 * 1024, '256 KiB')
      .optional()
      .describe('First prompt: a text or any JSON value.'),
    keepAlive: z.boolean().optional().describe('Wait for messages after each turn instead of succeeding.'),
    state: z.enum(['Running', 'Cancelled']).default('Running').describe('Cancelled ends the run for good. Mutable.'),
    taskKey: zName({ form: 'label', description: 'Unique in the group; needed with a group.' }).optional(),
  })
  .check(
    rules(({ value: { group, taskKey, dependsOn }, issues }) => {
      if (group !== undefined && taskKey === undefined) {
        addIssue(issues, ['taskKey'], 'is needed with a group', 'FieldValueRequired');
      }
      if (group === undefined && taskKey !== undefined) {
        addIssue(issues, ['taskKey'], 'is for runs of a group only', 'FieldValueForbidden');
      }
      if (group === undefined && (dependsOn ?? []).length > 0) {
        addIssue(issues, ['dependsOn'], 'is for runs of a group only', 'FieldValueForbidden');
      }
      addIssueOfRepeats(issues, ['dependsOn'], dependsOn);
      const itself = taskKey === undefined ? -1 : (dependsOn ?? []).indexOf(taskKey);
      if (itself >= 0) addIssue(issues, ['dependsOn', itself], 'is the run itself', undefined, taskKey);
    }),
  );

/** All of it but whether it goes on. */
export const AGENT_RUN_IMMUTABLE: readonly string[] = [
  'agent',
  'deadline',
  'dependsOn',
  'group',
  'input',
  'keepAlive',
  'taskKey',
].map((field) => `spec.${field}`);

const turn = z.object({
  costUSD: zUsd().optional(),
  fallbackReason: z.string().optional().describe('Why the router fell back to sonnet.'),
  family: z.string().optional().describe('Family of the model.'),
  inputTokens: z.int().describe('Tokens that went in, cache reads and writes included.'),
  model: z.string().describe('The model of the whole turn.'),
  modelCalls: z.int().describe('Calls of the model.'),
  outputTokens: z.int().describe('Tokens that came out.'),
  prompt: z.string().describe('`input`, or the key of the message that brought it.'),
  routedBy: z.enum(['jev', 'fallback', 'fixed']).describe('Who chose the model.'),
  toolCalls: z.int().describe('Calls of tools.'),
});

export const agentRunStatus = z.object({
  answer: z
    .object({
      preview: z.string().max(4096).describe('Its first 4 KiB.'),
      sha256: z.string().describe('Of the whole answer.'),
      size: z.int().describe('Bytes of the whole answer.'),
    })
    .optional()
    .describe('What it answered.'),
  completionTime: zTimestamp('When it finished.').optional(),
  cost: cost.optional().describe('Cost so far.'),
  dispatches: z.int().optional().describe('How often it was started; more than 1 means that it recovered.'),
  message: z.string().optional().describe('Human-readable explanation of the phase.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  phase: z.enum(AGENT_RUN_PHASES).optional().describe('Phase of the run.'),
  reason: z.string().optional().describe('Why it is in this phase: WaitingForMessage or MaxCostReached, say.'),
  revision: z.string().optional().describe('Revision of the Agent that it was admitted with.'),
  sandbox: z.string().optional().describe('Its Sandbox, which goes when the run ends.'),
  startTime: zTimestamp('When it started.').optional(),
  steps: z
    .object({ total: z.int().optional().describe('Steps in the journal.') })
    .optional()
    .describe('Its journal.'),
  turns: z.array(turn).optional().describe('Its turns, in order.'),
});

export type AgentRunSpec = z.infer<typeof agentRunSpec>;
export type AgentRunStatus = z.infer<typeof agentRunStatus>;
