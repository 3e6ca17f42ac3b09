/**
 * Owns waiting for what starts: a caller that says so is let in as soon as the Sandbox or Workspace runs, instead of being
 * told to come again.
 */
import type { Address } from '../../src/api/address.js';
import { RefusalError } from '../../src/api/refusal.js';
import { attach, type AttachedWork, type AttachDeps } from './attach.js';

/** It is looked at again after this, though no change was heard of (ms). */
const LOOK_MS = 500;

/** At most so long; then, and when the signal is aborted, it is told to come again, as `enter` does. */
export async function attachWhenRunning(
  owner: Address,
  epoch: number | undefined,
  waitMs: number,
  deps: AttachDeps,
  signal: AbortSignal,
): Promise<AttachedWork> {
  const until = deps.now() + waitMs;
  for (;;) {
    try {
      return await attach(owner, epoch, deps);
    } catch (error) {
      const left = until - deps.now();
      if (!isStarting(error) || signal.aborted || left <= 0) throw error;
      await deps.nextChange(owner, Math.min(left, LOOK_MS), signal);
    }
  }
}

function isStarting(error: unknown): boolean {
  if (!(error instanceof RefusalError)) return false;
  return error.refusal.code === 'SandboxStarting' || error.refusal.code === 'WorkspaceStarting';
}
