/**
 * The fields of a Function: Python that is deployed once and called many times. All of them may change; a change of
 * code, image or resources rolls the workers. Source: spec, "Function"; decisions, "Phases not named by the spec".
 */
import { z } from 'zod';
import { zAbsolutePath, zDigest, zDuration, zUsd } from '../../api/schema.js';
import { conditionField, cost, estimate, imageStatus, statusReason } from '../shapes/status.js';
import { argumentList, commandLine, environment, initCommand, secretMount, sidecars } from '../shapes/program.js';
import { imageName } from '../shapes/images.js';
import { network } from '../shapes/network.js';
import { objectName } from '../shapes/names.js';
import { placement, resources } from '../shapes/resources.js';
import { recovery } from '../shapes/recovery.js';
import { volumeMount } from '../shapes/files.js';
import { MOST_CONNECTIONS, MOST_VOLUMES } from '../shapes/bounds.js';
import { addIssue, addIssueOfRepeats, rules } from '../shapes/rules.js';

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const LONGEST_NAME = 256;

/** A name of Python: of a class, a method. */
export const identifier = z.string().max(LONGEST_NAME).regex(IDENTIFIER, 'must be a name of Python');

/** `package.module` */
const moduleName = z
  .string()
  .max(LONGEST_NAME)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/, 'must be a module such as package.module');

const code = z.object({
  blob: zDigest().optional().describe('Digest of the archive with the code.'),
  cls: z
    .object({
      methods: z
        .array(identifier)
        .max(128)
        .optional()
        .describe('Methods that may be called; every public one when unset.'),
      name: identifier.optional().describe('Name of the class.'),
    })
    .optional()
    .describe('A class whose methods are called; one instance lives in each worker.'),
  module: moduleName.optional().describe('Module that is imported.'),
  qualname: z.string().min(1).max(LONGEST_NAME).optional().describe('Qualified name of the function in its module.'),
});

const retries = z.object({
  backoffCoefficient: z.number().min(1).max(100).optional().describe('Factor between consecutive delays.'),
  initialDelay: zDuration({ description: 'Delay before the first retry.' }).optional(),
  maxDelay: zDuration({ description: 'Longest delay.' }).optional(),
  maxRetries: z.int32().min(0).optional().describe('Retries of a call that fails; none when unset.'),
});

const scaling = z.object({
  maxWorkers: z.int32().min(1).optional().describe('Most workers.'),
  minWorkers: z.int32().min(0).optional().describe('Workers that are kept warm; at most maxWorkers.'),
  scaledownWindow: zDuration({ max: '20m', description: 'How long an idle worker is kept.' }).optional(),
  targetConcurrency: z.int32().min(1).optional().describe('Calls that one worker runs at a time.'),
});

/** As `distributed` of a Job, for each worker. */
const cluster = z.object({
  launcher: z.enum(['Plain']).optional().describe('Launcher of the ranks.'),
  network: z.enum(['Colocated', 'Regional', 'Global']).optional().describe('How close together the nodes must be.'),
  size: z.int32().min(2).max(16).optional().describe('Nodes of one worker.'),
  transport: z.enum(['Direct', 'Auto']).optional().describe('Auto allows relayed paths.'),
});

