/**
 * What a Job's machine does with a written spec before it follows it: `activeDeadlineSeconds` becomes `timeout`, and
 * a cancelled Job stays cancelled. Source: spec, "Job spec".
 */
import { formatDuration, parseDuration } from '../../api/duration.js';
import type { Refusal } from '../../api/refusal.js';
import type { JobSpec } from './schema.js';

export type Folded =
  | { readonly outcome: 'Spec'; readonly spec: JobSpec; readonly changed: boolean }
  | { readonly outcome: 'Refused'; readonly refusal: Refusal };

/** What to do about a state that is the last. */
export const STAYS_CANCELLED = 'Create a new one under another name, or delete this one and create it again.';

/** `before`: the spec that a client's write replaced; absent at create. */
export function foldSpec(spec: JobSpec, before: JobSpec | undefined): Folded {
  if (before?.state === 'Cancelled' && spec.state !== 'Cancelled') {
    return invalid('spec.state', 'a cancelled Job stays cancelled', STAYS_CANCELLED);
  }
  const { activeDeadlineSeconds: alias, ...rest } = spec;
  if (alias === undefined) return { outcome: 'Spec', spec, changed: false };
  const ms = alias * 1000;
  // The stored spec has no alias. So where only the alias was written, `timeout` is still what it was: the alias counts.
  const untouched = rest.timeout === undefined || (before !== undefined && rest.timeout === before.timeout);
  if (!untouched && parseDuration(rest.timeout ?? '') !== ms) {
    return invalid('spec.activeDeadlineSeconds', 'is an alias of spec.timeout and must not differ from it');
  }
  const same = rest.timeout !== undefined && parseDuration(rest.timeout) === ms;
  return { outcome: 'Spec', spec: same ? rest : { ...rest, timeout: formatDuration(ms) }, changed: true };
}

function invalid(field: string, message: string, fix?: string): Folded {
  return {
    outcome: 'Refused',
    refusal: {
      code: 'Invalid',
      message: `${field}: ${message}`,
      causes: [{ field, message, reason: 'FieldValueInvalid' }],
      ...(fix !== undefined && { fix }),
    },
  };
}
