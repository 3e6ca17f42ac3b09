/**
 * What one Attempt of a Sandbox runs: the work plan, from the Sandbox alone. /workspace comes back from the last
 * snapshot and is collected as the next one, under a name that no client can give an output.
 */
import { BRAND, ENV_PREFIX } from '../../brand.js';
import type { ApiObject } from '../../api/object.js';
import { plannedImage } from '../image/pin.js';
import { pinnedSecrets } from '../single-attempt/state.js';
import { withPlainEnv } from '../shapes/program.js';
import { plannedNetwork } from '../shapes/network.js';
import { floorsOf, limitsOf } from '../shapes/resources.js';
import type { PlannedEnv, WorkPlan } from '../work.js';
import { WORKSPACE_DIR, type SandboxSpec, type SandboxStatus } from './schema.js';

/** Name of the output that the saved files are. */
export const SNAPSHOT = `${BRAND}.workspace`;

export function sandboxWorkPlan(
  sandbox: ApiObject<SandboxSpec, SandboxStatus>,
  _slot: number,
  epoch: number,
): WorkPlan {
  const { spec, status } = sandbox;
  const snapshotted = spec.continuity.mode === 'Snapshotted';
  const digest = snapshotted ? status.snapshot?.digest : undefined;
  const env = withPlainEnv(serviceEnv(sandbox, epoch), spec.env);
  return {
    ...plannedImage(spec.image, status.image),
    main: { name: 'main', command: [...(spec.command ?? []), ...(spec.args ?? [])], env },
    // Without a command it idles and is driven from outside. Arguments alone were refused (`unsupportedFields`).
    idle: spec.command === undefined,
    enterable: true,
    sidecars: [],
    secrets: pinnedSecrets(spec.secrets, status, epoch),
    notesSecrets: true,
    workingDir: spec.workingDir,
    inputs:
      digest === undefined ? [] : [{ name: SNAPSHOT, from: 'blob', digest, workingDir: WORKSPACE_DIR, saved: true }],
    outputs: snapshotted ? [{ name: SNAPSHOT, path: WORKSPACE_DIR, vital: true }] : [],
    amounts: limitsOf(spec.resources),
    countedMemory: floorsOf(spec.resources).memory,
    network: plannedNetwork(spec.network),
  };
}

/** Variables that the service sets. */
function serviceEnv({ metadata }: ApiObject<SandboxSpec>, epoch: number): readonly PlannedEnv[] {
  return [
    { name: `${ENV_PREFIX}EPOCH`, value: String(epoch) },
    { name: `${ENV_PREFIX}SANDBOX_NAME`, value: metadata.name },
    { name: `${ENV_PREFIX}PROJECT`, value: metadata.namespace ?? '' },
  ];
}
