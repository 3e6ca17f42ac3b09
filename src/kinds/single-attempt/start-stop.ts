/**
 * Owns how the one Attempt is stopped and how the next one begins. Level-based: it looks at what is wanted, the Attempt and the
 * time, never at the message that woke the object, so a repeated, late or lost message changes nothing but when it happens.
 *
 * I8: there is at most one Attempt that is not proven gone, and the next one is made in the commit that knows the proof.
 */
import { armTimers } from '../arm-timers.js';
import type { Effect } from '../effect.js';
import { dropAttempt, makeAttempt, nameOf, stopAttempt, supersede } from './attempts.js';
import type { SingleAttemptDraft } from './draft.js';
import { KEPT_ATTEMPTS } from './policy.js';

/** Asks the live Attempt to stop, once. */
export function stopLive(draft: SingleAttemptDraft): void {
  const { live } = draft;
  if (live === undefined || live.stopping || live.phase === 'Ended') return;
  draft.effects.push(stopAttempt(draft, live.epoch, 'Stopped'));
  draft.keepLive({ stopping: true });
}

/** Nothing of it runs and nothing shall: a later start is no recovery any more. */
export function restStopped(draft: SingleAttemptDraft): void {
  if (draft.state === 'Stopped') draft.keep({ recovering: undefined, notBefore: undefined, lost: 0 });
}

/** It may begin now: nothing of it runs, and capacity that failed has had its pause. */
export function mayStart(draft: SingleAttemptDraft): boolean {
  return draft.live === undefined && draft.wanted && (draft.private.notBefore ?? 0) <= draft.now;
}

/** I8: the next epoch, made in the commit that stores it. */
export function start(draft: SingleAttemptDraft): void {
  const before = draft.private.epoch;
  const epoch = before + 1;
  draft.keep({
    epoch,
    live: { epoch, phase: 'Made', heard: false, stopping: false },
    notBefore: undefined,
    busyAt: undefined,
  });
  draft.say({
    attempt: { epoch, name: nameOf(draft, epoch) },
    secretVersions: undefined,
    secretVersionIDs: undefined,
  });
  const effects: Effect[] = [makeAttempt(draft, epoch)];
  if (draft.private.recovering !== undefined) effects.push(supersede(draft, before, epoch));
  if (epoch > KEPT_ATTEMPTS) effects.push(dropAttempt(draft, epoch - KEPT_ATTEMPTS));
  draft.effects.push(...effects);
}

/** When the next start may come, where that is later than now. */
export function startsAt(draft: SingleAttemptDraft): number | undefined {
  return draft.live === undefined && draft.wanted ? draft.private.notBefore : undefined;
}

/** `lazy`: timers that may fire early: what they mean is looked at again, so moving them later is not worth a row. */
export function setTimers(
  draft: SingleAttemptDraft,
  wanted: Readonly<Record<string, number | undefined>>,
  lazy: ReadonlySet<string>,
): void {
  const { armed, effects } = armTimers(draft.private.timers, wanted, {
    lazy: (timer) => lazy.has(timer),
    kept: (timer) => timer === 'resync',
  });
  draft.effects.push(...effects);
  draft.keep({ timers: armed });
}
