/** What tests ask of an Attempt of the small world: its epoch, whose it is, and whether anything of it may still run. */
import type { Entity } from './entity.js';
import { attemptSpecOf, attemptStatusOf, workOf } from './views.js';

export function epochOf(attempt: Entity): number {
  return attemptSpecOf(attempt.object).epoch;
}

export function isOf(attempt: Entity, ownerUid: string): boolean {
  return attempt.object.metadata.ownerReferences?.some(({ uid }) => uid === ownerUid) === true;
}

export function isUnderWay({ object }: Entity): boolean {
  const { phase } = attemptStatusOf(object);
  return phase === 'Queued' || phase === 'Provisioning' || phase === 'Running';
}

/** It may still run something: it has not ended, or nobody has proven what is left of it. */
export function isLeft(attempt: Entity): boolean {
  return isUnderWay(attempt) || ['Live', 'Going'].includes(workOf(attempt.private));
}
