/**
 * Owns waiting for what starts: a caller that says so is let in as soon as the Sandbox or Workspace runs, instead of being
 * told to come again. It looks at the object's current bytes, which are in memory: a look costs less than a watcher of its own.
 */
import type { Address } from '../../src/api/address.js';
import { RefusalError } from '../../src/api/refusal.js';
import { delay } from '../wait.js';
import { enter, type Entered, type EntranceDeps } from './entrance.js';

/** Between two looks (ms): the first follow closely, since an isolate starts in some ten milliseconds. */
const FIRST_MS = 1;
const LAST_MS = 20;

/** At most so long; then, and when the signal is aborted, it is told to come again, as `enter` does. */
export async function enterOnceStarted(
  owner: Address,
  epoch: number | undefined,
  waitMs: number,
  deps: EntranceDeps,
  signal: AbortSignal,
): Promise<Entered> {
  const until = deps.now() + waitMs;
  for (let pause = FIRST_MS; ; pause = Math.min(pause * 1.3, LAST_MS)) {
    try {
      return await enter(owner, epoch, deps);
    } catch (error) {
      if (!isStarting(error) || signal.aborted || deps.now() >= until) throw error;
    }
    await delay(pause, signal);
  }
}

function isStarting(error: unknown): boolean {
  if (!(error instanceof RefusalError)) return false;
  return error.refusal.code === 'SandboxStarting' || error.refusal.code === 'WorkspaceStarting';
}
