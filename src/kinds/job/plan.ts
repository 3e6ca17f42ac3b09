/**
 * What one Attempt of a Job runs: the work plan, from the Job's spec alone. Secrets and inputs stay names here; the
 * effect runner resolves them. Source: spec, "Job spec".
 */
import { ENV_PREFIX } from '../../brand.js';
import { parseDuration } from '../../api/duration.js';
import type { ApiObject } from '../../api/object.js';
import { plannedImage } from '../image/pin.js';
import { type Input, type Output, STANDING_OUTPUT } from '../shapes/files.js';
import { withPlainEnv } from '../shapes/program.js';
import { plannedNetwork } from '../shapes/network.js';
import { floorsOf, limitsOf } from '../shapes/resources.js';
import type { PlannedEnv, PlannedInput, WorkPlan } from '../work.js';
import type { Job } from './draft.js';
import { paramEnv, pinnedInputs } from './from-parent.js';
import { COMPLETION_INDEX, type JobSpec } from './schema.js';

/** Where the program starts when nothing is said (spec, Sandbox: the same default). */
export const DEFAULT_WORKING_DIR = '/workspace';

/** The longest that an init command may run, and what it gets when nothing is said. */
const INIT_TIMEOUT_SECONDS = 30 * 60;

export function jobWorkPlan(job: Job, slot: number, epoch: number): WorkPlan {
  const { spec, status } = job;
  const standing = serviceEnv(job, slot, epoch);
  const workingDir = spec.workingDir ?? DEFAULT_WORKING_DIR;
  const env = withPlainEnv(standing, spec.env);
  const init = spec.initCommand;
  return {
    ...plannedImage(spec.image, status.image),
    pullSecrets: spec.imagePullSecrets,
    main: { name: 'main', command: [...(spec.command ?? []), ...(spec.args ?? [])], env },
    init:
      init === undefined
        ? undefined
        : { name: 'init', command: init.command, env, timeoutSeconds: initSeconds(init.timeout) },
    sidecars: (spec.sidecars ?? []).map((sidecar) => ({
      name: sidecar.name,
      command: sidecar.command,
      env: withPlainEnv(standing, sidecar.env),
    })),
    secrets: (spec.secrets ?? []).map(({ name, version }) => (version === undefined ? { name } : { name, version })),
    workingDir,
    inputs: [
      ...(spec.source?.blob === undefined
        ? []
        : [{ name: 'source', from: 'blob' as const, digest: spec.source.blob, workingDir }]),
      ...planInputs(job),
    ],
    outputs: planOutputs(spec.outputs ?? []),
    amounts: limitsOf(spec.resources),
    countedMemory: floorsOf(spec.resources).memory,
    network: plannedNetwork(spec.network),
  };
}

/** Variables that the service sets. */
function serviceEnv({ metadata, spec }: ApiObject<JobSpec>, slot: number, epoch: number): readonly PlannedEnv[] {
  return [
    { name: `${ENV_PREFIX}INDEX`, value: String(slot) },
    { name: COMPLETION_INDEX, value: String(slot) },
    { name: `${ENV_PREFIX}COMPLETIONS`, value: String(spec.completions) },
    { name: `${ENV_PREFIX}EPOCH`, value: String(epoch) },
    { name: `${ENV_PREFIX}JOB_NAME`, value: metadata.name },
    { name: `${ENV_PREFIX}PROJECT`, value: metadata.namespace ?? '' },
    ...paramEnv(metadata),
  ];
}

function planInputs({ metadata, spec: { inputs = [] } }: ApiObject<JobSpec>): readonly PlannedInput[] {
  if (inputs.length === 0) return [];
  const pinned = pinnedInputs(metadata);
  return inputs.flatMap((input) => planInput(input, pinned[input.name]));
}

/** An input of a kind that is not built yet yields nothing: such a Job was refused (`unsupportedFields`). */
function planInput(input: Input, uid: string | undefined): readonly PlannedInput[] {
  const { name, output, url } = input;
  if (output !== undefined) {
    const pinned = uid === undefined ? {} : { uid };
    return [{ name, from: 'output', job: output.job, output: output.name, index: output.index, ...pinned }];
  }
  if (url !== undefined) return [{ name, from: 'url', url: url.url, sha256: url.sha256 }];
  return [];
}

function planOutputs(declared: readonly Output[]): WorkPlan['outputs'] {
  const all = declared.map(({ name, path }) => ({ name, path }));
  return all.some((output) => output.name === STANDING_OUTPUT.name) ? all : [...all, STANDING_OUTPUT];
}

function initSeconds(timeout: string | undefined): number {
  const ms = timeout === undefined ? 0 : (parseDuration(timeout) ?? 0);
  // A zero is as good as unset.
  return ms === 0 ? INIT_TIMEOUT_SECONDS : Math.max(1, Math.ceil(ms / 1000));
}
