/**
 * Takes the messages about the one Attempt into the draft. Each names its epoch and is compared with the Attempt that is
 * live, so one that is late or repeated changes nothing (I8). False: it means nothing here, or is known already.
 */
import { resyncLater } from '../attempts/decision.js';
import { isRefusedByMoney, releaseFirstHold } from '../attempts/holds.js';
import { soleAttempt } from '../attempts/names.js';
import { askAttempt, makeAttempt, stopAttempt } from '../attempts/requests.js';
import type { LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import { noteActivity } from './idle.js';
import type { SingleAttemptDraft } from './draft.js';
import { attemptLost, type AttemptChanged } from './ended.js';
import { noteFunded, stopUnfunded } from './funding.js';
import type { Live } from './state.js';

/** `ended`: what an end means for this kind; `live` is the Attempt as it was before. */
export function handleMessage(
  draft: SingleAttemptDraft,
  message: ObjectMessage,
  from: string,
  ended: (live: Live, change: AttemptChanged) => void,
): boolean {
  const { live } = draft;
  switch (message.type) {
    case 'AttemptChanged':
      // I8: only the Attempt that is live can change anything.
      return live?.epoch === message.epoch && takeAttempt(draft, live, message, ended);
    case 'ChildGone':
      if (live === undefined || message.kind !== 'Attempt' || from !== draft.attemptName(live.epoch)) return false;
      attemptGone(draft, live, 'its Attempt was deleted');
      return true;
    case 'SecretsPinned':
      return live?.epoch === message.epoch && noteSecrets(draft, message);
    case 'ActivitySeen':
      return noteActivity(draft, message);
    default:
      return false;
  }
}

/** Says again what the live Attempt should know: that it exists, that it is asked, that it should stop or go. `drop`: how it is told to go. */
export function remindAttempt(draft: SingleAttemptDraft, drop: ((epoch: number) => LaterEffect) | undefined): void {
  const { live } = draft;
  if (live === undefined) return;
  const { owner } = draft;
  const ref = soleAttempt(live.epoch);
  if (drop) draft.reminders.push(drop(live.epoch), askAttempt(owner, ref));
  else {
    if (!live.acknowledged) draft.reminders.push(makeAttempt(owner, ref, draft.private.recovering !== undefined));
    const stop = live.stopping && live.phase !== 'Ended';
    draft.reminders.push(stop ? stopAttempt(owner, ref, 'Stopped') : askAttempt(owner, ref));
  }
}

function takeAttempt(
  draft: SingleAttemptDraft,
  live: Live,
  change: AttemptChanged,
  ended: (live: Live, change: AttemptChanged) => void,
): boolean {
  if (change.unsaved !== undefined && noteUnsaved(draft, live, change.unsaved)) return true;
  switch (change.phase) {
    case 'Queued':
      if (live.phase !== 'Made' || change.reason === '' || live.wait === change.message) return false;
      draft.keepLive({ acknowledged: true, wait: change.message });
      return true;
    case 'Provisioning':
      if (live.phase !== 'Made') return false;
      draft.keepLive({ acknowledged: true, phase: 'Placed', wait: undefined });
      noteFunded(draft);
      return true;
    case 'Running':
      if (live.phase !== 'Made' && live.phase !== 'Placed') return false;
      draft.keepLive({ acknowledged: true, phase: 'Running', wait: undefined, runningSince: change.time });
      noteRestored(draft, change.unrestored);
      noteFunded(draft);
      draft.keep({ recovering: undefined });
      return true;
    default: {
      if (live.phase === 'Ended' && change.gone !== true) return false;
      if (live.phase !== 'Ended') ended(live, change);
      if (change.gone === true) draft.keep({ live: undefined });
      return true;
    }
  }
}

/** Said only where there was something to say, until a later start has restored all. */
function noteRestored(draft: SingleAttemptDraft, unrestored: string | undefined): void {
  if (unrestored !== undefined) {
    const message = `not all that was saved could be restored, and the next save is without it: ${unrestored}`;
    draft.condition('StateRestored', false, 'PartlyRestored', message);
  } else if (draft.status.conditions?.some(({ type, status }) => type === 'StateRestored' && status === 'False')) {
    draft.condition('StateRestored', true, 'Restored', 'all that was saved was restored');
  }
}

/** What it holds is neither lost nor safe. */
function noteUnsaved(draft: SingleAttemptDraft, live: Live, why: string): boolean {
  if (live.phase === 'Ended') return false;
  const { conditions } = draft.status;
  const message = `not saved yet, it is tried again: ${why}`;
  const said = conditions?.find(({ type }) => type === 'StateSaved');
  if (live.unsaved === true && said?.message === message) return false;
  draft.keepLive({ acknowledged: true, phase: 'Running', unsaved: true, runningSince: live.runningSince ?? draft.now });
  draft.condition('StateSaved', false, 'CollectionFailed', message);
  return true;
}

/** Nothing of it is left: an Attempt's row goes only after that is proven. */
function attemptGone(draft: SingleAttemptDraft, live: Live, message: string): void {
  const missed = live.phase !== 'Ended' && !live.stopping && !draft.deleting;
  if (missed) attemptLost(draft, live, 'NodeLost', message);
  draft.keep({ live: undefined, busyAt: undefined });
}

/** The first note of an epoch holds. */
function noteSecrets(
  draft: SingleAttemptDraft,
  { versions }: Extract<ObjectMessage, { type: 'SecretsPinned' }>,
): boolean {
  if (draft.status.secretVersions !== undefined) return false;
  const entries = Object.entries(versions);
  draft.say({
    secretVersions: Object.fromEntries(entries.map(([name, { version }]) => [name, version])),
    secretVersionIDs: Object.fromEntries(entries.map(([name, { id }]) => [name, id])),
  });
  return true;
}

/** Refusals that say nothing of what was asked for. */
const PASSING = new Set(['RetriesExhausted', 'Unavailable', 'InternalError']);

/** An effect that concerns the live Attempt could not be carried out. */
export function handleFailedEffect(
  draft: SingleAttemptDraft,
  effect: LaterEffect,
  reason: string,
  message: string,
): boolean {
  const { live } = draft;
  if (live === undefined) return false;
  const name = draft.attemptName(live.epoch);
  switch (effect.type) {
    case 'CreateChild':
      if (effect.name !== name) return false;
      // Whether it is there is not known, so it stays the one that may be.
      if (PASSING.has(reason)) {
        resyncLater(draft);
        return true;
      }
      // I7: the Attempt that would have taken it over is never made.
      draft.effects.push(...releaseFirstHold(draft.owner));
      if (isRefusedByMoney(reason)) {
        draft.keep({ live: undefined });
        stopUnfunded(draft, reason, message);
      } else draft.keep({ live: undefined, failure: { reason, message }, recovering: undefined });
      return true;
    case 'Tell':
      if (effect.to.kind !== 'Attempt' || effect.to.name !== name) return false;
      if (reason === 'NotFound' && (live.acknowledged || draft.deleting))
        attemptGone(draft, live, 'its Attempt is not there');
      else resyncLater(draft);
      return true;
    case 'DeleteChild':
      if (effect.name !== name) return false;
      resyncLater(draft);
      return true;
    default:
      return false;
  }
}