const fields = z.object({
  args: argumentList.optional().describe('Arguments, after those of command.'),
  cluster: cluster.optional().describe('Workers of several nodes (beta).'),
  code: code.optional().describe('Code to call. Either code or a command of your own.'),
  command: commandLine.optional().describe('Program of the workers, instead of the one that the service provides.'),
  connections: z
    .array(objectName('Name of a Connection in the project.'))
    .max(MOST_CONNECTIONS)
    .optional()
    .describe('Connections that the work may use.'),
  env: environment.optional().describe('Environment of the workers.'),
  image: imageName.optional().describe('Image that the workers run. At most one of image and imageRef.'),
  imagePullSecrets: z
    .array(objectName('Name of a Secret of type Registry.'))
    .max(4)
    .optional()
    .describe('Credentials of registries.'),
  imageRef: objectName('Name of an Image object in the project.').optional(),
  initCommand: initCommand.optional().describe('Runs to its end before a worker starts.'),
  maxCostUSD: zUsd({ description: 'Cost cap. Can only be raised.' }).optional(),
  network: network.optional().describe('What the work may reach. Unset: the policy Open.'),
  placement: placement.optional().describe('Where the workers may run.'),
  python: z
    .enum(['3.10', '3.11', '3.12', '3.13'])
    .optional()
    .describe('Minor version of Python; a caller on another one is refused.'),
  recovery: recovery.optional().describe('How lost capacity is recovered.'),
  resources: resources.optional().describe('Resources of each worker.'),
  retries: retries.optional().describe('Retry policy of failed calls.'),
  scaling: scaling.optional().describe('Number of workers.'),
  secrets: z
    .array(secretMount)
    .max(32)
    .optional()
    .describe('Mounted whole: each key as an environment variable and as a file below /run/secrets.'),
  serviceAccountName: objectName('Name of a ServiceAccount in the project.').optional(),
  sidecars: sidecars.optional().describe('Programs that run beside each worker.'),
  state: z.enum(['Running', 'Stopped']).default('Running').describe('Stopped ends the workers and takes no calls.'),
  timeout: zDuration({ min: '1ms', description: 'Longest time of one call.' }).optional(),
  volumes: z.array(volumeMount).max(MOST_VOLUMES).optional().describe('Volumes.'),
  workingDir: zAbsolutePath().optional().describe('Working directory of the workers; /workspace when unset.'),
});

export const functionSpec = fields.check(
  rules(({ value, issues }) => {
    if (value.code === undefined && value.command === undefined) {
      addIssue(issues, ['code'], 'must be given, or a command', 'FieldValueRequired');
    }
    if (value.image !== undefined && value.imageRef !== undefined) {
      addIssue(issues, ['imageRef'], 'may not be specified when `image` is given', 'FieldValueForbidden');
    }
    const { maxWorkers, minWorkers } = value.scaling ?? {};
    if (maxWorkers !== undefined && minWorkers !== undefined && minWorkers > maxWorkers) {
      addIssue(issues, ['scaling', 'minWorkers'], 'must be at most maxWorkers', 'FieldValueInvalid', minWorkers);
    }
    const mounted = value.secrets?.map(({ name }) => name);
    const beside = value.sidecars?.map(({ name }) => name);
    addIssueOfRepeats(issues, ['secrets'], mounted, ['name']);
    addIssueOfRepeats(issues, ['sidecars'], beside, ['name']);
    addIssueOfRepeats(issues, ['connections'], value.connections);
    addIssueOfRepeats(issues, ['code', 'cls', 'methods'], value.code?.cls?.methods);
  }),
);

export type FunctionSpec = z.infer<typeof fields>;

export const functionStatus = z.object({
  ...statusReason,
  appVersion: z.string().optional().describe('Version of the App that it was deployed with.'),
  conditions: z.array(conditionField).optional().describe('Ready and Funded.'),
  cost: cost.optional().describe('Cost so far.'),
  estimate: estimate.optional().describe('Estimated cost.'),
  handledRequests: z
    .record(z.string(), z.string())
    .optional()
    .describe('Last value carried out, by request annotation.'),
  image: imageStatus.optional(),
  phase: z
    .enum(['Pending', 'Ready', 'Updating', 'Stopped', 'Failed'])
    .optional()
    .describe('Where it is in its life; Updating while workers of an older generation finish.'),
  queue: z
    .object({
      queued: z.int().optional().describe('Calls that wait for a worker.'),
      running: z.int().optional().describe('Calls that run.'),
    })
    .optional()
    .describe('Its calls.'),
  workers: z
    .object({
      busy: z.int().optional().describe('Workers that run calls.'),
      draining: z.int().optional().describe('Workers that finish their calls and take no new ones.'),
      idle: z.int().optional().describe('Workers that wait for calls.'),
      ready: z.int().optional().describe('Workers that can take calls: busy and idle ones.'),
      starting: z.int().optional().describe('Workers that are starting.'),
    })
    .optional()
    .describe('Its workers.'),
});

export type FunctionStatus = z.infer<typeof functionStatus>;
