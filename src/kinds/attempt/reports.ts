/**
 * What an Attempt makes of the engine's reports about its work: its start, the saving of its files, its end, and the proof that nothing
 * of it is left. A report that the present state does not wait for changes nothing (I8). Pure.
 */
import { parseTime, rfc3339Millis } from '../../api/time.js';
import type { Effect } from '../effect.js';
import type { DecisionContext } from '../machine.js';
import type { WorkReport } from '../report.js';
import type { Segment } from '../../money/hold.js';
import { wantsProof } from './annotations.js';
import { settleHold, startOf } from './billing.js';
import { releasePlace, removeWork, tellOwner } from './effects.js';
import {
  end,
  failed,
  faulty,
  finish,
  judgeExit,
  judgeLoss,
  lostCapacity,
  seconds,
  stopped,
  type Verdict,
} from './ending.js';
import { hasEnded, type AttemptStatus } from './schema.js';
import {
  IGNORED,
  next,
  UNSAVED_MS,
  WORK_FINALIZER,
  type AttemptDecision,
  type AttemptPrivate,
  type This,
} from './state.js';

/** The start found that there is nobody any more to run it for. */
const OWNER_GONE = 'OwnerGone';

export function takeReport(
  current: This,
  kept: AttemptPrivate,
  report: WorkReport,
  context: DecisionContext,
): AttemptDecision {
  const { status } = current.object;
  if (report.report === 'Removed') return removed(current, kept, report.time, context.activeSince);
  if (kept.work !== 'Live' || hasEnded(status.phase)) return IGNORED;
  switch (report.report) {
    case 'Prepared':
      return IGNORED; // comes again with `Started`; alone it is not worth a commit
    case 'Started':
      return started(current, kept, report);
    case 'Saving':
      return saving(current, kept, report.error, context);
    case 'Exited':
      return finish(current, heard(kept, report.time, context.now), judgeExit(report, kept.stopping), report.time);
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
function removed(current: This, kept: AttemptPrivate, time: number, activeSince: number | undefined): AttemptDecision {
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
  // Nobody was there to tear it down, or nobody who listened.
  const away = Math.min(Math.max(0, (activeSince ?? 0) - finished, kept.lateMs ?? 0), Math.max(0, time - finished));
  const release = hasEnded(before.phase) ? [releasePlace()] : [];
  // An end that is told only now says so itself.
  const proof = hasEnded(before.phase) && wantsProof(metadata.annotations) ? tellOwner(current, status, after) : [];
  return next({
    status,
    private: after,
    finalizers: (metadata.finalizers ?? []).filter((name) => name !== WORK_FINALIZER),
    effects: [
      ...ended.effects,
      ...settleHold(current, status, {
        teardownFrom: hasEnded(before.phase) ? finished : undefined,
        until: time - away,
        covered: coveredOf(current, after, time - away - finished),
      }),
      ...release,
      ...proof,
    ],
  });
}

/** Nothing of the work is left to be saved when it has ended: a longer teardown is one that the service was late for. */
const TEARDOWN_MS = 5_000;
/** Within so long the service hears of an end as a rule. */
const HEARD_MS = 1_000;

/** Notes how late the service was for the end: from then until now nobody tore the work down, which is not its owner's to pay. */
function heard(kept: AttemptPrivate, ended: number, now: number): AttemptPrivate {
  const lateMs = now - ended;
  return lateMs > HEARD_MS ? { ...kept, lateMs } : kept;
}

/** What the service's own fault has cost it: the start and the teardown of what was lost, and a teardown that it was away or late for. */
function coveredOf(current: This, { lost }: AttemptPrivate, teardownMs: number): readonly Segment[] {
  if (lost === true) return [startOf(current.object), 'Teardown'];
  return teardownMs > TEARDOWN_MS ? ['Teardown'] : [];
}

function unreported(kept: AttemptPrivate): Verdict {
  return kept.stopping === undefined ? lostCapacity('NodeLost', 'the work is gone') : stopped(kept.stopping);
}
