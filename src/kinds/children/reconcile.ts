/**
 * What an owner of children does next, Sweep and Pipeline alike. Level-based: it looks at the spec, the slots and the time, never at the
 * message that woke the owner, so a repeated, late or lost message changes nothing but when it happens.
 *
 * The order: is it over → which children can never run → must it end (cancelled) → is it suspended → begin children while the window has room.
 * An owner takes its last phase when none of its children is left: a finished one runs nothing.
 */
import { setTimers } from '../attempts/decision.js';
import type { EventType } from '../events/table.js';
import { emit } from '../events/emit.js';
import { isFinished, type JobPhase } from '../job/status.js';
import { DELETED, isCollected } from '../lifecycle.js';
import type { ParentDraft, ParentEnding } from './draft.js';
import { propagate, startChild } from './requests.js';

/** What differs between the kinds. */
export interface ParentRules {
  /** Most children that are open at once. */
  readonly window: number;
  /** Children that were never begun and may begin now, in order. Asked for no more than there is room for. */
  ready(draft: ParentDraft): Iterable<number>;
  /** Gives up children that can never run. */
  skip?(draft: ParentDraft): void;
  /** All children are over: why the owner has failed; undefined: it has succeeded. */
  failure(draft: ParentDraft): ParentEnding | undefined;
  readonly events: Readonly<Record<'Succeeded' | 'Failed' | 'Cancelled', EventType>>;
  /** After its end it goes, with its children. */
  readonly ttlSecondsAfterFinished?: number | undefined;
}

/** Returns the phase that the owner has after this decision; `phase` is the one before. */
export function reconcileParent(draft: ParentDraft, phase: JobPhase, rules: ParentRules): JobPhase {
  if (isCollected(draft.metadata)) {
    // Its children go by garbage collection, and nothing new begins.
    arm(draft, {});
    return phase;
  }
  if (isFinished(phase)) {
    expire(draft, rules);
    return phase;
  }
  // All that was asked for is there, whatever else was about to end it.
  if (draft.counts.slots.Succeeded === draft.children.total) return finish(draft, undefined, rules);
  if (draft.private.ending === undefined && draft.metadata.deletionTimestamp !== undefined)
    draft.keep({ ending: DELETED });
  if (draft.private.ending === undefined && draft.state === 'Cancelled') draft.keep({ ending: CANCELLED });
  if (draft.private.ending !== undefined) return end(draft, draft.private.ending, phase, rules);
  rules.skip?.(draft);
  if (draft.over === draft.children.total) return finish(draft, rules.failure(draft), rules);
  if (draft.state === 'Suspended') {
    propagate(draft, 'Suspended');
    arm(draft, {});
    return draft.counts.slots.Active === draft.counts.live.Suspended ? 'Suspended' : phase;
  }
  propagate(draft, 'Running', rules.window);
  const filled = fill(draft, rules);
  arm(draft, { retry: filled ? retryAt(draft) : draft.now + NEXT_MS });
  return draft.private.startedAt === undefined ? 'Pending' : 'Running';
}

const CANCELLED: ParentEnding = { phase: 'Cancelled', reason: 'Cancelled', message: 'cancelled by spec.state' };

/** Children that do not exist are over at once; the others get the state, and tell their end. */
function end(draft: ParentDraft, ending: ParentEnding, phase: JobPhase, rules: ParentRules): JobPhase {
  for (const slot of draft.openSlots('Waiting')) draft.put({ ...slot, phase: 'Cancelled', detail: {} });
  propagate(draft, 'Cancelled');
  if (draft.counts.slots.Active === 0) return finish(draft, ending, rules);
  arm(draft, {});
  return phase;
}

function finish(draft: ParentDraft, ending: ParentEnding | undefined, rules: ParentRules): JobPhase {
  const phase = ending?.phase ?? 'Succeeded';
  draft.keep({ finishedAt: draft.now, ending });
  arm(draft, { ttl: ttlAt(draft, rules) });
  const { Succeeded } = draft.counts.slots;
  const message =
    ending === undefined ? `${Succeeded} of ${draft.children.total} succeeded` : `${ending.reason}: ${ending.message}`;
  draft.effects.push(emit(rules.events[phase], message));
  return phase;
}

function expire(draft: ParentDraft, rules: ParentRules): void {
  const at = ttlAt(draft, rules);
  if (at !== undefined && at <= draft.now) draft.effects.push({ type: 'DeleteSelf' });
  else arm(draft, { ttl: at });
}

function ttlAt(draft: ParentDraft, { ttlSecondsAfterFinished: seconds }: ParentRules): number | undefined {
  return seconds === undefined ? undefined : (draft.private.finishedAt ?? draft.now) + seconds * 1000;
}

/**
 * What one decision may ask for, as JSON: it is one commit, which the writes of others wait for. One child always begins; the others
 * follow `NEXT_MS` later, or with the next message.
 */
const MOST_BYTES = 512 * 1024;
const NEXT_MS = 100;

/** Children that wait to run beside those that do: more would only wait. As many again as run, so that few rounds fill a machine. */
const MOST_NOT_RUNNING = 32;

/** Refused creates that are due first, then children that were never begun. Answers false when more are to begin than one decision may ask for. */
function fill(draft: ParentDraft, rules: ParentRules): boolean {
  let bytes = 0;
  const due = [...draft.openSlots('Waiting')].filter(({ detail }) => (detail.retryAt ?? 0) <= draft.now);
  for (const { index } of due) {
    if (bytes >= MOST_BYTES) return false;
    bytes += startChild(draft, index);
  }
  const { live, slots } = draft.counts;
  const waiting = slots.Active - live.Running - live.Suspended + slots.Waiting;
  // I10
  let room = Math.min(rules.window - draft.open, Math.max(MOST_NOT_RUNNING, live.Running) - waiting);
  if (room <= 0) return true;
  for (const index of rules.ready(draft)) {
    if (bytes >= MOST_BYTES) return false;
    bytes += startChild(draft, index);
    room -= 1;
    if (room <= 0) return true;
  }
  return true;
}

function retryAt(draft: ParentDraft): number | undefined {
  const times = [...draft.openSlots('Waiting')].map(({ detail }) => detail.retryAt ?? draft.now);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** May fire early: what it means is looked at again, so moving it later is not worth a row. */
const LAZY = new Set(['retry']);

function arm(draft: ParentDraft, wanted: Readonly<Record<string, number | undefined>>): void {
  setTimers(draft, wanted, LAZY);
}
