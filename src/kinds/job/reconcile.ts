/**
 * What a Job does next. Level-based: it looks at the spec, the slots and the time, never at the message that woke the
 * Job, so a repeated, late or lost message changes nothing but when it happens.
 *
 * The order: is the Job over → must it end (cancelled, limits, deadlines) → is it suspended → fill free room with due
 * retries first, then with new indexes → which timers does that need. A Job that ends or is suspended first stops its
 * Attempts and takes its phase when none is left: a finished Job runs nothing.
 */
import { setTimers as armWanted } from '../attempts/decision.js';
import { startEpoch, stopAttempt } from '../attempts/requests.js';
import { emit } from '../events/emit.js';
import { DELETED, isCollected } from '../lifecycle.js';
import { MAX_COST_REACHED } from '../attempts/holds.js';
import type { Ending, JobDraft } from './draft.js';
import { giveUpFirstHold } from './funding.js';
import { backoffLimitExceeded, timeoutMs } from './ended.js';
import type { Slot } from './slots.js';
import { noPlace, queueTimeoutMs } from '../shapes/resources.js';
import { isFinished, type JobPhase } from './status.js';

/** Returns the phase that the Job has after this decision. `found`: an end that the message itself brought. */
export function reconcile(draft: JobDraft, found: Ending | undefined): JobPhase {
  const { phase = 'Pending' } = draft.job.status;
  if (isCollected(draft.job.metadata)) {
    // Its Attempts go by garbage collection, and nothing new begins.
    setTimers(draft, {});
    return phase;
  }
  if (isFinished(phase)) {
    expire(draft);
    return phase;
  }
  // All that was asked for is there, whatever else was about to end the Job.
  if (draft.completed === draft.job.spec.completions) return finish(draft, 'Succeeded');
  notePlaces(draft);
  const ending = draft.private.ending ?? found ?? mustEnd(draft);
  if (ending !== undefined) {
    if (draft.private.ending === undefined) beginEnding(draft, ending);
    if (draft.active === 0) return finish(draft, ending.phase);
    setTimers(draft, {});
    return phase;
  }
  if (isResting(draft)) {
    if (draft.private.suspendedAt === undefined) {
      draft.keep({ suspendedAt: draft.now });
      stopAll(draft, draft.private.capped === undefined ? 'Suspended' : MAX_COST_REACHED);
    }
    setTimers(draft, {});
    return draft.active === 0 ? 'Suspended' : phase;
  }
  resume(draft);
  fill(draft);
  notePlaces(draft);
  setTimers(draft, { deadline: deadlineAt(draft), queue: queueAt(draft), retry: retryAt(draft) });
  const { startedAt, unfunded } = draft.private;
  return startedAt === undefined || (unfunded !== undefined && draft.placed === 0) ? 'Pending' : 'Running';
}

/** Its client wants it to rest, or it has cost what it may. */
export function isResting({ job, private: { capped } }: JobDraft): boolean {
  return job.spec.state === 'Suspended' || capped !== undefined;
}

function mustEnd(draft: JobDraft): Ending | undefined {
  const { metadata, spec } = draft.job;
  if (metadata.deletionTimestamp !== undefined) return DELETED;
  if (spec.state === 'Cancelled') {
    return { phase: 'Cancelled', reason: 'Cancelled', message: 'cancelled by spec.state' };
  }
  if (draft.failures > spec.backoffLimit) return backoffLimitExceeded(draft.failures, spec.backoffLimit, '');
  const deadline = deadlineAt(draft);
  if (deadline !== undefined && deadline <= draft.now) {
    return { phase: 'Failed', reason: 'DeadlineExceeded', message: `the Job ran longer than timeout ${spec.timeout}` };
  }
  const queue = queueAt(draft);
  if (queue !== undefined && queue <= draft.now) {
    return { phase: 'Failed', ...noPlace(spec.placement) };
  }
  return undefined;
}

function beginEnding(draft: JobDraft, ending: Ending): void {
  draft.keep({ ending });
  stopAll(draft, ending.reason === 'DeadlineExceeded' ? ending.reason : 'Stopped');
  if (ending.phase !== 'Failed') return;
  // At most backoffLimit of them wait after a failure.
  const waiting = Array.from(draft.waitingSlots());
  for (const slot of waiting) {
    if (slot.failures > 0) draft.put({ ...slot, phase: 'Failed' });
  }
}

const EVENT_OF_END = { Succeeded: 'job.succeeded', Failed: 'job.failed', Cancelled: 'job.cancelled' } as const;

/** The event's own reason says only that it failed. */
function sayEnding({ reason, message }: Ending): string {
  return message === '' ? reason : `${reason}: ${message}`;
}

function finish(draft: JobDraft, phase: Extract<JobPhase, 'Succeeded' | 'Failed' | 'Cancelled'>): JobPhase {
  giveUpFirstHold(draft);
  draft.keep({ finishedAt: draft.now, ...(phase === 'Succeeded' && { ending: undefined }) });
  setTimers(draft, { ttl: ttlAt(draft) });
  const { ending } = draft.private;
  const completed = `${draft.completed} of ${draft.job.spec.completions} succeeded`;
  draft.effects.push(emit(EVENT_OF_END[phase], ending === undefined ? completed : sayEnding(ending)));
  return phase;
}

