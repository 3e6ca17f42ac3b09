/** Equality of JSON values: deep, the order of members does not matter, the order of list elements does. */
import { isObject } from './safe-value.js';

export function equalJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    for (let i = 0; i < one.length; i++) if (!equalJson(one[i], other[i])) return false;
    return true;
  }
  return isObject(one) && isObject(other) && equalMembers(one, other);
}

/** A member that is undefined counts as absent: it is not in the JSON. */
function equalMembers(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): boolean {
  let count = 0;
  for (const key in one) {
    const value = one[key];
    if (value === undefined) continue;
    count += 1;
    if (!Object.hasOwn(other, key) || !equalJson(value, other[key])) return false;
  }
  for (const key in other) if (other[key] !== undefined) count -= 1;
  return count === 0;
}

/**
 * `after`, with every part that equals its counterpart in `before` replaced by that very part; `before` itself when all is
 * equal. One walk, after which `===` answers what changed. Neither input is changed.
 */
export function shareJson(before: unknown, after: unknown): unknown {
  if (before === after) return after;
  if (Array.isArray(before)) return Array.isArray(after) ? shareList(before, after) : after;
  return isObject(before) && isObject(after) ? shareMembers(before, after) : after;
}

function shareList(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  let same = before.length === after.length;
  let shared: unknown[] | undefined;
  for (let i = 0; i < after.length; i++) {
    const part = shareJson(before[i], after[i]);
    if (part !== before[i]) same = false;
    if (part !== after[i]) (shared ??= [...after])[i] = part;
  }
  return same ? before : (shared ?? after);
}

function shareMembers(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  let same = true;
  let shared: Record<string, unknown> | undefined;
  for (const key in after) {
    const value = after[key];
    if (value === undefined) continue;
    if (!Object.hasOwn(before, key)) {
      same = false;
      continue;
    }
    const old = before[key];
    const part = shareJson(old, value);
    if (part !== old) same = false;
    if (part !== value) (shared ??= { ...after })[key] = part;
  }
  if (same) for (const key in before) if (before[key] !== undefined && after[key] === undefined) same = false;
  return same ? before : (shared ?? after);
}
