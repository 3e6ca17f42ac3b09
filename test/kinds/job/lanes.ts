/** Which effects wait for each other: those of one object on one target, as in the effect runner. */
import { addressKey } from '../../../src/api/address.js';
import type { LaterEffect } from '../../../src/kinds/effect.js';
import type { Entity } from './entity.js';

export interface Task {
  readonly from: Entity;
  readonly effect: LaterEffect;
  readonly stored: boolean;
  /** Of the commit that asked for it. */
  readonly version: number;
}

export function laneOf({ from, effect, stored }: Task): string {
  return `${from.uid}>${stored ? '' : 'volatile '}${targetOf(from, effect)}`;
}

/** Effects on one target keep their order; that a child is made and that it is told something are two targets. */
function targetOf(from: Entity, effect: LaterEffect): string {
  switch (effect.type) {
    case 'Tell':
      return addressKey(effect.to);
    case 'CreateChild':
    case 'PatchChild':
    case 'DeleteChild':
      return `child ${effect.kind}/${effect.name} of ${from.uid}`;
    case 'StartWork':
    case 'StopWork':
    case 'RemoveWork':
      return 'work';
    default:
      return effect.type;
  }
}
