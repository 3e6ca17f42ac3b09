/**
 * Makes one try at an effect and decides what follows: it is done, tried again after a back-off, given back to its object, or left
 * until an operator acts.
 *
 * An effect that fails past its tries, or for good, returns to its object as `EffectFailed`, a message like any other. When that
 * object is gone, nothing is left to decide what follows: a fault that may pass is then tried again without end, and a lasting one
 * ends the effect.
 */
import { RefusalError } from '../../src/api/refusal.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { HoldRefusal } from '../../src/money/operation.js';
import type { Delivery } from '../mailbox.js';
import type { EffectTask } from './definition.js';
import type { EffectStep, PoolName } from './outcome.js';
import type { Lane } from './pools.js';
import { isStored } from './room.js';

export interface TryDeps {
  carryOut(lane: Lane, task: EffectTask): Promise<EffectStep>;
  /** Gives a failed effect back to its object; resolves when it is decided. */
  giveBack(task: EffectTask, reason: string, message: string, shortfall?: HoldRefusal): Promise<Delivery>;
  chance(): number;
  onOutcome(type: LaterEffect['type'], outcome: EffectStep['outcome']): void;
  /** Before the second try of what failed (ms); doubled with each. */
  readonly firstBackoffMs?: number | undefined;
}

export type Tried =
  /** Its target waits for an operator. */
  | { readonly next: 'Waiting' }
  /** The object that it is to be given back to waits for an operator. */
  | { readonly next: 'Resting' }
  /** It goes on at once, in a place of another pool. */
  | { readonly next: 'Continues'; readonly pool: PoolName }
  /** Another try comes after so many milliseconds. */
  | { readonly next: 'Again'; readonly afterMs: number }
  /** It is done or given back. */
  | { readonly next: 'Finished' };

const MAX_TRIES = 9;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 15_000;

const FINISHED: Tried = { next: 'Finished' };

export async function tryEffect(lane: Lane, task: EffectTask, deps: TryDeps): Promise<Tried> {
  const knew = lane.overruled;
  const outcome = await carryOut(lane, task, deps);
  deps.onOutcome(task.effect.type, outcome.outcome);
  switch (outcome.outcome) {
    case 'Done':
      return FINISHED;
    case 'Continue':
      return { next: 'Continues', pool: outcome.pool };
    case 'Wait':
      return { next: 'Waiting' };
    case 'Retry':
      lane.tries += 1;
      if (lane.tries >= MAX_TRIES && isStored(task)) {
        const given = await deps.giveBack(task, 'RetriesExhausted', outcome.message);
        if (given === 'Done') return FINISHED;
        if (given === 'Parked') return { next: 'Resting' };
      }
      return { next: 'Again', afterMs: lane.overruled && !knew ? 0 : backoff(lane.tries, deps) };
    case 'Failed': {
      if (!isStored(task)) {
        // Only the sender of a message waits for it; when this is lost, it sends the message again.
        if (task.effect.type === 'Tell') await deps.giveBack(task, outcome.reason, outcome.message);
        return FINISHED;
      }
      lane.tries += 1;
      const given = await deps.giveBack(task, outcome.reason, outcome.message, outcome.shortfall);
      if (given === 'Done' || given === 'Absent') return FINISHED;
      return given === 'Parked' ? { next: 'Resting' } : { next: 'Again', afterMs: backoff(lane.tries, deps) };
    }
  }
}

async function carryOut(lane: Lane, task: EffectTask, deps: TryDeps): Promise<EffectStep> {
  try {
    return await deps.carryOut(lane, task);
  } catch (error) {
    return { outcome: 'Retry', message: describeFault(error) };
  }
}

function backoff(tries: number, { firstBackoffMs = FIRST_BACKOFF_MS, chance }: TryDeps): number {
  const full = Math.min(MAX_BACKOFF_MS, firstBackoffMs * 2 ** (tries - 1));
  return full / 2 + (full / 2) * chance();
}

/** What may be shown to the owner of an object: our own words, or a bare code; never a path of this machine (I11). */
function describeFault(error: unknown): string {
  if (error instanceof RefusalError) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return `a fault of the service (${code ?? (error instanceof Error ? error.name : typeof error)})`;
}
