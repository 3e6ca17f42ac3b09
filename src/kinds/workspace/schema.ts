/**
 * The fields of a Workspace: a development machine with SSH, a browser IDE and a notebook.
 * That `schedule.readyBy` lies far enough ahead needs the clock and is the machine's. Source: spec, "Workspace".
 */
import { z } from 'zod';
import { zDuration, zQuantity, zTimestamp, zUsd } from '../../api/schema.js';
import { parseTime } from '../../api/time.js';
import { BRAND } from '../../brand.js';
import { conditionField, cost, estimate, statusReason } from '../shapes/status.js';
import { addIssueOfServiceNames, environment, secretMount } from '../shapes/program.js';
import { imageName } from '../shapes/images.js';
import { network } from '../shapes/network.js';
import { objectName } from '../shapes/names.js';
import { placement, resources } from '../shapes/resources.js';
import { DEFAULT_SERVICE_ACCOUNT } from '../serviceaccount/index.js';
import { addIssue, addIssueOfRepeats, rules } from '../shapes/rules.js';
import { sshPublicKey } from '../shapes/ssh-key.js';

const TOOLS = ['VSCode', 'Jupyter', 'SSH'] as const;

const fields = z.object({
  connections: z
    .array(objectName('Name of a Connection in the project.'))
    .max(4)
    .optional()
    .describe('Connections that it may use; their hosts may be reached.'),
  env: environment.optional().describe('Environment of every program.'),
  ephemeral: z
    .boolean()
    .optional()
    .describe('True: no home Volume; local files are lost on stop. Exactly one of volume and ephemeral: true.'),
  idleTimeout: zDuration({
    min: '10m',
    max: '24h',
    also: ['0s'],
    description: 'Time without SSH sessions, tool traffic and Processes until it is stopped; 0s never.',
  }).default('1h'),
  image: imageName
    .optional()
    .describe(
      `Unset: ${BRAND}/workspace-pytorch-cuda with GPUs and ${BRAND}/workspace-cpu without. A change applies on the next start.`,
    ),
  imagePullSecrets: z
    .array(objectName('Name of a Secret of type Registry.'))
    .max(4)
    .optional()
    .describe('Credentials of registries.'),
  maxCostUSD: zUsd({ description: 'Cost cap; the Workspace stops when it is reached. Can only be raised.' }).optional(),
  network: network.optional().describe('What it may reach. Unset: the policy Open.'),
  placement: placement.optional().describe('Where it may run.'),
  resources: resources.optional().describe('Resources.'),
  schedule: z
    .object({
      readyBy: zTimestamp()
        .optional()
        .describe('The machine starts 15 minutes earlier; at least 15 minutes from now when it is written.'),
      stopAt: zTimestamp()
        .optional()
        .describe('When it is stopped: after readyBy, and in the future when the Workspace is created.'),
    })
    .optional()
    .describe('Scheduled start and stop.'),
  secrets: z
    .array(secretMount)
    .max(32)
    .optional()
    .describe('Mounted whole: each key as an environment variable and as a file below /run/secrets.'),
  serviceAccountName: objectName('Name of a ServiceAccount in the project.')
    .default(DEFAULT_SERVICE_ACCOUNT)
    .describe('Identity of what runs inside.'),
  sshKeys: z
    .array(sshPublicKey)
    .max(100)
    .optional()
    .describe(
      'Keys that may log in. Empty: every key of members who may use the project. Removing a key ends its sessions.',
    ),
  state: z
    .enum(['Running', 'Stopped'])
    .default('Running')
    .describe(`Stopped saves /home/${BRAND} and releases the machine.`),
  tools: z
    .array(z.enum(TOOLS))
    .max(TOOLS.length)
    .default([...TOOLS])
    .describe('Tools available in the Workspace.'),
  volume: objectName('Name of a Volume in the project.')
    .optional()
    .describe(`ReadWriteOnce Volume that is mounted at /home/${BRAND}. Exactly one of volume and ephemeral: true.`),
});

