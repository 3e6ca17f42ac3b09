/**
 * What the table of effects (`table.ts`) says of one effect that is carried out after its commit. Such an effect is stored with the
 * state that asked for it, runs at least once, and `run` is idempotent (I5).
 */
import type { Address } from '../../src/api/address.js';
import type { Effect, LaterEffect } from '../../src/kinds/effect.js';
import type { StoredEffects } from '../../storage/store.js';
import type { EffectStep, PoolName } from './outcome.js';

export type EffectOf<Type extends Effect['type']> = Extract<Effect, { readonly type: Type }>;

/** One effect of one stored row. */
export interface EffectTask {
  readonly row: StoredEffects;
  readonly effect: LaterEffect;
}

/** One try at one effect. */
export interface EffectTry {
  /** Aborts with the reason OVERRULED when a later effect of the lane wants this one undone, and when the process stops. */
  readonly signal: AbortSignal;
  /** Where this try runs. */
  readonly pool: PoolName;
  /** Resolves when the volatile messages to this address that are in hand now are done, or the process stops. */
  messagesSent(to: Address): Promise<void>;
}

export interface LaterEffectDefinition<Type extends LaterEffect['type'], Deps> {
  /** Where its first try runs. */
  readonly pool: PoolName | ((effect: EffectOf<Type>) => PoolName);
  /** Effects of one object in the same lane keep their order; other lanes do not wait for them. `asking` is the object. */
  readonly laneOf: (effect: EffectOf<Type>, asking: Address) => string;
  /** True when this effect makes `earlier`, which is before it in its lane, needless: that one ends at once, in its own way. */
  readonly overrules?: (effect: EffectOf<Type>, earlier: LaterEffect) => boolean;
  readonly run: (row: StoredEffects, effect: EffectOf<Type>, deps: Deps, attempt: EffectTry) => Promise<EffectStep>;
}
