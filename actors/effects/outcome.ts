/** What carrying out an effect may come to. Handlers return it; the runner alone decides what follows. */

import type { HoldRefusal } from '../../src/money/operation.js';

/**
 * Where tries at effects run: what starts work must not hold up what ends it. A start that needs inputs from URLs fetches them in
 * `fetches`, for as long as their servers like, and comes back to `starts` with them. What deletes many objects holds up nothing else
 * of its org.
 */
export type PoolName = 'general' | 'starts' | 'fetches' | 'ends' | 'deletes';

export type EffectOutcome =
  /** Done, now or by an earlier run (every handler is idempotent by the effect's key, I5). */
  | { readonly outcome: 'Done' }
  /** Not now: a target that is busy, storage out of reach. Counted; after the last try it is a failure. */
  | { readonly outcome: 'Retry'; readonly message: string }
  /** Not before an operator acts (a parked target): tried again slowly and without end. */
  | { readonly outcome: 'Wait'; readonly message: string }
  /** Never: it goes back to the object that asked. `shortfall`: money refused it. */
  | {
      readonly outcome: 'Failed';
      readonly reason: string;
      readonly message: string;
      readonly shortfall?: HoldRefusal | undefined;
    };

/** What one try at an effect may come to. */
export type EffectStep =
  | EffectOutcome
  /** One stage is done; the next runs when its pool has a place. This does not count as a failed try. */
  | { readonly outcome: 'Continue'; readonly pool: PoolName };

/** Why the signal of an effect was aborted: one behind it in its lane wants it undone. Otherwise the process stops. */
export const OVERRULED = Symbol('overruled');

export const DONE: EffectOutcome = { outcome: 'Done' };

export function continueIn(pool: PoolName): EffectStep {
  return { outcome: 'Continue', pool };
}

export function wait(message: string): EffectOutcome {
  return { outcome: 'Wait', message };
}

export function retry(message: string): EffectOutcome {
  return { outcome: 'Retry', message };
}
