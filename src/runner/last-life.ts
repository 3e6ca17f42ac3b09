/**
 * Until when a runner lived. While work is under way it sets the time of its journal's file, and the next runner reads that: work which died with
 * the runner ended then, and not when somebody came back to look, which is what its owner would pay for (a power cut takes hours).
 */
import { statSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 2_000;

export async function showLife(journal: string, isWorking: () => boolean, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const now = new Date();
    // Without it the time is that of the last entry.
    if (isWorking()) await utimes(journal, now, now).catch(() => undefined);
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** ms since the epoch; undefined: it left no journal. */
export function lastLife(journal: string): number | undefined {
  return statSync(journal, { throwIfNoEntry: false })?.mtimeMs;
}
