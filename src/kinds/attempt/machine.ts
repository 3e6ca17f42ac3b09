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
import { parseTime, rfc3339Millis } from '../../api/time.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import type { Decision, Machine, Message, DecisionContext } from '../machine.js';
import { LOCAL_OFFERING } from '../offering/local.js';
import type { WorkReport } from '../report.js';
import { GRACE_SECONDS, releasePlace, removeWork, startWork, stopWork, tellOwner, wantPlace } from './effects.js';
import {
  end,
  failed,
  faulty,
  judgeExit,
  judgeLoss,
  lostCapacity,
  seconds,
  stopped,
  type Ended,
  type Verdict,
} from './ending.js';
import { hasEnded, type AttemptSpec, type AttemptStatus } from './schema.js';
import { wantsProof } from './annotations.js';
import { ownerOf, UNPLACED, WORK_FINALIZER, type AttemptPrivate, type This } from './state.js';

type AttemptDecision = Decision<AttemptStatus, AttemptPrivate, never>;
type Written = Extract<AttemptDecision, { outcome: 'Next' }>;

const IGNORED: AttemptDecision = { outcome: 'Ignored' };

/** Beyond the grace, how long the end of stopped work may take to be reported before it is removed by force. */
const STOP_SLACK_MS = 30_000;
/** A deletion waits so long for what could not be saved. */
const UNSAVED_MS = 60_000;
/** Between tries of what failed: removing work, asking the Node, telling the owner. */
const RETRY_MS = 30_000;

/** The start found that there is nobody any more to run it for. */
const OWNER_GONE = 'OwnerGone';

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
        return told(current, kept, message.letter, context);
      case 'Reported':
        if (message.report.epoch !== current.object.spec.epoch) return IGNORED; // I8
        return reported(current, kept, message.report, context);
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

function next(change: {
  readonly status: AttemptStatus;
  readonly private?: AttemptPrivate;
  readonly effects?: readonly Effect[];
  readonly letters?: readonly LaterEffect[];
  readonly finalizers?: readonly string[];
}): Written {
  return { outcome: 'Next', effects: [], ...change };
}

function volatile(letters: readonly LaterEffect[]): AttemptDecision {
  return letters.length === 0 ? IGNORED : { outcome: 'Volatile', changes: [], letters };
}

function finish(current: This, kept: AttemptPrivate, verdict: Verdict, time: number): Written {
  return next(end(current, kept, verdict, time) satisfies Ended);
}

function created(current: This, context: DecisionContext): AttemptDecision {
  const { object } = current;
  const timings = { ...object.status.timings, queuedTime: rfc3339Millis(context.now) };
  const status: AttemptStatus = { ...object.status, timings };
  const born = { ...current, object: { ...object, status } };
  return next({ status, private: { ...UNPLACED, since: context.now }, effects: wantPlace(born, false) });
}

/** The service alone changes an Attempt: here its owner may have let go of it. */
function updated(current: This, kept: AttemptPrivate, context: DecisionContext): AttemptDecision {
  if (ownerOf(current) === undefined) return drop(current, kept, GRACE_SECONDS, context);
  return next({ status: current.object.status });
}

function told(current: This, kept: AttemptPrivate, letter: ObjectMessage, context: DecisionContext): AttemptDecision {
  const { spec, status } = current.object;
  switch (letter.letter) {
    case 'PlaceGranted':
      return granted(current, kept, letter, context);
    case 'PlaceDenied':
      return denied(current, kept, letter, context);
    case 'StopAttempt':
      return letter.epoch === spec.epoch ? stop(current, kept, letter, context) : IGNORED; // I8
    case 'DropAttempt':
      return letter.epoch === spec.epoch ? drop(current, kept, letter.graceSeconds, context) : IGNORED; // I8
    case 'AttemptAsked':
      return letter.epoch === spec.epoch ? volatile(tellOwner(current, status, kept)) : IGNORED;
    case 'OutputsTaken': {
      if (letter.epoch !== spec.epoch || !hasEnded(status.phase) || kept.outputs === undefined) return IGNORED;
      const { outputs: _taken, ...rest } = kept;
      return next({ status, private: rest, effects: [{ type: 'ReleaseBlobs' }] });
    }
    case 'ProgressMade':
      return progressed(current, letter);
    case 'AttemptSuperseded':
      if (letter.epoch !== spec.epoch || status.supersededBy === letter.by) return IGNORED;
      return next({ status: { ...status, supersededBy: letter.by } });
    default:
      return IGNORED;
  }
}

