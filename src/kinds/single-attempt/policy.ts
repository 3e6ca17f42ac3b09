/** Owns the numbers that rule starts, ends and times of what runs one Attempt at a time. */
import { DEFAULT_MAX_ATTEMPTS } from '../shapes/recovery.js';

/** Between SIGTERM and SIGKILL. */
export const STOP_GRACE_SECONDS = 30;

/** Finished Attempts that are kept; older ones are deleted. */
export const KEPT_ATTEMPTS = 10;

/** After this, letters and children that could not be delivered are tried again. */
export const RESYNC_MS = 10_000;

/** What ends is asked again after this. Most have ended long before, and their timers never reach a queue. */
export const ENDING_RESYNC_MS = 2 * 60_000;

/** Attempts lost one after another until it is given up. */
export const MAX_LOST = DEFAULT_MAX_ATTEMPTS;

/** One that ran for so long before it was lost is not one of a row. */
export const STEADY_MS = 10 * 60_000;

/** What was said to be under way and is not said again within this has ended with whoever said it: three of its minutes. */
export const BUSY_LAPSE_MS = 3 * 60_000;

/** The first replacement starts at once; when capacity goes on failing, later ones wait 1 s, doubling to 1 m. */
export function recoveryDelayMs(lost: number): number {
  return lost <= 1 ? 0 : Math.min(60_000, 1000 * 2 ** (lost - 2));
}
