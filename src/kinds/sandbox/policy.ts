/** Owns the numbers that rule a Sandbox's times. */
import { parseDuration } from '../../api/duration.js';
import type { SandboxSpec } from './schema.js';

/** A start or a stop that takes longer is told of (`sandbox.stuck`). The longest stop by itself takes a minute. */
export const STUCK_MS = 5 * 60_000;

/** Undefined: never (`0s`). */
export function idleTimeoutMs(spec: SandboxSpec): number | undefined {
  return parseDuration(spec.lifecycle.idleTimeout) || undefined;
}

export function maxLifetimeMs(spec: SandboxSpec): number {
  return parseDuration(spec.lifecycle.maxLifetime) ?? 0;
}
