/**
 * The terms of a process: it waits for the lease as a standby, is the active one while it holds it, and goes back to waiting
 * when it is lost. Between terms nothing of the rooms behind the front door is open, so nothing can write (I3).
 *
 * A term that begins while Postgres does not answer, another process migrates, or the disk is full, is tried again, with growing pauses: the process waits as long as it takes. Everything else that keeps a term from beginning ends the process, with what to do.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ComputeEngine } from '../engines/compute/contract/engine.js';
import type { PublicEndpoints } from '../kinds/machine.js';
import { claimDeployment } from '../../storage/deployment.js';
import { isOutage } from '../../storage/errors.js';
import { MigrationUnderWayError } from '../../storage/migrating.js';
import { raiseEpoch } from '../../storage/raise-epoch.js';
import type { Lease } from '../../storage/store.js';
import { openActive, type Active, type ActiveDeps } from './active.js';
import { openEngine } from './engine.js';
import type { LeaderFacade } from './leader-facade.js';
import { privateOnce } from './private-file.js';
import { heedRestored } from './restored.js';
import { anyAborted } from './signals.js';

export interface LeadershipOptions extends Omit<ActiveDeps, 'lease' | 'engine' | 'logsSince' | 'endpoints'> {
  readonly facade: Pick<LeaderFacade, 'set'>;
  /** Id of the data directory: a restart on the same one takes over at once. */
  readonly holder: string;
  /** Opens what only the active process listens on, and says where everything is. */
  openEndpoints(): Promise<PublicEndpoints>;
  /** What a term leaves for people, before it is called ready. */
  welcome(active: Active): Promise<void>;
  /** Lets requests under way finish, at the end of the last term. */
  drain(): Promise<void>;
  /** At the end of each term: closes what `openEndpoints` has opened, and takes back what `welcome` has announced. */
  leave(): Promise<void>;
}

const STARTING = 'starting: waiting for the lease';
const STANDBY = 'standby: another server holds the lease';
const NO_ANSWER = 'Postgres does not answer';
const DISK_FULL = 'the disk of the data directory is full';
const MIGRATING = 'another process is migrating the database';

/** Pause before a term that Postgres has failed is tried again (ms): doubles from the first to the second. */
const LEAST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** Longest wait for the engine to say whose orders it has obeyed (ms). */
const EPOCH_MS = 10_000;

/** Resolves when `stopping` is aborted and the last term is closed. */
export async function runWhileLeader(options: LeadershipOptions, stopping: AbortSignal): Promise<void> {
  const { facade, log } = options;
  facade.set({ state: 'Waiting', missing: STARTING });
  for (let failures = 0; !stopping.aborted;) {
    try {
      await serveTerm(options, stopping);
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

/** What a term waits for; undefined: waiting mends nothing. */
function passingCause(error: unknown): string | undefined {
  if (error instanceof MigrationUnderWayError) return MIGRATING;
  if (isDiskFull(error)) return DISK_FULL;
  return isOutage(error) ? NO_ANSWER : undefined;
}

/** A start writes some small files, too. */
const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');

/** Waits for the lease and serves until it is lost or `stopping` is aborted. */
async function serveTerm(options: LeadershipOptions, stopping: AbortSignal): Promise<void> {
  const { facade, log, store, config } = options;
  const lease = await takeLease(options, stopping);
  if (lease === undefined) return;
  facade.set({ state: 'Waiting', missing: 'recovering the work that was running' });
  let engine: ComputeEngine | undefined;
  let ahead: number | undefined;
  try {
    const own = { keys: options.keys, blobDir: config.blobDir, runnerDir: config.runnerDir };
    const { logsSince } = await claimDeployment(store.postgres, own, (file) => privateOnce(file, randomUUID));
    engine = await openEngine(config, store.clusterId, lease.epoch, log);
    ahead = await aheadOf(lease, engine, log);
    if (ahead === undefined) {
      await heedRestored(config.dataDir, store, lease, log);
      await serve({ ...options, lease, engine, logsSince }, stopping);
    }
  } catch (error) {
    // A lease that is lost in the middle of opening fails whatever was being written: that is no fault of this process.
    if (!lease.lost.aborted && !stopping.aborted) throw error;
  } finally {
    await engine?.close();
    await lease.release();
  }
  if (ahead !== undefined) await raiseEpoch(store.postgres, lease.epoch, ahead);
  else if (!stopping.aborted) {
    log.warn({ epoch: lease.epoch }, 'the lease is lost: this process writes nothing more and waits as a standby');
  }
}

/** Undefined: `stopping` was aborted. */
async function takeLease(
  { facade, log, holder, store, config }: LeadershipOptions,
  stopping: AbortSignal,
): Promise<Lease | undefined> {
  const ttl = config.leaseSeconds * 1_000;
  let silent = false;
  const wait = {
    onWaiting(by: string): void {
      silent = false;
      facade.set({ state: 'Waiting', missing: STANDBY });
      log.info({ by }, 'standby: another process is the active one');
    },
    onNoAnswer(): void {
      facade.set({ state: 'Waiting', missing: NO_ANSWER });
      if (!silent) log.warn('Postgres does not answer: this process waits for it');
      silent = true;
    },
  };
  try {
    return await store.acquire({ holder, ttl, ...wait }, stopping);
  } catch (error) {
    if (stopping.aborted) return undefined;
    throw error;
  }
}

/**
 * The epoch that the engine has obeyed, when it is above this lease's: then the database is older than what runs, and the next lease
 * has to be above both. The engine is asked only while the lease holds, so a later process is not mistaken for that.
 */
async function aheadOf(
  lease: Lease,
  engine: ComputeEngine | undefined,
  log: ActiveDeps['log'],
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

/** The term itself: everything is open while it lasts. */
async function serve(options: LeadershipOptions & Omit<ActiveDeps, 'endpoints'>, stopping: AbortSignal): Promise<void> {
  const { facade, lease } = options;
  try {
    const active = await openActive({ ...options, endpoints: await options.openEndpoints() });
    try {
      await options.welcome(active);
      facade.set({ state: 'Active', active });
      await anyAborted(lease.lost, stopping);
      if (stopping.aborted) await options.drain();
    } finally {
      facade.set({ state: 'Waiting', missing: 'the lease was lost or given up' });
      await active.close();
    }
  } finally {
    await options.leave();
  }
}
