/**
 * Applies a JSON Merge Patch (RFC 7386). The target and the patch are never changed: parts that the patch does not touch are
 * shared with the target, so `===` tells which parts the patch left alone, and what is new as a whole is shared with the patch.
 *
 * I10: at most MAX_MEMBERS members of a patch are merged into objects that exist.
 */
import { isObject } from '../safe-value.js';
import { MAX_MEMBERS, Misfit } from './draft.js';

/** Members are made as own ones whatever their name, so that no patch reaches a prototype. Throws Misfit beyond the bound. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  return merge(target, patch, { members: 0 });
}

function merge(target: unknown, patch: unknown, spent: { members: number }): unknown {
  if (!isObject(patch)) return patch;
  if (!isObject(target)) return withoutNulls(patch);
  const keys = Object.keys(patch);
  spent.members += keys.length;
  if (spent.members > MAX_MEMBERS) throw new Misfit(`the patch merges more than ${MAX_MEMBERS} members of objects`);
  const merged: Record<string, unknown> = { ...target };
  let changed = false;
  for (const key of keys) {
    const change = patch[key];
    const had = Object.hasOwn(target, key);
    if (change === null) {
      if (!had) continue;
      delete merged[key];
      changed = true;
      continue;
    }
    const before = had ? target[key] : undefined;
    const after = merge(before, change, spent);
    if (had && after === before) continue;
    define(merged, key, after);
    changed = true;
  }
  return changed ? merged : target;
}

/** What the patch makes of nothing: itself, unless there are nulls in it. */
function withoutNulls(patch: Record<string, unknown>): Record<string, unknown> {
  let kept: Record<string, unknown> | undefined;
  for (const key in patch) {
    const change = patch[key];
    const after = isObject(change) ? withoutNulls(change) : change;
    if (after === change && change !== null) continue;
    kept ??= { ...patch };
    if (change === null) delete kept[key];
    else define(kept, key, after);
  }
  return kept ?? patch;
}

function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}
