/**
 * The behaviour of an Attempt: one epoch of one slot, from the queue to the proof that nothing of it is left.
 *
 *   Queued ──PlaceGranted──▶ Provisioning ──Started──▶ Running ──Exited──▶ Succeeded | Failed | Cancelled
 *     │ StopAttempt, PlaceDenied                          │ Lost                 │ RemoveWork … Removed
 *     ▼                                                   ▼                      ▼
 *   Cancelled | Failed                                  Failed (lost)         place released
 *
 * The place on the Node is kept until the engine has proven that nothing runs any more, and so is the object itself
 * (finalizer). I8: a report or message of another epoch, or one that the present state does not wait for, changes nothing.
 * Being opened again is always safe: it asks for its place, its stop and its removal once more, and all are idempotent.
 */
import { rfc3339Millis } from '../../api/time.js';
import { readTerms } from '../attempts/terms.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import type { Machine, Message, DecisionContext } from '../machine.js';
import { LOCAL_OFFERING } from '../offering/local.js';
import { placeHold } from './billing.js';
import { beginStop } from './stopping.js';
import { endUnfunded, refuseFunding, restoreFunding } from './funding.js';
import { GRACE_SECONDS, releasePlace, removeWork, startWork, stopWork, tellOwner, wantPlace } from './effects.js';
import { failed, faulty, finish, stopped } from './ending.js';
import { takeReport } from './reports.js';
import { hasEnded, type AttemptSpec, type AttemptStatus } from './schema.js';
import {
  IGNORED,
  next,
  ownerOf,
  UNPLACED,
  volatile,
  WORK_FINALIZER,
  type AttemptDecision,
  type AttemptPrivate,
  type This,
  type Written,
} from './state.js';

/** Between tries of what failed: removing work, asking the Node, telling the owner. */
const RETRY_MS = 30_000;

export const attemptMachine: Machine<AttemptSpec, AttemptStatus, AttemptPrivate, undefined, never> = {
  decide(current, _side, message, context) {
    const kept = current.private ?? UNPLACED;
    switch (message.type) {
      case 'Created':
        return created(current, context);
      case 'Updated':
        return updated(current, kept, context);
      case 'DeletionRequested':
        return remove(current, kept, current.object.metadata.deletionGracePeriodSeconds ?? GRACE_SECONDS, context);
      case 'Activated':
        return again(current, kept, context);
      case 'TimerFired':
        return timerFired(current, kept, message.timer, context);
      case 'MessageReceived':
        return takeMessage(current, kept, message.content, context);
      case 'Reported':
        if (message.report.epoch !== current.object.spec.epoch) return IGNORED; // I8
        return takeReport(current, kept, message.report, context);
      case 'EffectFailed':
        return effectFailed(current, kept, message, context);
      default:
        return IGNORED;
    }
  },
  isTerminal(status) {
    const { acquiredTime, deletionProvenTime } = status.timings ?? {};
    return hasEnded(status.phase) && (acquiredTime === undefined || deletionProvenTime !== undefined);
  },
};

function created(current: This, context: DecisionContext): AttemptDecision {
  const { object } = current;
  const timings = { ...object.status.timings, queuedTime: rfc3339Millis(context.now) };
  const status: AttemptStatus = { ...object.status, timings };
  const born = { ...current, object: { ...object, status } };
  const effects = [...placeHold(current), ...wantPlace(born, false)];
  return next({ status, private: { ...UNPLACED, since: context.now }, effects });
}

/** The service alone changes an Attempt: here its owner may have let go of it. */
function updated(current: This, kept: AttemptPrivate, context: DecisionContext): AttemptDecision {
  if (ownerOf(current) === undefined) return drop(current, kept, GRACE_SECONDS, context);
  return next({ status: current.object.status });
}

function takeMessage(
  current: This,
  kept: AttemptPrivate,
  message: ObjectMessage,
  context: DecisionContext,
): AttemptDecision {
  const { spec, status } = current.object;
  switch (message.type) {
    case 'PlaceGranted':
      return granted(current, kept, message, context);
    case 'PlaceDenied':
      return denied(current, kept, message, context);
    case 'StopAttempt':
      return message.epoch === spec.epoch ? stop(current, kept, message, context) : IGNORED; // I8
    case 'DropAttempt':
      return message.epoch === spec.epoch ? drop(current, kept, message.graceSeconds, context) : IGNORED; // I8
    case 'AttemptAsked':
      return message.epoch === spec.epoch ? volatile(tellOwner(current, status, kept)) : IGNORED;
    case 'OutputsTaken': {
      if (message.epoch !== spec.epoch || !hasEnded(status.phase) || kept.outputs === undefined) return IGNORED;
      const { outputs: _taken, ...rest } = kept;
      return next({ status, private: rest, effects: [{ type: 'ReleaseBlobs' }] });
    }
    case 'ProgressMade':
      return progressed(current, message);
    case 'FundingRefused':
      return refuseFunding(current, kept, message);
    case 'FundingRestored':
      return restoreFunding(current, kept, message.sequence);
    case 'AttemptSuperseded':
      if (message.epoch !== spec.epoch || status.supersededBy === message.by) return IGNORED;
      return next({ status: { ...status, supersededBy: message.by } });
    default:
      return IGNORED;
  }
}

