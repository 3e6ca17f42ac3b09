/**
 * The keys that sign, opened: they go from their envelope to the signer and nowhere else (I11). A bounded number is kept,
 * since each attempt needs them; any change of an endpoint forgets its keys, so that a rotation holds from its commit on.
 */
import { LRUCache } from 'lru-cache';
import { SECRET_KEY } from '../../src/kinds/webhookendpoint/secret.js';
import type { SecretVersions } from '../../storage/store.js';
import type { EndpointRows } from '../../storage/webhooks/endpoints.js';
import type { Endpoint } from './endpoints.js';
import { atMost } from '../../src/lru-bound.js';

const MOST_ENDPOINTS = 4_096;

export interface Keys {
  /** Those that sign at `now` (ms), the newest first. Rejects when storage does not answer. */
  of(endpoint: Endpoint, now: number): Promise<readonly Uint8Array[]>;
  forget(uid: string): void;
}

export interface KeysDeps {
  readonly rows: Pick<EndpointRows, 'secretVersions'>;
  readonly secrets: Pick<SecretVersions, 'open'>;
}

export function openKeys({ rows, secrets }: KeysDeps): Keys {
  const kept = new LRUCache<string, Promise<readonly Uint8Array[]>>(atMost(MOST_ENDPOINTS));

  async function read(org: string, uid: string): Promise<readonly Uint8Array[]> {
    const versions = await rows.secretVersions(org, uid);
    const opened = await Promise.all(versions.map((version) => secrets.open(org, uid, version)));
    return opened.flatMap((values) => values?.get(SECRET_KEY) ?? []);
  }

  return {
    async of({ address, uid, previousUntil }, now) {
      let reading = kept.get(uid);
      if (reading === undefined) {
        const begun = read(address.org, uid);
        reading = begun;
        kept.set(uid, begun);
        begun.catch(() => {
          if (kept.peek(uid) === begun) kept.delete(uid);
        });
      }
      const keys = await reading;
      return previousUntil !== undefined && now < previousUntil ? keys : keys.slice(0, 1);
    },
    forget: (uid) => kept.delete(uid),
  };
}
