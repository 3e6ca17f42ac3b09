/** Owns which effects keep their order among each other: one lane per object and target. Pure. */
import { addressKey, type Address } from '../../src/api/address.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { StoredEffects } from '../../storage/store.js';

/** One effect of one stored row. */
export interface EffectTask {
  readonly row: StoredEffects;
  readonly effect: LaterEffect;
}

/** One lane per object and target: effects on one target keep their order, others do not wait for them. */
export function laneKey({ row, effect }: EffectTask): string {
  return `${row.uid}>${targetOf(row.address, effect)}`;
}

export function targetOf(address: Address, effect: LaterEffect): string {
  switch (effect.type) {
    case 'Tell':
      return addressKey(effect.to);
    // The same as of a letter to it: what a child is told comes after it was made.
    case 'CreateChild':
      return addressKey({
        ...address,
        kind: effect.kind,
        project: effect.project ?? address.project,
        name: effect.name,
      });
    case 'DeleteChild':
      return addressKey({ ...address, kind: effect.kind, name: effect.name });
    case 'CollectChildren':
      return 'children';
    case 'CollectProject':
      return 'project';
    case 'StartWork':
    case 'StopWork':
    case 'RemoveWork':
      return 'work';
    case 'CountPlaces':
      return addressKey(address);
    case 'AbandonDeliveries':
      return 'deliveries';
  }
}

/**
 * Where effects find a place to run: what starts work must not hold up what ends it. A start that needs inputs from URLs fetches them in
 * `fetches`, for as long as their servers like, and comes back to `starts` with them.
 */
export type PoolName = 'letters' | 'starts' | 'fetches' | 'ends';

export function poolOf({ type }: LaterEffect): PoolName {
  switch (type) {
    case 'StartWork':
      return 'starts';
    case 'StopWork':
    case 'RemoveWork':
      return 'ends';
    default:
      return 'letters';
  }
}

/** True when `later`, which came behind `earlier` in its lane, makes it needless: it ends at once, and in its own way. */
export function overrules(later: LaterEffect, earlier: LaterEffect): boolean {
  return (
    earlier.type === 'StartWork' &&
    (later.type === 'StopWork' || later.type === 'RemoveWork') &&
    later.epoch === earlier.epoch
  );
}
