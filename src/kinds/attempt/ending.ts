/** How an Attempt ends: its last phase from what became of the work, and what is left to do after it. */
import { rfc3339Millis, parseTime } from '../../api/time.js';
import type { Effect } from '../effect.js';
import type { CollectedOutput } from '../object-message.js';
import type { WorkReport } from '../report.js';
import { releaseHold } from './billing.js';
import { removeWork, stopWaiting, tellOwner } from './effects.js';
import { endedUnfunded } from './funding.js';
import { whoseFault, type FaultReason } from './faults.js';
import type { AttemptPhase, AttemptStatus } from './schema.js';
import { next, type AttemptPrivate, type This, type Written } from './state.js';

/** The engine ended it, since nobody said that it is paid any longer. */
const UNPAID: FaultReason = 'FundingUnknown';

/** What became of the work. */
export type Verdict = {
  readonly phase: Extract<AttemptPhase, 'Succeeded' | 'Failed' | 'Cancelled'>;
  readonly reason: string;
  readonly message: string;
  /** The capacity failed and not the work. */
  readonly lost: boolean;
  readonly exitCode?: number | undefined;
  readonly signal?: number | undefined;
  readonly outputs?: readonly CollectedOutput[] | undefined;
};

interface Ended {
  readonly status: AttemptStatus;
  readonly private: AttemptPrivate;
  readonly effects: readonly Effect[];
}

export function stopped(reason: string): Verdict {
  return { phase: 'Cancelled', reason, message: '', lost: false };
}

export function lostCapacity(reason: string, message: string): Verdict {
  return { phase: 'Failed', reason, message, lost: true };
}

export function failed(reason: string, message: string): Verdict {
  return { phase: 'Failed', reason, message, lost: false };
}

/** By the reason: the capacity failed, or the work did. */
export function faulty(reason: string, message: string): Verdict {
  return whoseFault(reason) === 'Machine' ? lostCapacity(reason, message) : failed(reason, message);
}

/** A program that was asked to stop was stopped, whatever it answered: its work is not known to be complete. */
export function judgeExit(exit: Extract<WorkReport, { report: 'Exited' }>, stopping: string | undefined): Verdict {
  const { exitCode, signal, outputs } = exit;
  const shown = { exitCode, signal, outputs };
  if (stopping !== undefined) return { ...stopped(stopping), ...shown };
  if (exit.outOfMemory) {
    const said = exit.reason === undefined ? exit.message : undefined;
    return { ...failed('OutOfMemory', said ?? 'the memory limit was reached'), ...shown };
  }
  // The engine ended it, so whatever the program answered is not its own end.
  if (exit.reason !== undefined) return { ...faulty(exit.reason, exit.message ?? ''), ...shown };
  if (exitCode === 0) return { phase: 'Succeeded', reason: 'Completed', message: '', lost: false, ...shown };
  const message = exitCode === undefined ? `ended by signal ${signal ?? 'unknown'}` : `exit code ${exitCode}`;
  return { ...failed('CustomerExit', message), ...shown };
}

/** What was saved of it counts as if it had been stopped. */
export function judgeLoss(loss: Extract<WorkReport, { report: 'Lost' }>, stopping: string | undefined): Verdict {
  const { outputs } = loss;
  return { ...(stopping !== undefined ? stopped(stopping) : lostCapacity('NodeLost', loss.message)), outputs };
}

/** `time`: when the work ended, in ms since the epoch. */
export function end(current: This, kept: AttemptPrivate, verdict: Verdict, time: number): Ended {
  const { status } = current.object;
  const { phase, reason, message, lost, exitCode, signal, outputs } = verdict;
  const finishedTime = rfc3339Millis(time);
  const acquired = parseTime(status.timings?.acquiredTime ?? '');
  const shortfall = phase === 'Cancelled' ? endedUnfunded(kept) : undefined;
  const last: AttemptStatus = {
    ...status,
    phase,
    reason,
    progress: { ...current.object.status.progress, stage: phase === 'Cancelled' ? 'Stopped' : lost ? 'Lost' : phase },
    ...(exitCode !== undefined && { exitCode }),
    ...(signal !== undefined && { signal }),
    ...(acquired !== undefined && { actual: { costUSD: '0.00', ...status.actual, hours: hours(acquired, time) } }),
    ...(lost && {
      interruption: interruption(status, reason === UNPAID ? 'Funding' : 'HeartbeatLoss', time),
    }),
    ...(shortfall !== undefined && { interruption: interruption(status, 'Funding', time) }),
    timings: { ...status.timings, finishedTime },
  };
  const placed = kept.work === 'Live' || kept.work === 'Going';
  const after: AttemptPrivate = {
    work: placed ? 'Going' : kept.work,
    lost,
    message,
    since: time,
    unrestored: kept.unrestored,
    ...(kept.lateMs !== undefined && { lateMs: kept.lateMs }),
    ...(shortfall !== undefined && { shortfall }),
    ...(outputs !== undefined && outputs.length > 0 && { outputs }),
  };
  const effects: Effect[] = [...tellOwner(current, last, after)];
  if (placed) effects.push(removeWork(current));
  else effects.push(stopWaiting());
  // What had a place is billed with the proof that nothing of it is left.
  if (kept.work === 'None') effects.push(...releaseHold(current, time));
  if (kept.stopping !== undefined) effects.push({ type: 'CancelTimer', timer: 'stop' });
  return { status: last, private: after, effects };
}

/** The decision that is no more than this end. */
export function finish(current: This, kept: AttemptPrivate, verdict: Verdict, time: number): Written {
  return next(end(current, kept, verdict, time));
}

type Interruption = NonNullable<AttemptStatus['interruption']>;

function interruption(status: AttemptStatus, trigger: Interruption['trigger'], time: number): Interruption {
  const started = parseTime(status.timings?.commandStartedTime ?? '');
  return {
    trigger,
    time: rfc3339Millis(time),
    lostSeconds: started === undefined ? 0 : seconds(started, time),
  };
}

/** Seconds between two times in ms, to the millisecond; never below zero, since two clocks are involved. */
export function seconds(from: number, to: number): number {
  return Math.max(0, to - from) / 1000;
}

/** To a millionth of an hour: 3.6 ms. */
function hours(from: number, to: number): number {
  return Math.round(Math.max(0, to - from) / 3.6) / 1e6;
}
