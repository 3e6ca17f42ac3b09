/**
 * Turns of orgs at reads of the ledger that can take long: an org has one under way, the org that has waited longest is next, and some of the
 * connections stay for all other reads. A wait ends with its signal, and leaves its place in the queue then.
 *
 * I10: `atOnce` under way, `mostWaiting` of an org waiting; a further one is TooManyRequests.
 */
import { refuse } from '../../src/api/refusal.js';

export type InTurn = <T>(org: string, signal: AbortSignal, run: () => Promise<T>) => Promise<T>;

export interface TurnLimits {
  readonly atOnce: number;
  readonly mostWaiting: number;
  /** What is read, for the refusal: `sums of its spending`. */
  readonly what: string;
}

export function openTurns({ atOnce, mostWaiting, what }: TurnLimits): InTurn {
  const running = new Set<string>();
  /** What waits, by org; those orgs first that have waited longest for a turn. */
  const waiting = new Map<string, (() => void)[]>();

  function next(): void {
    for (const [org, queue] of waiting) {
      if (running.size >= atOnce) return;
      if (running.has(org)) continue;
      const go = queue.shift();
      // Behind all others, if it has more.
      waiting.delete(org);
      if (queue.length > 0) waiting.set(org, queue);
      if (go === undefined) continue;
      running.add(org);
      go();
    }
  }

  /** A wait that was given up takes no turn. */
  function leave(org: string, go: () => void): void {
    const queue = waiting.get(org);
    const at = queue?.indexOf(go) ?? -1;
    if (queue === undefined || at === -1) return;
    queue.splice(at, 1);
    if (queue.length === 0) waiting.delete(org);
  }

  function turnOf(org: string, queue: (() => void)[], signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
      const stop = (): void => {
        leave(org, go);
        reject(refuse('Unavailable', `this org has other ${what} under way`, { retryAfterSeconds: 1 }));
      };
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop, { once: true });
      queue.push(go);
      waiting.set(org, queue);
      next();
    });
  }

  return async (org, signal, run) => {
    const queue = waiting.get(org) ?? [];
    if (queue.length >= mostWaiting)
      throw refuse('TooManyRequests', `this org has other ${what} under way`, { retryAfterSeconds: 1 });
    await turnOf(org, queue, signal);
    try {
      return await run();
    } finally {
      running.delete(org);
      next();
    }
  };
}
