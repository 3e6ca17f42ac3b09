/**
 * A process waits for the lease as a standby, is the leader while it holds it, and waits again when it is lost. In between nothing
 * behind HTTP is open, so nothing can write (I3).
 *
 * A take-over that fails because Postgres does not answer, another process migrates, or the disk is full, is tried again, with
 * growing pauses, for as long as it takes. Every other fault ends the process, with what to do.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ComputeEngine } from '../engines/compute/contract/engine.js';
import type { PublicEndpoints } from '../kinds/machine.js';
import { claimDeployment } from '../../storage/deployment.js';
import { isOutage } from '../../storage/errors.js';
import { MigrationUnderWayError } from '../../storage/migration-under-way-error.js';
import { raiseEpoch } from '../../storage/raise-epoch.js';
import { openEngine } from './engine.js';
import type { LeaderFacade } from './leader-facade.js';
import type { Leader, LeaderDeps } from './leader.js';
import { openLeader } from './open-leader.js';
import { privateOnce } from './private-file.js';
import { epochObeyed, raiseRestoredVersions } from './restored.js';
import { anyAborted } from './signals.js';
import { NO_ANSWER, takeLease } from './take-lease.js';

export interface LeadershipOptions extends Omit<LeaderDeps, 'lease' | 'engine' | 'logsSince' | 'endpoints'> {
  readonly facade: Pick<LeaderFacade, 'set'>;
  /** Id of the data directory: a restart on the same one takes over at once. */
  readonly holder: string;
  /** Opens what only the leader listens on, and says where everything is. */
  openEndpoints(): Promise<PublicEndpoints>;
  /** Announces the leader, before it is called ready. */
  onReady(leader: Leader): Promise<void>;
  /** Lets requests under way finish, when the process is to stop. */
  drain(): Promise<void>;
  /** At each end of leading: closes what `openEndpoints` has opened, and takes back what `onReady` has announced. */
  onEnd(): Promise<void>;
}

const STARTING = 'starting: waiting for the lease';
const DISK_FULL = 'the disk of the data directory is full';
const MIGRATING = 'another process is migrating the database';

/** Pause before a failed take-over is tried again (ms): doubles from the first to the second. */
const LEAST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

/** Resolves when `stopping` is aborted and everything that the leader had open is closed. */
export async function runWhileLeader(options: LeadershipOptions, stopping: AbortSignal): Promise<void> {
  const { facade, log } = options;
  facade.set({ state: 'Waiting', missing: STARTING });
  for (let failures = 0; !stopping.aborted;) {
    try {
      await leadOnce(options, stopping);
      failures = 0;
    } catch (error) {
      if (stopping.aborted) return;
      const missing = passingCause(error);
      if (missing === undefined) throw error;
      facade.set({ state: 'Waiting', missing });
      const reason = error instanceof Error ? error.message : 'unknown';
      log.warn({ reason }, `${missing}: this process tries again to take over`);
      const pause = Math.min(LONGEST_PAUSE_MS, LEAST_PAUSE_MS * 2 ** failures);
      await delay(pause, undefined, { signal: stopping }).catch(() => undefined);
      failures += 1;
    }
  }
}

/** What a take-over waits for; undefined: waiting mends nothing. */
function passingCause(error: unknown): string | undefined {
  if (error instanceof MigrationUnderWayError) return MIGRATING;
  if (isDiskFull(error)) return DISK_FULL;
  return isOutage(error) ? NO_ANSWER : undefined;
}

/** A start writes some small files, too. */
const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');

/** Waits for the lease and leads until it is lost or `stopping` is aborted. */
async function leadOnce(options: LeadershipOptions, stopping: AbortSignal): Promise<void> {
  const { facade, log, store, config } = options;
  const lease = await takeLease(options, stopping);
  if (lease === undefined) return;
  facade.set({ state: 'Waiting', missing: 'recovering the work that was running' });
  let engine: ComputeEngine | undefined;
  let obeyed: number | undefined;
  try {
    const own = { keys: options.keys, blobDir: config.blobDir, runnerDir: config.runnerDir };
    const { logsSince } = await claimDeployment(store.postgres, own, (file) => privateOnce(file, randomUUID));
    engine = await openEngine(config, store.clusterId, lease.epoch, log);
    obeyed = await epochObeyed(lease, engine, log);
    if (obeyed === undefined) {
      await raiseRestoredVersions(config.dataDir, store, lease, log);
      await serve({ ...options, lease, engine, logsSince }, stopping);
    }
  } catch (error) {
    // A lease that is lost in the middle of opening fails whatever was being written: that is no fault of this process.
    if (!lease.lost.aborted && !stopping.aborted) throw error;
  } finally {
    await engine?.close();
    await lease.release();
  }
  if (obeyed !== undefined) await raiseEpoch(store.postgres, lease.epoch, obeyed);
  else if (!stopping.aborted) {
    log.warn({ epoch: lease.epoch }, 'the lease is lost: this process writes nothing more and waits as a standby');
  }
}

async function serve(options: LeadershipOptions & Omit<LeaderDeps, 'endpoints'>, stopping: AbortSignal): Promise<void> {
  const { facade, lease } = options;
  try {
    const leader = await openLeader({ ...options, endpoints: await options.openEndpoints() });
    try {
      await options.onReady(leader);
      facade.set({ state: 'Leading', leader });
      await anyAborted(lease.lost, stopping);
      if (stopping.aborted) await options.drain();
    } finally {
      facade.set({ state: 'Waiting', missing: 'the lease was lost or given up' });
      await leader.close();
    }
  } finally {
    await options.onEnd();
  }
}
