/**
 * How a new leader finds out that the database was restored from a backup, and is older than what runs and what clients have seen:
 * by the epoch that the engine has obeyed, and by the operator's word (`OPERATING.md`), the file `restored` in the data directory.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ComputeEngine } from '../engines/compute/contract/engine.js';
import { raiseVersions } from '../../storage/raise-versions.js';
import type { Store } from '../../storage/open.js';
import type { Lease } from '../../storage/store.js';
import type { Log } from './log.js';

/** Longest wait for the engine to say which epoch it has obeyed (ms). */
const EPOCH_MS = 10_000;

/**
 * The epoch that the engine has obeyed, when it is above this lease's: the next lease has to be above both. The engine is asked only
 * while the lease holds, so a later process is not mistaken for that.
 */
export async function epochObeyed(
  lease: Lease,
  engine: Pick<ComputeEngine, 'epochSeen'> | undefined,
  log: Pick<Log, 'warn'>,
): Promise<number | undefined> {
  // A daemon that does not answer now refuses orders by itself, as long as it does not.
  const seen = await engine?.epochSeen?.(AbortSignal.timeout(EPOCH_MS)).catch(() => undefined);
  if (seen === undefined || seen <= lease.epoch || !Number.isSafeInteger(seen) || !lease.held()) return undefined;
  log.warn(
    { epoch: lease.epoch, obeyed: seen },
    'what runs here has obeyed a later process: the database was restored from a backup. Its epoch and its versions are raised',
  );
  return seen;
}

/** Raises the versions and then removes the file. A process that ends in between has the next one raise them again. */
export async function raiseRestoredVersions(
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