/** ttlSecondsAfterFinished: the Job goes, and with it its Attempts and outputs. */
function expire(draft: JobDraft): void {
  const at = ttlAt(draft);
  if (at !== undefined && at <= draft.now) draft.effects.push({ type: 'DeleteSelf' });
  else setTimers(draft, { ttl: at });
}

function stopAll(draft: JobDraft, reason: string): void {
  for (const slot of draft.activeSlots()) draft.effects.push(stopAttempt(draft.owner, slot, reason));
}

function resume(draft: JobDraft): void {
  const { suspendedAt, suspendedMs } = draft.private;
  if (suspendedAt === undefined) return;
  draft.keep({ suspendedAt: undefined, suspendedMs: suspendedMs + Math.max(0, draft.now - suspendedAt) });
}

/** Attempts of a Job that wait for a place beside those that have one: more would only wait. As many again as have one, so that few rounds fill a machine. */
const MOST_UNPLACED = 32;

/**
 * Starts as many indexes as parallelism leaves room for: due retries, then indexes that were never run. One that waits for money keeps its
 * room: else each refusal would begin the next index, which is refused as well.
 */
function fill(draft: JobDraft): void {
  const { parallelism, completions } = draft.job.spec;
  // I10
  const mayWait = Math.max(MOST_UNPLACED, draft.placed) - (draft.active - draft.placed);
  let room = Math.min(parallelism - draft.active, mayWait);
  if (room <= 0) return;
  const waiting = Array.from(draft.waitingSlots());
  let unpaid = 0;
  for (const slot of waiting) {
    if (room <= 0) return;
    if ((slot.detail.retryAt ?? 0) > draft.now) {
      if (slot.detail.wait !== undefined) unpaid += 1;
      continue;
    }
    start(draft, slot);
    room -= 1;
  }
  room -= unpaid;
  while (room > 0 && draft.next < completions) {
    start(draft, { index: draft.next, epoch: 0, phase: 'Waiting', failures: 0, detail: {} });
    room -= 1;
  }
}

/** I8: the next epoch of the slot, made in the commit that stores it. */
function start(draft: JobDraft, before: Slot): void {
  const epoch = before.epoch + 1;
  const { lost, replaces, wait } = before.detail;
  const detail = {
    ...{ ...(lost !== undefined && { lost }), ...(replaces === true && { replaces }) },
    ...(wait !== undefined && { wait }),
  };
  const slot: Slot = { index: before.index, epoch, phase: 'Active', failures: before.failures, detail };
  draft.put(slot);
  draft.effects.push(...startEpoch(draft.owner, slot, replaces === true));
}

/** Keeps the time since which Attempts wait and none has a place. */
function notePlaces(draft: JobDraft): void {
  const waits = draft.active > 0 && draft.placed === 0;
  const since = draft.private.unplacedSince;
  if (waits && since === undefined) draft.keep({ unplacedSince: draft.now });
  if (!waits && (since !== undefined || draft.private.waitReason !== undefined)) {
    draft.keep({ unplacedSince: undefined, waitReason: undefined });
  }
}

function deadlineAt(draft: JobDraft): number | undefined {
  const { startedAt, suspendedAt, suspendedMs } = draft.private;
  const limit = timeoutMs(draft.job.spec);
  // Suspended, or until just now: its time stands still, and it was not over when it was suspended.
  if (limit === undefined || startedAt === undefined || suspendedAt !== undefined) return undefined;
  return startedAt + limit + suspendedMs;
}

function queueAt(draft: JobDraft): number | undefined {
  const limit = queueTimeoutMs(draft.job.spec.placement);
  const since = draft.private.unplacedSince;
  return limit === undefined || since === undefined ? undefined : since + limit;
}

/** When the next waiting index is due; those that are due already wait for room, which no timer brings. */
function retryAt(draft: JobDraft): number | undefined {
  let soonest: number | undefined;
  for (const { detail } of draft.waitingSlots()) {
    const at = detail.retryAt ?? 0;
    if (at > draft.now && (soonest === undefined || at < soonest)) soonest = at;
  }
  return soonest;
}

function ttlAt(draft: JobDraft): number | undefined {
  const seconds = draft.job.spec.ttlSecondsAfterFinished;
  const finishedAt = draft.private.finishedAt ?? draft.now;
  return seconds === undefined ? undefined : finishedAt + seconds * 1000;
}

/** Timers that may fire early: what they mean is looked at again, so moving them later is not worth a row. */
const LAZY = new Set(['queue', 'retry']);

function setTimers(draft: JobDraft, wanted: Readonly<Record<string, number | undefined>>): void {
  const running = Object.keys(wanted).some((timer) => LAZY.has(timer));
  armWanted(draft, wanted, LAZY, running ? LAZY : undefined);
}