/** What an older epoch says means nothing (I8), and neither does what comes after the end. */
function progressed(current: This, message: Extract<ObjectMessage, { type: 'ProgressMade' }>): AttemptDecision {
  const { spec, status } = current.object;
  const { completed, total } = message;
  const lives = status.phase === 'Provisioning' || status.phase === 'Running';
  if (message.epoch !== spec.epoch || !lives) return IGNORED;
  const { progress } = status;
  if (progress?.completed === completed && progress.total === total) return IGNORED;
  return next({ status: { ...status, progress: { stage: progress?.stage, completed, total } } });
}

function granted(
  current: This,
  kept: AttemptPrivate,
  message: Extract<ObjectMessage, { type: 'PlaceGranted' }>,
  context: DecisionContext,
): AttemptDecision {
  const { status, metadata } = current.object;
  // The place of one that ended in the queue was given back; a grant that crossed that message is given back too.
  if (kept.work === 'None' && hasEnded(status.phase)) return volatile([releasePlace()]);
  // The Node says it again until it hears that it was heard.
  if (kept.work === 'Live' || kept.work === 'Going') return volatile(wantPlace(current, true));
  if (status.phase !== 'Queued' || kept.work !== 'None') return IGNORED;
  const { reason: _waited, placement: _denied, ...rest } = status;
  const granting: AttemptStatus = {
    ...rest,
    phase: 'Provisioning',
    progress: { stage: 'Starting' },
    placement: {
      interruptible: false,
      offering: message.offering,
      rateUSDPerHour: readTerms(metadata.annotations)?.rateUSDPerHour ?? '0.00',
      regionClass: message.regionClass,
      warmReuse: false,
    },
    timings: {
      ...status.timings,
      acquiredTime: rfc3339Millis(context.now),
      billingStartTime: rfc3339Millis(context.now),
    },
  };
  const after: AttemptPrivate = { work: 'Live', since: context.now };
  return next({
    status: granting,
    private: after,
    finalizers: [...(metadata.finalizers ?? []).filter((name) => name !== WORK_FINALIZER), WORK_FINALIZER],
    effects: [...startWork(current), ...tellOwner(current, granting, after)],
    volatile: wantPlace(current, true),
  });
}

function denied(
  current: This,
  kept: AttemptPrivate,
  message: Extract<ObjectMessage, { type: 'PlaceDenied' }>,
  context: DecisionContext,
): AttemptDecision {
  const { status } = current.object;
  if (status.phase !== 'Queued') return IGNORED;
  if (message.final) return finish(current, kept, failed('CapacityUnavailable', message.reason), context.now);
  if (kept.message === message.reason) return IGNORED;
  const waiting: AttemptStatus = {
    ...status,
    reason: 'WaitingForCapacity',
    placement: { explain: { rejected: [{ offeringClass: LOCAL_OFFERING, reason: message.reason }] } },
  };
  const after: AttemptPrivate = { ...kept, message: message.reason, since: context.now };
  return next({ status: waiting, private: after, effects: tellOwner(current, waiting, after) });
}

function stop(
  current: This,
  kept: AttemptPrivate,
  message: Extract<ObjectMessage, { type: 'StopAttempt' }>,
  context: DecisionContext,
): AttemptDecision {
  const { status } = current.object;
  if (status.phase === 'Queued') return finish(current, kept, stopped(message.reason), context.now);
  // An owner that asks an ended Attempt to stop has not heard of the end.
  if (hasEnded(status.phase)) return volatile(tellOwner(current, status, kept));
  if (kept.stopping !== undefined) return IGNORED;
  return beginStop(current, kept, message.reason, message.graceSeconds, context);
}

