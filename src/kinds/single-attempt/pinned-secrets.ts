/** Owns which versions of its Secrets an epoch mounts. */
import type { SecretMount } from '../shapes/program.js';
import type { SecretRef } from '../work.js';
import type { SingleAttemptStatus } from './state.js';

/** Once noted for this epoch, a start that is carried out again takes the same versions. */
export function pinnedSecrets(
  secrets: readonly SecretMount[] | undefined,
  status: SingleAttemptStatus,
  epoch: number,
): readonly SecretRef[] {
  const noted = status.attempt?.epoch === epoch ? status.secretVersions : undefined;
  return (secrets ?? []).map(({ name, version }) => {
    const pinned = version ?? noted?.[name];
    return pinned === undefined ? { name } : { name, version: pinned };
  });
}
