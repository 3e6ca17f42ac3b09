/** Storage of this deployment, as the settings have it: the store, its master keys, sealed secrets and blobs. */
import { openBlobs, type Blobs } from '../../storage/blobs/blobs.js';
import { checkDeployment } from '../../storage/deployment.js';
import { byteSealer } from '../../storage/envelope/bytes.js';
import { loadMasterKeys } from '../../storage/envelope/key-file.js';
import type { MasterKeys } from '../../storage/envelope/master-key.js';
import { openSecretVersions } from '../../storage/envelope/secret-versions.js';
import { openStore, type Store } from '../../storage/open.js';
import type { SecretVersions } from '../../storage/store.js';
import type { Config } from '../config.js';

export interface Storage {
  readonly store: Store;
  readonly keys: MasterKeys;
  readonly secrets: SecretVersions;
  readonly blobs: Blobs;
}

/**
 * Throws what is wrong with keys, database or directories, before anything is written to them. `onFull`: an org has all the bytes of blobs
 * that it may have.
 */
export async function openStorage(
  config: Config,
  databaseUrl: string,
  onFull: (org: string, quotaBytes: number) => void,
): Promise<Storage> {
  const setting = config.masterKeys?.map((key) => key.toString('base64')).join(',');
  const keys = await loadMasterKeys({ setting, dir: config.dataDir });
  const { sealBytes: seal, openBytes: open } = byteSealer(keys);
  const compaction = { age: config.watchHistorySeconds * 1_000, bytes: config.watchHistoryBytes };
  const store = await openStore({ url: databaseUrl, seal, open, compaction, readers: config.databaseReaders });
  await checkDeployment(store.postgres, { keys, blobDir: config.blobDir });
  const blobs = await openBlobs({
    dir: config.blobDir,
    pool: store.postgres.pool,
    quotaBytes: config.quotaBytes,
    onFull,
    reserveBytes: config.diskReserve,
    unusedSeconds: config.blobKeepSeconds,
    now: store.clock,
  });
  return { store, keys, secrets: openSecretVersions(keys, store.fetchSealed), blobs };
}
