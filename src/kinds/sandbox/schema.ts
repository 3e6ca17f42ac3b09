/**
 * The fields of a Sandbox: an isolated container that is driven by commands and files.
 * Source: spec, "Sandbox"; decisions, "Small points" (`image` never changes).
 */
import { z } from 'zod';
import { zAbsolutePath, zDuration, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField, cost, estimate, imageStatus } from '../shapes/status.js';
import { argumentList, commandLine, environment, secretMount } from '../shapes/program.js';
import { imageName } from '../shapes/images.js';
import { network } from '../shapes/network.js';
import { resources } from '../shapes/resources.js';
import { addIssue, addIssueOfRepeats, rules } from '../shapes/rules.js';

/** Saved on stop and restored on start, where continuity is Snapshotted. */
export const WORKSPACE_DIR = '/workspace';

const fields = z.object({
  args: argumentList.optional().describe('Arguments, after those of command.'),
  command: commandLine
    .optional()
    .describe('Program and arguments. Unset: the Sandbox idles and is driven by commands from outside.'),
  continuity: z
    .object({
      mode: z
        .enum(['Snapshotted', 'Ephemeral'])
        .default('Snapshotted')
        .describe(`Snapshotted: ${WORKSPACE_DIR} is saved on stop and restored on start. Ephemeral: nothing is kept.`),
    })
    .prefault({})
    .describe('What is kept across stops.'),
  env: environment.optional().describe('Environment of every program.'),
  image: imageName.describe('Image that it runs; pinned to a digest at create. Immutable.'),
  lifecycle: z
    .object({
      idleTimeout: zDuration({
        min: '1m',
        max: '24h',
        also: ['0s'],
        description: 'Time without a running command, file request or terminal input until onIdle; 0s never.',
      }).default('5m'),
      maxLifetime: zDuration({
        min: '1m',
        max: '720h',
        description: 'Time from creation, stopped time included, until it is deleted.',
      }).default('24h'),
      onIdle: z.enum(['Stop', 'Delete']).default('Stop').describe('Action when idleTimeout elapses.'),
    })
    .prefault({})
    .describe('Automatic stop and deletion.'),
  maxCostUSD: zUsd({ description: 'Cost cap over all starts. Can only be raised.' }).optional(),
  network: network.optional().describe('What the work may reach. Unset: the policy Open.'),
  resources: resources.optional().describe('Resources. Sandboxes run on CPU nodes: no GPUs.'),
  secrets: z
    .array(secretMount)
    .max(32)
    .optional()
    .describe('Mounted whole, as environment and as files below /run/secrets; each start pins the newest versions.'),
  state: z.enum(['Running', 'Stopped']).default('Running').describe('Stopped releases the compute.'),
  workingDir: zAbsolutePath().default(WORKSPACE_DIR).describe('Working directory of programs.'),
});

export const sandboxSpec = fields.check(
  rules(({ value, issues }) => {
    const { resources: wanted, secrets } = value;
    const mounted = secrets?.map(({ name }) => name);
    addIssueOfRepeats(issues, ['secrets'], mounted, ['name']);
    if (wanted?.gpu !== undefined) {
      addIssue(issues, ['resources', 'gpu'], 'Sandboxes run on CPU nodes', 'FieldValueForbidden');
    }
    if ((wanted?.nodes ?? 0) > 1) {
      addIssue(issues, ['resources', 'nodes'], 'a Sandbox runs on one node', 'FieldValueInvalid', wanted?.nodes);
    }
  }),
);

export type SandboxSpec = z.infer<typeof fields>;

export const SANDBOX_PHASES = [
  'Pending',
  'Starting',
  'Running',
  'Recovering',
  'Stopping',
  'Stopped',
  'Terminating',
  'Failed',
] as const;

export const sandboxStatus = z.object({
  activity: z.enum(['Busy', 'Idle']).optional().describe('Busy while a command, file request or terminal is active.'),
  attempt: z
    .object({
      epoch: z.int().optional().describe('Increases with every start and every recovery.'),
      name: z.string().optional().describe('Name of the Attempt.'),
    })
    .optional()
    .describe('The Attempt that runs it.'),
  conditions: z.array(conditionField).optional().describe('Scheduled, Funded, Ready, StateSaved, StateRestored.'),
  cost: cost.optional().describe('Cost so far.'),
  estimate: estimate.optional().describe('Estimated cost.'),
  expirationTime: zTimestamp('Latest time of its deletion.').optional(),
  handledRequests: z
    .record(z.string(), z.string())
    .optional()
    .describe('Last value carried out, by request annotation.'),
  image: imageStatus.optional(),
  lastActivityTime: zTimestamp('Time of the last activity.').optional(),
  message: z.string().optional().describe('Human-readable explanation of the phase.'),
  phase: z.enum(SANDBOX_PHASES).optional().describe('Lifecycle phase.'),
  reason: z
    .string()
    .optional()
    .describe('Reason for the phase, one CamelCase word, for example StartupFailed or NodeLost.'),
  secretVersionIDs: z.record(z.string(), z.string()).optional().describe('Versions mounted now, by Secret.'),
  secretVersions: z
    .record(z.string(), z.int32())
    .optional()
    .describe('Numbers of the versions mounted now, by Secret.'),
  snapshot: z
    .object({
      reason: z.enum(['Stop']).optional().describe('Why it was taken.'),
      time: zTimestamp('When it was taken.').optional(),
      digest: z.string().optional().describe('sha256:<64 hexadecimal digits> of the saved files, a tar.zst.'),
      size: z.int().optional().describe('Size in bytes.'),
    })
    .optional()
    .describe(`The saved ${WORKSPACE_DIR}.`),
  stopReason: z.string().optional().describe('Why it was stopped last.'),
});

export type SandboxPhase = (typeof SANDBOX_PHASES)[number];
export type SandboxStatus = z.infer<typeof sandboxStatus>;

export const SANDBOX_IMMUTABLE: readonly string[] = ['spec.image'];
