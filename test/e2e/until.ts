/** Waits in tests: for a condition, with a deadline, never for a time. */
import { setTimeout as delay } from 'node:timers/promises';

/** Between two looks, in ms: short against what is waited for, long against a request. */
const LOOK_MS = 50;

/**
 * Resolves with the first answer that is not undefined or false. A look that throws counts as "not yet"; past the
 * deadline the last error, or what was waited for, is thrown.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 20_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  let last: unknown;
  do {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await delay(LOOK_MS);
  } while (performance.now() < end);
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
