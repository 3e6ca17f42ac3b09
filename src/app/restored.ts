/**
 * The operator's word that the database was restored from a backup (`OPERATING.md`): the file `restored` in the data directory. The
 * next process that becomes the active one raises the versions, and then removes the file. One that ends in between raises them twice.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { raiseVersions } from '../../storage/raise-versions.js';
import type { Store } from '../../storage/open.js';
import type { Lease } from '../../storage/store.js';
import type { Log } from './log.js';

export async function heedRestored(
  dataDir: string,
  { postgres }: Pick<Store, 'postgres'>,
  lease: Lease,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  const mark = join(dataDir, 'restored');
  if (!existsSync(mark)) return;
  const version = await raiseVersions(postgres, lease.epoch);
  if (version === undefined) return;
  await rm(mark, { force: true });
  log.warn(
    { version },
    'the database was restored from a backup: versions go on above all that it can have given before',
  );
}