export const workspaceSpec = fields.check(
  rules(({ value, issues }) => {
    const { connections, env, ephemeral, resources: wanted, schedule, secrets, sshKeys, tools, volume } = value;
    const home = 'exactly one of volume and ephemeral: true must be given';
    if (volume === undefined && ephemeral !== true) addIssue(issues, ['volume'], home, 'FieldValueRequired');
    if (volume !== undefined && ephemeral === true) addIssue(issues, ['ephemeral'], home, 'FieldValueForbidden');
    const readyBy = parseTime(schedule?.readyBy ?? '');
    const stopAt = parseTime(schedule?.stopAt ?? '');
    if (readyBy !== undefined && stopAt !== undefined && stopAt <= readyBy) {
      addIssue(issues, ['schedule', 'stopAt'], 'must be after readyBy', 'FieldValueInvalid', schedule?.stopAt);
    }
    if ((wanted?.nodes ?? 0) > 1) {
      addIssue(issues, ['resources', 'nodes'], 'a Workspace runs on one node', 'FieldValueInvalid', wanted?.nodes);
    }
    addIssueOfServiceNames(issues, ['env'], env, 'HOME');
    const mounted = secrets?.map(({ name }) => name);
    addIssueOfRepeats(issues, ['secrets'], mounted, ['name']);
    addIssueOfRepeats(issues, ['connections'], connections);
    addIssueOfRepeats(issues, ['sshKeys'], sshKeys);
    addIssueOfRepeats(issues, ['tools'], tools);
  }),
);

export type WorkspaceSpec = z.infer<typeof fields>;

/** Source: decisions, "Phases not named by the spec". */
export const WORKSPACE_PHASES = ['Pending', 'Starting', 'Running', 'Stopping', 'Stopped', 'Failed'] as const;

const place = z.object({ url: z.string().optional().describe('URL to open in a browser.') });

export const workspaceStatus = z.object({
  ...statusReason,
  attempt: z
    .object({
      epoch: z.int().optional().describe('Increases with every start and every recovery.'),
      name: z.string().optional().describe('Name of the Attempt.'),
    })
    .optional()
    .describe('The session: the Attempt that runs it, or did last.'),
  conditions: z
    .array(conditionField)
    .optional()
    .describe(
      'Scheduled, Funded, Ready, SSHReady, Stopped, NodeUnreachable, SetupComplete, StateSaved, StateRestored.',
    ),
  connect: z
    .object({
      jupyter: place.optional().describe('The notebook; absent while the image has no program for it.'),
      vscode: place.optional().describe('The IDE; absent while the image has no program for it.'),
      ssh: z
        .object({
          command: z.string().optional().describe('Command that opens an SSH session.'),
          host: z.string().optional().describe('Host and port of the SSH server.'),
          hostKey: z.string().optional().describe('SSH host key, stable across sessions.'),
        })
        .optional()
        .describe('SSH access.'),
    })
    .optional()
    .describe('Ways to connect.'),
  cost: cost.optional().describe('Cost so far.'),
  endpoints: z
    .array(
      z.object({
        name: z.string().describe('Name of the endpoint.'),
        port: z.int32().describe('Port in the Workspace.'),
        url: z.string().describe('Public URL.'),
      }),
    )
    .optional()
    .describe('Served ports.'),
  estimate: estimate.optional().describe('Estimated cost.'),
  home: z
    .object({
      volume: z.string().optional().describe('Name of the Volume.'),
      revision: z.string().optional().describe('Its revision; absent when it was empty.'),
      digest: z.string().optional().describe('sha256:<64 hexadecimal digits> of the saved files, a tar.zst.'),
      size: zQuantity().optional().describe('Size of the Volume, which limits the disk.'),
    })
    .optional()
    .describe(`Revision of /home/${BRAND} that the last start restored or the last stop saved.`),
  lastActivityTime: zTimestamp('Time of the last activity.').optional(),
  phase: z.enum(WORKSPACE_PHASES).optional().describe('Lifecycle phase.'),
  secretVersionIDs: z.record(z.string(), z.string()).optional().describe('Versions mounted now, by Secret.'),
  secretVersions: z
    .record(z.string(), z.int32())
    .optional()
    .describe('Numbers of the versions mounted now, by Secret.'),
  stopReason: z.string().optional().describe('Why it was stopped last.'),
});

export type WorkspacePhase = (typeof WORKSPACE_PHASES)[number];
export type WorkspaceStatus = z.infer<typeof workspaceStatus>;
