/**
 * Owns the fields of a Sandbox: an isolated container that is driven by commands and files.
 * Source: spec, "Sandbox"; decisions, "Small points" (`image` never changes).
 */
import { z } from 'zod';
import { zAbsolutePath, zDuration, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField } from '../fields.js';
import { argumentList, commandLine } from '../shapes/argument.js';
import { complain, complainOfRepeats, rules } from '../shapes/complain.js';
import { cost } from '../shapes/cost.js';
import { environment } from '../shapes/env-var.js';
import { estimate } from '../shapes/estimate.js';
import { imageName } from '../shapes/image-name.js';
import { imageStatus } from '../shapes/image-status.js';
import { network } from '../shapes/network.js';
import { resources } from '../shapes/resources.js';
import { secretMount } from '../shapes/secret-mount.js';

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
    .describe('What a stop keeps.'),
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
      onIdle: z.enum(['Stop', 'Delete']).default('Stop').describe('What follows when idleTimeout has passed.'),
    })
    .prefault({})
    .describe('When it ends by itself.'),
  maxCostUSD: zUsd().optional().describe('Most that it may cost, over all starts. May only be raised.'),
  network: network.optional().describe('What the work may reach. Unset: the policy Open.'),
  resources: resources.optional().describe('What it gets. Sandboxes run on CPU nodes: no GPUs.'),
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
    complainOfRepeats(issues, ['secrets'], mounted, ['name']);
    if (wanted?.gpu !== undefined) {
      complain(issues, ['resources', 'gpu'], 'Sandboxes run on CPU nodes', 'FieldValueForbidden');
    }
    if ((wanted?.nodes ?? 0) > 1) {
      complain(issues, ['resources', 'nodes'], 'a Sandbox runs on one node', 'FieldValueInvalid', wanted?.nodes);
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
  activity: z.enum(['Busy', 'Idle']).optional().describe('Busy while something runs in it or is asked of it.'),
  attempt: z
    .object({
      epoch: z.int().optional().describe('Grows with every start and every recovery.'),
      name: z.string().optional().describe('Name of the Attempt.'),
    })
    .optional()
    .describe('The Attempt that runs it.'),
  conditions: z.array(conditionField).optional().describe('Scheduled, Funded, Ready, StateSaved, StateRestored.'),
  cost: cost.optional().describe('What it has cost.'),
  estimate: estimate.optional().describe('What it is expected to cost.'),
  expirationTime: zTimestamp('When it is deleted at the latest.').optional(),
  handledRequests: z
    .record(z.string(), z.string())
    .optional()
    .describe('Last value that was carried out, by the name of the request annotation.'),
  image: imageStatus.optional(),
  lastActivityTime: zTimestamp('When something last ran in it or was asked of it.').optional(),
  message: z.string().optional().describe('Why it is in this phase, for people.'),
  phase: z.enum(SANDBOX_PHASES).optional().describe('Where it is in its life.'),
  reason: z.string().optional().describe('Why it is in this phase, as one word, such as StartupFailed or NodeLost.'),
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
      size: z.int().optional().describe('Bytes of it.'),
    })
    .optional()
    .describe(`The saved ${WORKSPACE_DIR}.`),
  stopReason: z.string().optional().describe('Why it was stopped last.'),
});

export type SandboxPhase = (typeof SANDBOX_PHASES)[number];
export type SandboxStatus = z.infer<typeof sandboxStatus>;

export const SANDBOX_IMMUTABLE: readonly string[] = ['spec.image'];
