/** Opens and seals stored secret versions: `SecretVersions` of `../store.ts` over rows that another file reads. */
import type { SecretVersions } from '../store.js';
import type { MasterKeys } from './master-key.js';
import { recognise } from './recognise.js';
import { openValues, sealValues } from './values.js';

/** The sealed bytes of one version as stored; undefined when there is no such row. */
export type FetchSealed = (org: string, uid: string, version: number) => Promise<Buffer | undefined>;

export function openSecretVersions(keys: MasterKeys, fetch: FetchSealed): SecretVersions {
  return {
    async open(org, uid, version) {
      const sealed = await fetch(org, uid, version);
      return sealed === undefined ? undefined : openValues(keys, org, uid, version, sealed);
    },
    async recognise(org, uid, version, texts) {
      const sealed = await fetch(org, uid, version);
      return sealed === undefined ? [] : recognise(openValues(keys, org, uid, version, sealed).values(), texts);
    },
    seal: (org, uid, version, values) => sealValues(keys, org, uid, version, values),
  };
}
