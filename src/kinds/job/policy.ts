/** Owns the numbers that rule a Job's retries and times, read from its spec. Source: decisions, "Small points". */
import { parseDuration } from '../../api/duration.js';
import { DEFAULT_MAX_ATTEMPTS } from '../shapes/recovery.js';
import type { JobSpec } from './schema.js';

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 60_000;

/** How long the work has between SIGTERM and SIGKILL. */
export const STOP_GRACE_SECONDS = 30;

/** Finished Attempts kept per index; older ones are deleted. */
export const KEPT_ATTEMPTS = 10;

/** After this, letters and children that could not be delivered are tried again. */
export const RESYNC_MS = 10_000;

/** 1 s, doubling to 1 m, from the first failure on. */
export function failureDelay(failures: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, failures - 1));
}

/** The first replacement starts at once; when capacity goes on failing, later ones wait like failures do. */
export function replacementDelay(lost: number): number {
  return lost <= 1 ? 0 : failureDelay(lost - 1);
}

export function maxAttempts(spec: JobSpec): number {
  return spec.recovery?.maxAttempts ?? DEFAULT_MAX_ATTEMPTS;
}

/** Undefined: no limit. */
export function timeoutMs(spec: JobSpec): number | undefined {
  return spec.timeout === undefined ? undefined : parseDuration(spec.timeout);
}
