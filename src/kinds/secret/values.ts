/**
 * What a write says about a Secret's values. Values are write-only, so a write is read as a plan: these keys get new
 * values, those keep theirs from the version before, the rest go.
 *
 * - A write without `data` and `stringData` keeps the version as it is.
 * - `stringData` is merged over `data`; together they are the whole set. So a PUT replaces the set.
 * - A patch is made against an object in which every current key stands as KEPT_VALUE (`patchBase`): keys that it does
 *   not name keep their values, and `data: {KEY: null}` removes one.
 */
import type { Cause } from '../../api/refusal.js';
import { KEPT_VALUE, type SecretSpec } from './schema.js';

/** All values of one version together. */
export const MOST_BYTES = 1024 * 1024;

export interface ValuePlan {
  /** Keys of the new version, sorted. */
  readonly keys: readonly string[];
  readonly values: ReadonlyMap<string, Uint8Array>;
  readonly kept: readonly string[];
  /** Bytes by key. */
  readonly sizes: Readonly<Record<string, number>>;
}

export type ValueReading =
  /** No values, or every key as it was. */
  | { readonly reading: 'Unchanged' }
  | { readonly reading: 'Changed'; readonly plan: ValuePlan }
  | { readonly reading: 'Invalid'; readonly causes: readonly Cause[] };

export function readValues(spec: SecretSpec, current: Readonly<Record<string, number>>): ValueReading {
  if (spec.data === undefined && spec.stringData === undefined) return { reading: 'Unchanged' };
  const values = new Map<string, Uint8Array>();
  const kept = new Set<string>();
  for (const [key, value] of Object.entries(spec.data ?? {})) {
    if (value === KEPT_VALUE) kept.add(key);
    else values.set(key, Buffer.from(value, 'base64'));
  }
  for (const [key, value] of Object.entries(spec.stringData ?? {})) {
    kept.delete(key);
    values.set(key, Buffer.from(value, 'utf8'));
  }
  const missing = [...kept].filter((key) => !Object.hasOwn(current, key));
  if (missing.length > 0) {
    const message = 'there is no value of this key to keep';
    const causes = missing.map((key) => ({ field: `spec.data[${key}]`, message, reason: 'FieldValueInvalid' }));
    return { reading: 'Invalid', causes };
  }
  if (values.size === 0 && kept.size === Object.keys(current).length) return { reading: 'Unchanged' };
  const keys = [...values.keys(), ...kept].toSorted();
  // Made of entries: a key may be called `__proto__`.
  const sizes = Object.fromEntries(keys.map((key) => [key, values.get(key)?.byteLength ?? current[key] ?? 0]));
  const bytes = keys.reduce((sum, key) => sum + (sizes[key] ?? 0), 0);
  if (bytes > MOST_BYTES) {
    const message = `all values together must be at most ${MOST_BYTES} bytes; these are ${bytes}`;
    return { reading: 'Invalid', causes: [{ field: 'spec.data', message, reason: 'FieldValueTooLong' }] };
  }
  return { reading: 'Changed', plan: { keys, values, kept: [...kept].toSorted(), sizes } };
}
