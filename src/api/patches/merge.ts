/**
 * Owns JSON Merge Patch (RFC 7386). The target is never changed: parts that the patch does not touch are shared with it,
 * so `===` tells which parts the patch left alone.
 */
import { isObject } from '../safe-value.js';

/** Members are made as own ones whatever their name, so that no patch reaches a prototype. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const base = isObject(target) ? target : EMPTY;
  const merged: Record<string, unknown> = { ...base };
  let changed = base === EMPTY;
  for (const key of Object.keys(patch)) {
    const change = patch[key];
    const had = Object.hasOwn(base, key);
    if (change === null) {
      if (!had) continue;
      delete merged[key];
      changed = true;
      continue;
    }
    const before = had ? base[key] : undefined;
    const after = mergePatch(before, change);
    if (had && after === before) continue;
    define(merged, key, after);
    changed = true;
  }
  return changed ? merged : target;
}

const EMPTY: Readonly<Record<string, unknown>> = {};

function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}