/** Deletion waits for the work (the finalizer holds the object), and takes the logs with it. */
function remove(current: This, kept: AttemptPrivate, graceSeconds: number, context: DecisionContext): Written {
  const { status } = current.object;
  if (status.phase === 'Queued') return finish(current, kept, stopped('Released'), context.now);
  if (hasEnded(status.phase)) {
    return next({ status, effects: kept.work === 'None' ? [] : [removeWork(current, true)] });
  }
  if (kept.stopping !== undefined && kept.saving?.error === undefined) return next({ status });
  return beginStop(current, kept, 'Released', graceSeconds, context);
}

/** Nothing of it is wanted: it goes, and what runs of it ends as soon as the grace allows. */
function drop(current: This, kept: AttemptPrivate, graceSeconds: number, context: DecisionContext): AttemptDecision {
  const { status, metadata } = current.object;
  const going = metadata.deletionTimestamp !== undefined;
  if (going && (kept.work !== 'Live' || kept.stopping !== undefined)) return volatile(reminders(current, kept));
  // Nothing runs any more of one whose files are being saved.
  const atOnce = kept.work === 'Live' && (graceSeconds === 0 || kept.saving !== undefined);
  const last = atOnce ? removeLive(current, kept, status) : remove(current, kept, graceSeconds, context);
  return { ...last, effects: [...last.effects, { type: 'DeleteSelf' }] };
}

/** The proof of the removal is the end: what comes before it is one commit less for each who waits for it. */
function removeLive(current: This, kept: AttemptPrivate, status: AttemptStatus): Written {
  const after: AttemptPrivate = { ...kept, work: 'Going', stopping: kept.stopping ?? 'Released', saving: undefined };
  const cancel: Effect[] = kept.stopping === undefined ? [] : [{ type: 'CancelTimer', timer: 'stop' }];
  return next({ status, private: after, effects: [removeWork(current, true), ...cancel] });
}

/** Everything that the present state still needs from others, said once more. */
function reminders(current: This, kept: AttemptPrivate): readonly LaterEffect[] {
  const { status } = current.object;
  switch (kept.work) {
    case 'None':
      return hasEnded(status.phase) ? [] : wantPlace(current, false);
    case 'Live': {
      // Never its start: that one is stored, and a second one could overtake the removal.
      const work = kept.stopping === undefined ? [] : [stopWork(current)];
      return [...wantPlace(current, true), ...work, ...tellOwner(current, status, kept)];
    }
    case 'Going':
      return [...wantPlace(current, true), removeWork(current)];
    default: // Gone
      return [];
  }
}

/** Without an owner nothing waits for it, and no client could end it. */
function again(current: This, kept: AttemptPrivate, context: DecisionContext): AttemptDecision {
  if (ownerOf(current) === undefined) return drop(current, kept, GRACE_SECONDS, context);
  return volatile(reminders(current, kept));
}

function timerFired(current: This, kept: AttemptPrivate, timer: string, context: DecisionContext): AttemptDecision {
  const { status } = current.object;
  switch (timer) {
    case 'stop':
      // The end was not reported in time: what is left is removed by force, and the proof of that is the end.
      if (kept.work !== 'Live' || kept.stopping === undefined) return IGNORED;
      return next({ status, private: { ...kept, work: 'Going' }, effects: [removeWork(current)] });
    case 'unfunded':
      return endUnfunded(current, kept, context);
    case 'retry': {
      const ended = hasEnded(status.phase);
      return next({
        status,
        effects: [
          ...reminders(current, kept),
          ...(ended ? tellOwner(current, status, kept) : []),
          ...(ended && kept.work !== 'Going' ? [releasePlace()] : []),
        ],
      });
    }
    default:
      return IGNORED;
  }
}

function effectFailed(
  current: This,
  kept: AttemptPrivate,
  { effect, reason, message }: Extract<Message, { type: 'EffectFailed' }>,
  context: DecisionContext,
): AttemptDecision {
  const { status } = current.object;
  switch (effect.type) {
    case 'StartWork': {
      if (kept.work !== 'Live' || status.phase !== 'Provisioning') return IGNORED;
      if (kept.stopping !== undefined) return finish(current, kept, stopped(kept.stopping), context.now);
      return finish(current, kept, faulty(reason, message), context.now);
    }
    case 'Tell':
      // An owner that does not exist needs no message.
      if (effect.message.type === 'AttemptChanged' && reason === 'NotFound') return IGNORED;
      return retryLater(status, context);
    case 'StopWork':
    case 'RemoveWork':
      return kept.work === 'Live' || kept.work === 'Going' ? retryLater(status, context) : IGNORED;
    default:
      return IGNORED;
  }
}

function retryLater(status: AttemptStatus, context: DecisionContext): AttemptDecision {
  return next({ status, effects: [{ type: 'ArmTimer', timer: 'retry', at: context.now + RETRY_MS }] });
}
