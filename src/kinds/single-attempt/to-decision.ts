/** Owns the step from a finished draft to the decision: what of it is worth a commit, and which finalizers hold the object. */
import { equalJson } from '../../api/equal.js';
import { ORPHAN_FINALIZER } from '../../api/names.js';
import type { Effect } from '../effect.js';
import type { Current, Decision } from '../machine.js';
import type { SingleAttemptDraft } from './draft.js';
import {
  ATTEMPT_FINALIZER,
  type SingleAttemptPrivate,
  type SingleAttemptSpec,
  type SingleAttemptStatus,
} from './state.js';

/**
 * Reminders ride along when something is written anyway; alone they are not worth a commit. `holds`: the object must not go yet.
 */
export function toDecision<
  Spec extends SingleAttemptSpec,
  Status extends SingleAttemptStatus,
  Kept extends SingleAttemptPrivate,
>(
  current: Current<Spec, Status, Kept>,
  draft: SingleAttemptDraft<Spec, Status, Kept>,
  status: Status,
  holds: boolean,
): Decision<Status, Kept, never> {
  const { spec, metadata } = draft.object;
  const folded = draft.state === spec.state ? undefined : { ...spec, state: draft.state };
  const kept = same(current.private, draft.private) ? undefined : draft.private;
  const held = metadata.finalizers ?? [];
  const others = held.filter((name) => name !== ATTEMPT_FINALIZER);
  // One whose children are orphaned would never hear of the end of its Attempt, which goes all the same.
  const orphans = draft.deleting && held.includes(ORPHAN_FINALIZER);
  const finalizers = !holds || orphans ? others : [...others, ATTEMPT_FINALIZER];
  const moved = finalizers.length !== held.length;
  const idle = draft.effects.length === 0 && kept === undefined && folded === undefined && !moved;
  if (idle && draft.reminders.length > 0 && equalJson(current.object.status, status)) {
    return { outcome: 'Volatile', changes: [], letters: draft.reminders };
  }
  const effects: Effect[] = [...draft.effects, ...draft.reminders];
  return {
    outcome: 'Next',
    status,
    effects,
    ...(kept && { private: kept }),
    ...(folded && { spec: folded }),
    ...(moved && { finalizers }),
  };
}

/** Both are plain JSON made by one folder, with their members in the same order. */
function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
