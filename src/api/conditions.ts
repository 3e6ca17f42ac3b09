/** How `status.conditions` change: one condition per type, and a transition time that moves only with the status. */
import type { Condition } from './object.js';
import { rfc3339 } from './time.js';

export type NextCondition = Omit<Condition, 'lastTransitionTime'>;

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/**
 * The conditions with `next` in them. `lastTransitionTime` stays while the status stays; when nothing differs at all the
 * same array comes back, so that a machine sees that nothing changed. `now` is in milliseconds.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  next: NextCondition,
  now: number,
): readonly Condition[] {
  const before = findCondition(conditions, next.type);
  if (conditions === undefined || before === undefined) {
    return [...(conditions ?? []), { ...next, lastTransitionTime: rfc3339(now) }];
  }
  const same =
    before.status === next.status &&
    before.reason === next.reason &&
    before.message === next.message &&
    before.observedGeneration === next.observedGeneration;
  if (same) return conditions;
  const lastTransitionTime = before.status === next.status ? before.lastTransitionTime : rfc3339(now);
  return conditions.map((condition) => (condition === before ? { ...next, lastTransitionTime } : condition));
}
