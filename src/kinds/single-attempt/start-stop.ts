/**
 * How the one Attempt is stopped and how the next one begins. Level-based: it looks at what is wanted, the Attempt and the
 * time, never at the message that woke the object, so a repeated, late or lost message changes nothing but when it happens.
 *
 * I8: there is at most one Attempt that is not proven gone, and the next one is made in the commit that knows the proof.
 */
import { soleAttempt } from '../attempts/names.js';
import { startEpoch, stopAttempt } from '../attempts/requests.js';
import type { SingleAttemptDraft } from './draft.js';

/** Asks the live Attempt to stop, once. */
export function stopLive(draft: SingleAttemptDraft): void {
  const { live } = draft;
  if (live === undefined || live.stopping || live.phase === 'Ended') return;
  draft.effects.push(stopAttempt(draft.owner, soleAttempt(live.epoch), 'Stopped'));
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
export function startAttempt(draft: SingleAttemptDraft): void {
  const epoch = draft.private.epoch + 1;
  draft.keep({
    epoch,
    live: { epoch, phase: 'Made', acknowledged: false, stopping: false },
    notBefore: undefined,
    busyAt: undefined,
  });
  draft.say({
    attempt: { epoch, name: draft.attemptName(epoch) },
    secretVersions: undefined,
    secretVersionIDs: undefined,
  });
  draft.effects.push(...startEpoch(draft.owner, soleAttempt(epoch), draft.private.recovering !== undefined));
}

/** When the next start may come, where that is later than now. */
export function startsAt(draft: SingleAttemptDraft): number | undefined {
  return draft.live === undefined && draft.wanted ? draft.private.notBefore : undefined;
}
