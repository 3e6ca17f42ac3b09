/**
 * When a failed delivery is tried again: after 30 s, doubling to 8 h, for 3 days after the event. Pure.
 * Source: spec, "Delivery rules" 1.
 */
export const FIRST_WAIT_MS = 30_000;
export const LONGEST_WAIT_MS = 8 * 3_600_000;
export const WINDOW_MS = 3 * 24 * 3_600_000;
/** Share of the wait that chance may add, so that many that failed together do not come back together. */
export const MOST_JITTER = 0.1;

export interface Failed {
  /** Attempts that have ended, this one included. */
  readonly attempts: number;
  /** When the time for attempts began (ms). */
  readonly began: number;
  readonly now: number;
  /** From 0 to 1. */
  readonly chance: number;
}

/** When the next attempt is due (ms); undefined: that would be after the end of its time. */
export function nextAttempt({ attempts, began, now, chance }: Failed): number | undefined {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS);
  const due = Math.round(now + wait * (1 + MOST_JITTER * chance));
  return due <= began + WINDOW_MS ? due : undefined;
}
