/** The pauses between tries of what the machine cannot do now, and how long the end of work waits for such tries. */
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The end of work waits this long (ms) for room to keep its outputs, its logs and the end itself; then it is reported without what could
 * not be kept. Vital outputs are waited for without end.
 */
export const PATIENCE_MS = 15 * 60_000;

const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 60_000;

export class Retry {
  private pause = FIRST_PAUSE_MS;
  private readonly abandoned: AbortSignal;

  constructor(abandoned: AbortSignal) {
    this.abandoned = abandoned;
  }

  /** Waits for the next try, twice as long as for the one before, at most a minute. False: nobody wants it any more. */
  async again(): Promise<boolean> {
    await delay(this.pause, undefined, { signal: this.abandoned }).catch(() => undefined);
    this.pause = Math.min(this.pause * 2, LAST_PAUSE_MS);
    return !this.abandoned.aborted;
  }
}

/** How long the end of one piece of work may wait. */
export interface Patience {
  readonly abandoned: AbortSignal;
  /** True until PATIENCE_MS are over. */
  lasts(): boolean;
}

export function patience(now: () => number, abandoned: AbortSignal): Patience {
  const until = now() + PATIENCE_MS;
  return { abandoned, lasts: () => !abandoned.aborted && now() < until };
}
