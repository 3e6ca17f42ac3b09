/**
 * What may not change in a spec after create: immutable fields, and raise-only fields (spec, "Conventions" 1).
 *
 * Raise-only: a value that is set may only rise. Taking it away is refused too, although no limit is more than any limit:
 * a PUT that merely leaves `maxCostUSD` out would drop a spending cap without a word. Setting one that was not set is
 * allowed: a cap added later protects, and lowers nothing that anyone had set.
 */
import { Decimal } from 'decimal.js';
import { equalJson } from './equal.js';
import type { Cause } from './refusal.js';
import { isObject } from './safe-value.js';

/** A path that `compileGuards` has taken apart: `spec.recovery.checkpoint.interval`, `spec.stages[].name`. */
export interface Guards {
  readonly immutable: readonly Guard[];
  readonly raiseOnly: readonly Guard[];
}

interface Guard {
  readonly path: string;
  readonly keys: readonly string[];
}

export function compileGuards(immutable: readonly string[], raiseOnly: readonly string[]): Guards {
  return { immutable: immutable.map(guard), raiseOnly: raiseOnly.map(guard) };
}

function guard(path: string): Guard {
  const keys = path.replaceAll('[]', '.[]').split('.');
  if (keys[0] !== 'spec') throw new TypeError(`${path} is no path below spec`);
  return { path, keys: keys.slice(1) };
}

/** What the change from one spec to the other breaks; both have their defaults. */
export function checkChange(guards: Guards, before: unknown, after: unknown): Cause[] {
  const causes: Cause[] = [];
  for (const { keys } of guards.immutable) compare(keys, 0, 'spec', before, after, causes, checkSame);
  for (const { keys } of guards.raiseOnly) compare(keys, 0, 'spec', before, after, causes, checkRaised);
  return causes;
}

type Check = (field: string, before: unknown, after: unknown) => Cause | undefined;

/** Walks both specs along one path. List elements are compared by position; `[]` covers those that are in both. */
function compare(
  keys: readonly string[],
  at: number,
  field: string,
  before: unknown,
  after: unknown,
  causes: Cause[],
  check: Check,
): void {
  if (before === after) return;
  const key = keys[at];
  if (key === undefined) {
    const cause = check(field, before, after);
    if (cause !== undefined) causes.push(cause);
    return;
  }
  if (key !== '[]') {
    compare(keys, at + 1, `${field}.${key}`, own(before, key), own(after, key), causes, check);
    return;
  }
  if (!Array.isArray(before) || !Array.isArray(after)) return;
  for (let i = 0; i < Math.min(before.length, after.length); i++) {
    compare(keys, at + 1, `${field}[${i}]`, before[i], after[i], causes, check);
  }
}

function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function checkSame(field: string, before: unknown, after: unknown): Cause | undefined {
  if (equalJson(before, after)) return undefined;
  return { field, reason: 'FieldImmutable', message: 'field is immutable after create' };
}

function checkRaised(field: string, before: unknown, after: unknown): Cause | undefined {
  if (before === undefined || before === null) return undefined;
  if (after === undefined || after === null) {
    return {
      field,
      reason: 'FieldValueInvalid',
      message: `may only be raised and not removed: it is ${JSON.stringify(before)}`,
    };
  }
  if (rank(after).gte(rank(before))) return undefined;
  const message = `Invalid value: ${JSON.stringify(after)}: may only be raised: it is ${JSON.stringify(before)}`;
  return { field, reason: 'FieldValueInvalid', message };
}

/** Amounts and counts by value; `false` to `true` is a rise (AgentGroup.spec.sealed). */
function rank(value: unknown): Decimal {
  if (typeof value === 'boolean') return new Decimal(value ? 1 : 0);
  if (typeof value !== 'number' && typeof value !== 'string') return new Decimal(0);
  return Number.isNaN(Number(value)) ? new Decimal(0) : new Decimal(value);
}
