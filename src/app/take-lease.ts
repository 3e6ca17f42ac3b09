/** The wait of a standby for the lease: what `/readyz` and the log say of it meanwhile. */
import type { Store } from '../../storage/open.js';
import type { Lease } from '../../storage/store.js';
import type { Config } from '../config.js';
import type { LeaderFacade } from './leader-facade.js';
import type { Log } from './log.js';

export interface TakeLeaseDeps {
  readonly facade: Pick<LeaderFacade, 'set'>;
  readonly log: Log;
  readonly holder: string;
  readonly store: Pick<Store, 'acquire'>;
  readonly config: Pick<Config, 'leaseSeconds'>;
}

const STANDBY = 'standby: another server holds the lease';
export const NO_ANSWER = 'Postgres does not answer';

/** Undefined: `stopping` was aborted. */
export async function takeLease(
  { facade, log, holder, store, config }: TakeLeaseDeps,
  stopping: AbortSignal,
): Promise<Lease | undefined> {
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
    return await store.acquire({ holder, ttl: config.leaseSeconds * 1_000, ...wait }, stopping);
  } catch (error) {
    if (stopping.aborted) return undefined;
    throw error;
  }
}
