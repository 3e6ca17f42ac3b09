/** Owns the numbers that rule a Workspace's times. */
import { parseDuration } from '../../api/duration.js';
import type { WorkspaceSpec } from './schema.js';

/** The machine is started so long before it must be ready. */
export const SCHEDULE_LEAD_MS = 15 * 60_000;

/** A Volume that has not answered is asked again after this. */
export const ASK_AGAIN_MS = 10_000;

/** One that is held by somebody else is asked again after this; it tells the first who wait as soon as it is free. */
export const DENIED_AGAIN_MS = 60_000;

/** Undefined: never (`0s`). */
export function idleTimeoutMs(spec: WorkspaceSpec): number | undefined {
  return parseDuration(spec.idleTimeout) || undefined;
}
