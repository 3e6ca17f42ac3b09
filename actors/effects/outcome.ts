/** Owns what carrying out an effect may come to. Handlers return it; the runner alone decides what follows. */

export type EffectOutcome =
  /** Done, now or by an earlier run (every handler is idempotent by the effect's key, I5). */
  | { readonly outcome: 'Done' }
  /** Not now: a target that is busy, storage out of reach. Counted; after the last try it is a failure. */
  | { readonly outcome: 'Retry'; readonly message: string }
  /** Not before somebody acts (a parked target): tried again slowly and without end. */
  | { readonly outcome: 'Wait'; readonly message: string }
  /** Never: the object that asked is told. */
  | { readonly outcome: 'Failed'; readonly reason: string; readonly message: string };

/** Why the signal of an effect was aborted: one behind it in its lane wants it undone. Otherwise the process stops. */
export const OVERRULED = Symbol('overruled');

export const DONE: EffectOutcome = { outcome: 'Done' };

export function wait(message: string): EffectOutcome {
  return { outcome: 'Wait', message };
}

export function retry(message: string): EffectOutcome {
  return { outcome: 'Retry', message };
}
