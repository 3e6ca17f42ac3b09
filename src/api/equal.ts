/** Owns equality of JSON values: deep, the order of members does not matter, the order of list elements does. */
import { isObject } from './safe-value.js';

export function equalJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
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
