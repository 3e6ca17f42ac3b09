/**
 * Waits for one object to change: the commit ends the wait, before its writer is answered. A wait misses what came before it, so the
 * caller reads the object in the same turn, and gives each wait a bound.
 *
 * I10: as many waits as there are callers; an address without any costs nothing.
 */
import { addressKey, type Address } from '../src/api/address.js';
import type { CommittedChange } from '../storage/commit/request.js';
import { delay } from './wait.js';

export interface NextChange {
  committed(change: CommittedChange): void;
  /** Resolves with the object's next change, after `atMostMs`, or with the signal. Never rejects. */
  wait(address: Address, atMostMs: number, signal: AbortSignal): Promise<void>;
}

export function openNextChange(): NextChange {
  const waiting = new Map<string, Set<AbortController>>();
  return {
    committed({ address }) {
      if (waiting.size === 0) return;
      for (const wake of waiting.get(addressKey(address)) ?? []) wake.abort();
    },
    async wait(address, atMostMs, signal) {
      if (signal.aborted) return;
      const key = addressKey(address);
      const wake = new AbortController();
      const stop = (): void => wake.abort();
      const all = waiting.get(key) ?? new Set();
      waiting.set(key, all.add(wake));
      signal.addEventListener('abort', stop, { once: true });
      await delay(atMostMs, wake.signal);
      signal.removeEventListener('abort', stop);
      all.delete(wake);
      if (all.size === 0) waiting.delete(key);
    },
  };
}
