/**
 * Turns of orgs at reads of the ledger that can take long: an org has one under way, the org that has waited longest is next, and some of the
 * connections stay for all other reads. The wait ends, since each read has the time of a statement at most.
 *
 * I10: `atOnce` under way, `mostWaiting` of an org waiting; a further one is TooManyRequests.
 */
import { refuse } from '../../src/api/refusal.js';

export type InTurn = <T>(org: string, run: () => Promise<T>) => Promise<T>;

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

  return async (org, run) => {
    const queue = waiting.get(org) ?? [];
    if (queue.length >= mostWaiting)
      throw refuse('TooManyRequests', `this org has other ${what} under way`, { retryAfterSeconds: 1 });
    await new Promise<void>((go) => {
      queue.push(go);
      waiting.set(org, queue);
      next();
    });
    try {
      return await run();
    } finally {
      running.delete(org);
      next();
    }
  };
}