/** What an older epoch says means nothing (I8), and neither does what comes after the end. */
function progressed(current: This, letter: Extract<ObjectMessage, { letter: 'ProgressMade' }>): AttemptDecision {
  const { spec, status } = current.object;
  const { completed, total } = letter;
  const lives = status.phase === 'Provisioning' || status.phase === 'Running';
  if (letter.epoch !== spec.epoch || !lives) return IGNORED;
  const { progress } = status;
  if (progress?.completed === completed && progress.total === total) return IGNORED;
  return next({ status: { ...status, progress: { stage: progress?.stage, completed, total } } });
}

function granted(
  current: This,
  kept: AttemptPrivate,
  letter: Extract<ObjectMessage, { letter: 'PlaceGranted' }>,
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
      offering: letter.offering,
      rateUSDPerHour: '0.00',
      regionClass: letter.regionClass,
      warmReuse: false,
    },
    timings: { ...status.timings, acquiredTime: rfc3339Millis(context.now) },
  };
  const after: AttemptPrivate = { work: 'Live', since: context.now };
  return next({
    status: granting,
    private: after,
    finalizers: [...(metadata.finalizers ?? []).filter((name) => name !== WORK_FINALIZER), WORK_FINALIZER],
    effects: [...startWork(current), ...tellOwner(current, granting, after)],
    letters: wantPlace(current, true),
  });
}

function denied(
  current: This,
  kept: AttemptPrivate,
  letter: Extract<ObjectMessage, { letter: 'PlaceDenied' }>,
  context: DecisionContext,
): AttemptDecision {
  const { status } = current.object;
  if (status.phase !== 'Queued') return IGNORED;
  if (letter.final) return finish(current, kept, failed('CapacityUnavailable', letter.reason), context.now);
  if (kept.message === letter.reason) return IGNORED;
  const waiting: AttemptStatus = {
    ...status,
    reason: 'WaitingForCapacity',
    placement: { explain: { rejected: [{ offeringClass: LOCAL_OFFERING, reason: letter.reason }] } },
  };
  const after: AttemptPrivate = { ...kept, message: letter.reason, since: context.now };
  return next({ status: waiting, private: after, effects: tellOwner(current, waiting, after) });
}

function stop(
  current: This,
  kept: AttemptPrivate,
  letter: Extract<ObjectMessage, { letter: 'StopAttempt' }>,
  context: DecisionContext,
): AttemptDecision {
  const { status } = current.object;
  if (status.phase === 'Queued') return finish(current, kept, stopped(letter.reason), context.now);
  // An owner that asks an ended Attempt to stop has not heard of the end.
  if (hasEnded(status.phase)) return volatile(tellOwner(current, status, kept));
  if (kept.stopping !== undefined) return IGNORED;
  return beginStop(current, kept, letter.reason, letter.graceSeconds, context);
}

