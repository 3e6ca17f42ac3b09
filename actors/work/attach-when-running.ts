/** Waits for an object whose work starts, such as a Sandbox: a caller that asks for it is attached as soon as it runs, instead of being refused. */
import type { Address } from '../../src/api/address.js';
import { RefusalError } from '../../src/api/refusal.js';
import { attach, refusalsOf, type AttachedWork, type AttachDeps } from './attach.js';

/** The object is read again after this, even without a change (ms). */
const LOOK_MS = 500;

/** Waits `waitMs` at most; then, and when the signal is aborted, refuses as `attach` does. */
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
      if (!isStarting(error, owner.kind) || signal.aborted || left <= 0) throw error;
      await deps.nextChange(owner, Math.min(left, LOOK_MS), signal);
    }
  }
}

function isStarting(error: unknown, kind: string): boolean {
  const { starting, notRunning } = refusalsOf(kind);
  return starting !== notRunning && error instanceof RefusalError && error.refusal.code === starting;
}
