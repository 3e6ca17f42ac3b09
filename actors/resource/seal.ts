/**
 * Takes secret values from a decision into their envelopes. Values that a patch did not name are taken over
 * from an older version here, between two envelopes, and seen nowhere else (I11).
 */
import type { CommitRequest } from '../../storage/commit/request.js';
import type { SecretVersions } from '../../storage/store.js';
import type { Draft } from './draft.js';

export async function sealSecrets(draft: Draft, secrets: SecretVersions): Promise<CommitRequest['secrets']> {
  const { org } = draft.address;
  const { uid } = draft.object.metadata;
  const sealed: CommitRequest['secrets'][number][] = [];
  for (const effect of draft.atCommit) {
    if (effect.type !== 'SealSecret') continue;
    const values = new Map(effect.values);
    if (effect.keep && effect.keep.keys.length > 0) {
      const older = await secrets.open(org, uid, effect.keep.from);
      for (const key of effect.keep.keys) {
        const value = older?.get(key);
        if (value && !values.has(key)) values.set(key, value);
      }
    }
    sealed.push({ version: effect.version, sealed: secrets.seal(org, uid, effect.version, values) });
  }
  return sealed;
}
