/** Waits in tests: for a condition, with a deadline, never for a time. */
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Between two looks, in ms: an eighth of the time that is waited already. Many tests wait at any time, and each look is work for the service
 * that they wait for.
 */
const pauseAfter = (waitedMs: number): number => Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, waitedMs / 8));
const SHORTEST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 150;

/**
 * Resolves with the first answer that is not undefined or false. A look that throws counts as "not yet"; past the
 * deadline the last error, or what was waited for, is thrown.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 20_000,
): Promise<T> {
  const begun = performance.now();
  let last: unknown;
  do {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await delay(pauseAfter(performance.now() - begun));
  } while (performance.now() < begun + deadlineMs);
  throw new Error(`waited ${deadlineMs} ms in vain until ${what}`, last === undefined ? {} : { cause: last });
}

/** Between two looks of `steady`, ms: longer than anything that still goes on takes for a step. */
const STEADY_MS = 100;

/** Resolves to what a look sees once the next look sees the same: what cannot be waited for by a condition has come to rest. */
export async function steady<T extends number | string>(
  what: string,
  look: () => T,
  betweenMs: number = STEADY_MS,
): Promise<T> {
  let before: T | undefined;
  return until(what, async () => {
    const now = look();
    if (now === before) return { now };
    before = now;
    await delay(betweenMs);
    return undefined;
  }).then(({ now }) => now);
}
