/**
 * Owns the terms of a process: it waits for the lease as a standby, is the active one while it holds it, and goes back to
 * waiting when it is lost. Between terms nothing of the rooms behind the front door is open, so nothing can write (I3).
 */
import type { ComputeEngine } from '../src/engines/compute/engine.js';
import { openActive, type Active, type ActiveDeps } from './active.js';
import { openEngine } from './engine.js';
import type { Front } from './front.js';
import { anyAborted } from './signals.js';

export interface TermsOptions extends Omit<ActiveDeps, 'lease' | 'engine'> {
  readonly front: Pick<Front, 'set'>;
  /** Id of the data directory: a restart on the same one takes over at once. */
  readonly holder: string;
  /** What a term leaves for people, before it is called ready. */
  welcome(active: Active): Promise<void>;
  /** Lets requests under way finish, at the end of the last term. */
  drain(): Promise<void>;
}

/** Resolves when `stopping` is aborted and the last term is closed. */
export async function serveTerms(options: TermsOptions, stopping: AbortSignal): Promise<void> {
  const { front, log, holder, store, config } = options;
  while (!stopping.aborted) {
    front.set({ state: 'Waiting', missing: 'standby: another server holds the lease' });
    const onWaiting = (by: string): void => log.info({ by }, 'standby: another process is the active one');
    const ttl = config.leaseSeconds * 1_000;
    const lease = await store.acquire({ holder, ttl, onWaiting }, stopping).catch(() => undefined);
    if (!lease) return;
    front.set({ state: 'Waiting', missing: 'recovering the work that was running' });
    let engine: ComputeEngine | undefined;
    try {
      engine = await openEngine(config, store.clusterId, lease.epoch, log);
      const active = await openActive({ ...options, lease, engine });
      try {
        await options.welcome(active);
        front.set({ state: 'Active', active });
        await anyAborted(lease.lost, stopping);
        if (stopping.aborted) await options.drain();
      } finally {
        front.set({ state: 'Waiting', missing: 'the lease was lost or given up' });
        await active.close();
      }
    } catch (error) {
      // A lease that is lost in the middle of opening fails whatever was being written: that is no fault of this process.
      if (!lease.lost.aborted && !stopping.aborted) throw error;
    } finally {
      await engine?.close();
      await lease.release();
    }
    if (!stopping.aborted) {
      log.warn({ epoch: lease.epoch }, 'the lease is lost: this process writes nothing more and waits as a standby');
    }
  }
}
