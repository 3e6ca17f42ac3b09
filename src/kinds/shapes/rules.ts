/** Rules over several fields of one spec: when they are held, and the issues that they raise. */
import type { z } from 'zod';
import type { CauseReason } from '../../api/causes.js';
import { conditionalCheck, type Issues } from '../../api/zod-internals.js';

type Path = readonly (string | number)[];

/**
 * A check of a whole object: `fields.check(rules(({ value, issues }) => …))`. Unlike a plain one it is also held where a
 * field has a bad value, so that one answer tells everything; not where a value has the wrong type, since it reads them.
 */
export function rules<Value>(hold: (payload: z.core.ParsePayload<Value>) => void): z.core.$ZodCheck<Value> {
  return conditionalCheck(hold, ({ issues }) => issues.every(keepsItsType));
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