function beginStop(
  current: This,
  kept: AttemptPrivate,
  reason: string,
  graceSeconds: number,
  context: DecisionContext,
): Written {
  const { status, metadata } = current.object;
  if (kept.saving !== undefined) {
    // Nothing runs any more. Only a deletion does not wait for what cannot be saved.
    const given = kept.saving.error !== undefined && metadata.deletionTimestamp !== undefined;
    const effects: Effect[] = given ? [{ type: 'ArmTimer', timer: 'stop', at: context.now + UNSAVED_MS }] : [];
    return next({ status, private: { ...kept, stopping: kept.stopping ?? reason }, effects });
  }
  const at = context.now + graceSeconds * 1000 + STOP_SLACK_MS;
  return next({
    status,
    private: { ...kept, stopping: reason },
    effects: [stopWork(current, graceSeconds), { type: 'ArmTimer', timer: 'stop', at }],
  });
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

function reported(current: This, kept: AttemptPrivate, report: WorkReport, context: DecisionContext): AttemptDecision {
  const { status } = current.object;
  if (report.report === 'Removed') return removed(current, kept, report.time);
  if (kept.work !== 'Live' || hasEnded(status.phase)) return IGNORED;
  switch (report.report) {
    case 'Prepared':
      return IGNORED; // comes again with `Started`; alone it is not worth a commit
    case 'Started':
      return started(current, kept, report);
    case 'Saving':
      return saving(current, kept, report.error, context);
    case 'Exited':
      return finish(current, kept, judgeExit(report, kept.stopping), report.time);
    case 'StartFailed': {
      const { reason, message, time } = report;
      if (reason === OWNER_GONE) return abandon(current, kept, message, time);
      if (kept.stopping !== undefined) return finish(current, kept, stopped(kept.stopping), time);
      return finish(current, kept, faulty(reason, message), time);
    }
    default: // Lost
      return finish(
        current,
        kept,
        judgeLoss(report, kept.stopping),
        kept.stopping === undefined ? report.time : context.now,
      );
  }
}

/** It was made while its owner went, so that nobody collects it: it goes by itself. */
function abandon(current: This, kept: AttemptPrivate, message: string, time: number): AttemptDecision {
  const ended = end(current, kept, failed(OWNER_GONE, message), time);
  return next({ ...ended, effects: [...ended.effects, removeWork(current, true), { type: 'DeleteSelf' }] });
}

function started(
  current: This,
  kept: AttemptPrivate,
  report: Extract<WorkReport, { report: 'Started' }>,
): AttemptDecision {
  const { status } = current.object;
  if (status.phase !== 'Provisioning') return IGNORED;
  const acquired = parseTime(status.timings?.acquiredTime ?? '') ?? report.time;
  const running: AttemptStatus = {
    ...status,
    phase: 'Running',
    progress: { ...status.progress, stage: 'Running' },
    timings: {
      ...status.timings,
      ...(report.preparedAt !== undefined && { registeredTime: rfc3339Millis(report.preparedAt) }),
      commandStartedTime: rfc3339Millis(report.time),
      bootSeconds: seconds(acquired, report.time),
    },
  };
  const after: AttemptPrivate = { ...kept, since: report.time, unrestored: report.unrestored };
  return next({ status: running, private: after, effects: tellOwner(current, running, after) });
}

/**
 * It takes as long as it takes: nothing is removed by force while it goes on. Only one that is deleted does not wait for what
 * cannot be saved.
 */
function saving(
  current: This,
  kept: AttemptPrivate,
  error: string | undefined,
  context: DecisionContext,
): AttemptDecision {
  if (kept.saving !== undefined && (error === undefined || kept.saving.error === error)) return IGNORED;
  const { status, metadata } = current.object;
  const after: AttemptPrivate = { ...kept, saving: { error } };
  const effects: Effect[] = error === undefined ? [] : [...tellOwner(current, status, after)];
  const going = error !== undefined && metadata.deletionTimestamp !== undefined;
  if (going) effects.push({ type: 'ArmTimer', timer: 'stop', at: context.now + UNSAVED_MS });
  else if (kept.stopping !== undefined) effects.push({ type: 'CancelTimer', timer: 'stop' });
  return next({ status, private: after, effects });
}

/** The proof: the place is free, and a deletion need not wait any longer. */
function removed(current: This, kept: AttemptPrivate, time: number): AttemptDecision {
  if (kept.work !== 'Live' && kept.work !== 'Going') return IGNORED;
  const { metadata, status: before } = current.object;
  // Work that is gone without having ended was lost, or stopped by force.
  const ended = hasEnded(before.phase)
    ? { status: before, private: kept, effects: [] }
    : end(current, { ...kept, work: 'Gone' }, unreported(kept), time);
  const finished = parseTime(ended.status.timings?.finishedTime ?? '') ?? time;
  const status: AttemptStatus = {
    ...ended.status,
    timings: {
      ...ended.status.timings,
      deletionProvenTime: rfc3339Millis(time),
      teardownSeconds: seconds(finished, time),
    },
  };
  const after: AttemptPrivate = { ...ended.private, work: 'Gone' };
  const release = hasEnded(before.phase) ? [releasePlace()] : [];
  // An end that is told only now says so itself.
  const proof = hasEnded(before.phase) && wantsProof(metadata.annotations) ? tellOwner(current, status, after) : [];
  return next({
    status,
    private: after,
    finalizers: (metadata.finalizers ?? []).filter((name) => name !== WORK_FINALIZER),
    effects: [...ended.effects, ...release, ...proof],
  });
}

function unreported(kept: AttemptPrivate): Verdict {
  return kept.stopping === undefined ? lostCapacity('NodeLost', 'the work is gone') : stopped(kept.stopping);
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

function timerFired(current: This, kept: AttemptPrivate, timer: string, _moment: DecisionContext): AttemptDecision {
  const { status } = current.object;
  switch (timer) {
    case 'stop':
      // The end was not reported in time: what is left is removed by force, and the proof of that is the end.
      if (kept.work !== 'Live' || kept.stopping === undefined) return IGNORED;
      return next({ status, private: { ...kept, work: 'Going' }, effects: [removeWork(current)] });
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
      if (effect.letter.letter === 'AttemptChanged' && reason === 'NotFound') return IGNORED;
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
