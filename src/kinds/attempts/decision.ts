/** The parts of a decision that all owners of Attempts make in the same way: what is worth a commit, and which timers are armed. */
import { equalJson } from '../../api/equal.js';
import { armTimers, type Armed } from '../arm-timers.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { Current, Decision, SlotRow } from '../machine.js';

/** After this, messages and children that could not be delivered are tried again. */
const RESYNC_MS = 10_000;

/** What the draft of any owner has. */
export interface OwnerDraft {
  readonly now: number;
  readonly private: { readonly timers: Armed };
  readonly effects: Effect[];
  /** What is only said again; not worth a commit of its own. */
  readonly reminders: LaterEffect[];
  keep(change: { readonly timers: Armed }): void;
}

/** What was not delivered is said again after a while. */
export function resyncLater(draft: OwnerDraft, afterMs: number = RESYNC_MS): void {
  const { timers } = draft.private;
  if (timers['resync'] !== undefined) return;
  const at = draft.now + afterMs;
  draft.effects.push({ type: 'ArmTimer', timer: 'resync', at });
  draft.keep({ timers: { ...timers, resync: at } });
}

/** A timer that has fired is armed no longer. */
export function forgetTimer(draft: OwnerDraft, timer: string): void {
  const { [timer]: _fired, ...timers } = draft.private.timers;
  draft.keep({ timers });
}

/**
 * `lazy`: timers that may fire early: what they mean is looked at again, so moving them later is not worth a row. `kept`: these stay armed
 * though nothing wants them now.
 */
export function setTimers(
  draft: OwnerDraft,
  wanted: Readonly<Record<string, number | undefined>>,
  lazy: ReadonlySet<string>,
  kept: ReadonlySet<string> = new Set(),
): void {
  const { armed, effects } = armTimers(draft.private.timers, wanted, {
    // One that should have fired by now is not relied on: nothing else would wake what waits behind it.
    lazy: (timer, armedAt) => lazy.has(timer) && armedAt > draft.now,
    kept: (timer) => timer === 'resync' || kept.has(timer),
  });
  draft.effects.push(...effects);
  draft.keep({ timers: armed });
}

interface Outcome<Spec, Status, Change> {
  readonly status: Status;
  /** Where the decision changes it. */
  readonly spec?: Spec | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly changes?: readonly Change[] | undefined;
  /** Not stored: said again when the object is opened. */
  readonly volatile?: readonly LaterEffect[] | undefined;
}

/** Reminders ride along when something is written anyway; alone they are not worth a commit. */
export function toDecision<Spec, Status, Kept, Change extends SlotRow>(
  current: Current<Spec, Status, Kept>,
  draft: Pick<OwnerDraft, 'effects' | 'reminders'> & { readonly private: Kept },
  { status, spec, finalizers, changes = [], volatile = [] }: Outcome<Spec, Status, Change>,
): Decision<Status, Kept, Change> {
  const kept = same(current.private, draft.private) ? undefined : draft.private;
  const idle =
    draft.effects.length + changes.length === 0 && kept === undefined && spec === undefined && finalizers === undefined;
  if (idle && draft.reminders.length + volatile.length > 0 && equalJson(current.object.status, status)) {
    return { outcome: 'Volatile', changes: [], volatile: [...draft.reminders, ...volatile] };
  }
  return {
    outcome: 'Next',
    status,
    effects: [...draft.effects, ...draft.reminders],
    changes,
    ...(kept && { private: kept }),
    ...(spec && { spec }),
    ...(finalizers && { finalizers }),
    ...(volatile.length > 0 && { volatile }),
  };
}

/** Both are plain JSON made by one folder, with their members in the same order. */
function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
