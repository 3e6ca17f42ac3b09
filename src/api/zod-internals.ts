/**
 * All that is used of zod's insides, which its documentation does not promise. `test/api/zod-internals.test.ts` pins each of these, and
 * fails on a version of zod that it was not run with: to raise zod, run it and add the version to `KNOWN_VERSIONS`.
 */
/* oxlint-disable no-underscore-dangle -- zod's own names */
import { z } from 'zod';

/** Versions of zod that the contract test has passed with. */
export const KNOWN_VERSIONS: readonly string[] = ['4.6.7'];

export type Issues = z.core.ParsePayload['issues'];

type When = NonNullable<z.core.$ZodCheckDef['when']>;

/** Definitions of all checks with a condition: as many as there are in the schemas. */
const conditional = new Map<z.core.$ZodCheckDef, When>();

/** A check that is held if `when` says so. The public `check` takes no condition: it is held only where nothing else was found. */
export function conditionalCheck<Value>(
  hold: (payload: z.core.ParsePayload<Value>) => void,
  when: When,
): z.core.$ZodCheck<Value> {
  const check = z.core._check<Value>(hold, { when });
  conditional.set(check._zod.def, when);
  return check;
}

/**
 * The same schema, which reads a valid value by generated code: some three times faster. An invalid one is read again as
 * before, so its complaints are the same. A schema that cannot be compiled comes back as it is.
 */
export function compiled<Schema extends z.ZodType>(schema: Schema): Schema {
  // The generator refuses checks with a condition. It stops at the first complaint, and before that the condition is true.
  for (const def of conditional.keys()) delete def.when;
  try {
    return z.compile(schema);
  } finally {
    for (const [def, when] of conditional) def.when = when;
  }
}

/** What zod reads in spite of its complaints: its public functions give it only where there are none. */
export function readLoosely(schema: z.ZodType, given: unknown): unknown {
  const read = schema._zod.run({ value: given, issues: [] }, { async: false });
  return read instanceof Promise ? undefined : read.value;
}

/** Of a schema: all that is known of it here is that `type` is a word. */
export interface Definition {
  readonly type: string;
  readonly [key: string]: unknown;
}

export function definitionOf(schema: unknown): Definition {
  const def = memberOf(schema, 'def');
  return typeof memberOf(def, 'type') === 'string' ? (def as Definition) : { type: 'unknown' };
}

/** The bound of a check on length, such as that of `z.array(…).max(n)`; undefined: it is none. */
export function maximumOf(check: unknown): unknown {
  const def = memberOf(memberOf(check, '_zod'), 'def');
  return memberOf(def, 'check') === 'max_length' ? memberOf(def, 'maximum') : undefined;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
