/** Owns rules over several fields of one spec: when they are held, and the complaints that they make. */
import { z } from 'zod';
import type { CauseReason } from '../../api/causes.js';

type Issues = z.core.ParsePayload['issues'];
type Path = readonly (string | number)[];

/**
 * A check of a whole object: `fields.check(rules(({ value, issues }) => …))`. Unlike a plain one it is also held where a
 * field has a bad value, so that one answer tells everything; not where a value has the wrong type, since it reads them.
 */
export function rules<Value>(hold: (payload: z.core.ParsePayload<Value>) => void): z.core.$ZodCheck<Value> {
  // oxlint-disable-next-line no-underscore-dangle -- zod's own name; its `check` takes no `when`
  const check = z.core._check<Value>(hold, { when });
  // oxlint-disable-next-line no-underscore-dangle -- the same
  held.add(check._zod.def);
  return check;
}

const when: z.core.$ZodCheckDef['when'] = ({ issues }) => issues.every(keepsItsType);

/** Definitions of all rules that were made: as many as there are in the schemas. */
const held = new Set<z.core.$ZodCheckDef>();

/**
 * The same schema, which reads a valid value by generated code: some three times faster. An invalid one is read again as
 * before, so its complaints are the same. A schema that cannot be compiled comes back as it is.
 */
export function compiled<Schema extends z.ZodType>(schema: Schema): Schema {
  // The generator refuses checks with a condition. It stops at the first complaint, and before that the condition is true.
  for (const def of held) delete def.when;
  try {
    return z.compile(schema);
  } finally {
    for (const def of held) def.when = when;
  }
}

function keepsItsType(issue: Issues[number]): boolean {
  return issue.continue === true || issue.code === 'custom' || issue.code === 'invalid_value';
}

export function addIssue(
  issues: Issues,
  path: Path,
  message: string,
  reason: CauseReason = 'FieldValueInvalid',
  input?: unknown,
): void {
  issues.push({ code: 'custom', message, input, path: [...path], params: { reason }, continue: true });
}

/** Names every value that stands in the list again. `last` is the member that holds it, where the elements are objects. */
export function addIssueOfRepeats(
  issues: Issues,
  list: Path,
  values: readonly string[] | undefined,
  last: Path = [],
): void {
  const seen = new Set<string>();
  for (const [index, value] of (values ?? []).entries()) {
    if (seen.has(value)) addIssue(issues, [...list, index, ...last], 'must be unique', 'FieldValueDuplicate', value);
    seen.add(value);
  }
}

/** Exactly one of these members of one object must be given. `path` is the object. */
export function addIssueUnlessOne<Name extends string>(
  issues: Issues,
  path: Path,
  given: Readonly<Partial<Record<Name, unknown>>>,
  names: readonly Name[],
): void {
  const there = names.filter((name) => given[name] !== undefined);
  if (there.length === 1) return;
  const message = `exactly one of ${names.join(', ')} must be given`;
  if (there.length === 0) addIssue(issues, path, message, 'FieldValueRequired');
  for (const name of there.slice(1)) addIssue(issues, [...path, name], message, 'FieldValueForbidden');
}
