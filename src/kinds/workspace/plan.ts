/**
 * What one Attempt of a Workspace runs: the work plan, from the Workspace alone. Nothing is started: it is a machine to
 * enter. Its home comes back from the Volume's revision and is collected as the next one, under a name that no client can give
 * an output.
 */
import { BRAND, ENV_PREFIX } from '../../brand.js';
import { pinnedSecrets } from '../single-attempt/state.js';
import { withPlainEnv } from '../shapes/program.js';
import { plannedNetwork } from '../shapes/network.js';
import { floorsOf, limitsOf } from '../shapes/resources.js';
import type { PlannedEnv, WorkPlan } from '../work.js';
import { HOME } from './connect.js';
import type { Workspace } from './state.js';

/** Name of the output that the saved home is. */
export const HOME_OUTPUT = `${BRAND}.home`;

/** Unset, and without GPUs. */
const DEFAULT_IMAGE = `${BRAND}/workspace-cpu`;

export function imageOf({ spec }: Workspace): string {
  return spec.image ?? DEFAULT_IMAGE;
}

export const workspaceWorkPlan: { of(workspace: Workspace, slot: number, epoch: number): WorkPlan }['of'] = (
  workspace,
  _slot,
  epoch,
) => {
  const { spec, status } = workspace;
  const { home } = status;
  return {
    image: imageOf(workspace),
    pullSecrets: spec.imagePullSecrets,
    main: { name: 'main', command: [], env: withPlainEnv(serviceEnv(workspace, epoch), spec.env) },
    idle: true,
    enterable: true,
    sidecars: [],
    secrets: pinnedSecrets(spec.secrets, status, epoch),
    notesSecrets: true,
    workingDir: HOME,
    home: HOME,
    inputs:
      home?.digest === undefined
        ? []
        : [{ name: HOME_OUTPUT, from: 'blob', digest: home.digest, workingDir: HOME, saved: true }],
    outputs: home === undefined ? [] : [{ name: HOME_OUTPUT, path: HOME, vital: true }],
    amounts: limitsOf(spec.resources),
    countedMemory: floorsOf(spec.resources).memory,
    network: plannedNetwork(spec.network),
  };
};

/** Name of the Volume that takes this output. */
export const workspaceSavesInto: { of(workspace: Workspace, output: string): string | undefined }['of'] = (
  { status },
  output,
) => (output === HOME_OUTPUT ? status.home?.volume : undefined);

/** Variables that the service sets. */
function serviceEnv({ metadata, spec }: Workspace, epoch: number): readonly PlannedEnv[] {
  return [
    { name: 'HOME', value: HOME },
    { name: `${ENV_PREFIX}EPOCH`, value: String(epoch) },
    { name: `${ENV_PREFIX}WORKSPACE_NAME`, value: metadata.name },
    { name: `${ENV_PREFIX}PROJECT`, value: metadata.namespace ?? '' },
    { name: `${ENV_PREFIX}SERVICE_ACCOUNT`, value: spec.serviceAccountName },
  ];
}
