/**
 * What a Workspace does next. Level-based: it looks at the spec, the schedule, the lease of its home, the one Attempt and the
 * time, never at the message that woke it, so a repeated, late or lost message changes nothing but when it happens.
 */
import { formatBytes } from '../../api/quantity.js';
import { parseTime } from '../../api/time.js';
import { noPlace, queueTimeoutMs } from '../shapes/resources.js';
import { resyncLater, setTimers } from '../attempts/decision.js';
import { hasIdledOut, idleAt } from '../single-attempt/idle.js';
import { afterEnd, type AttemptChanged, noteEnd, savedOf } from '../single-attempt/ended.js';
import { mayStart, restStopped, startAttempt, startsAt, stopLive } from '../single-attempt/start-stop.js';
import type { Live } from '../single-attempt/state.js';
import { holdsHome, leaseTimer, reconcileLease } from './lease.js';
import { HOME_OUTPUT } from './plan.js';
import type { WorkspacePhase, WorkspaceSpec } from './schema.js';
import { SCHEDULE_LEAD_MS, type WorkspaceDraft } from './state.js';

const LAZY: ReadonlySet<string> = new Set(['idle', 'start']);

/** Returns the phase that the Workspace has after this decision. */
export function reconcile(draft: WorkspaceDraft): WorkspacePhase {
  if (!draft.deleting) {
    reconcileSchedule(draft);
    if (hasIdledOut(draft))
      draft.stop('IdleTimeout', `Stopped after ${draft.object.spec.idleTimeout} without activity`);
  }
  giveUpWait(draft);
  reconcileLease(draft);
  stopOrStart(draft);
  noteWait(draft);
  if (draft.deleting && isHeld(draft)) resyncLater(draft);
  const schedule = draft.deleting ? {} : scheduleTimers(draft);
  setTimers(
    draft,
    { ...schedule, idle: idleAt(draft), start: startsAt(draft), lease: leaseTimer(draft), queue: queueAt(draft) },
    LAZY,
  );
  return phaseOf(draft);
}

/** Something of it runs, or its home is not given back yet: then it must not go. */
export function isHeld({ private: { lease, live } }: WorkspaceDraft): boolean {
  return live !== undefined || lease !== undefined;
}

/** A wait for a place that is longer than `placement.queueTimeout` is given up. */
function giveUpWait(draft: WorkspaceDraft): void {
  const due = queueAt(draft);
  if (due !== undefined && due <= draft.now)
    draft.keep({ failure: noPlace(draft.object.spec.placement), queuedSince: undefined });
}

function noteWait(draft: WorkspaceDraft): void {
  const { live, queuedSince } = draft.private;
  const waits = live?.phase === 'Made' && !live.stopping;
  if (!waits) draft.keep({ queuedSince: undefined });
  else if (queuedSince === undefined) draft.keep({ queuedSince: draft.now });
}

/** Undefined until it is known that it waits: most find a place at once, and need no timer. */
function queueAt({ object, private: { live, queuedSince } }: WorkspaceDraft): number | undefined {
  const limit = queueTimeoutMs(object.spec.placement);
  if (limit === undefined || queuedSince === undefined || live?.wait === undefined) return undefined;
  return queuedSince + limit;
}

function stopOrStart(draft: WorkspaceDraft): void {
  if (draft.live !== undefined) {
    // Deleted too it is stopped first: its home is saved.
    if (!draft.wanted) stopLive(draft);
  } else if (!draft.wanted) restStopped(draft);
  else if (mayStart(draft) && holdsHome(draft)) {
    const { lease } = draft.private;
    startAttempt(draft);
    const size = lease?.size === undefined ? undefined : formatBytes(lease.size);
    draft.say({ home: lease && { volume: lease.volume, size, ...lease.home } });
  }
}

function phaseOf(draft: WorkspaceDraft): WorkspacePhase {
  const { failure, lease, live } = draft.private;
  if (live === undefined) {
    if (failure !== undefined && !draft.deleting) return 'Failed';
    if (draft.held || (draft.wanted && lease?.at !== 'Returning')) return 'Pending';
    return lease === undefined && !draft.deleting ? 'Stopped' : 'Stopping';
  }
  if (live.phase === 'Ended') {
    if (failure !== undefined && !draft.deleting) return 'Failed';
    return draft.wanted && draft.private.recovering !== undefined ? 'Pending' : 'Stopping';
  }
  if (live.stopping || live.unsaved === true) return 'Stopping';
  if (live.phase === 'Running') return 'Running';
  return live.phase === 'Made' ? 'Pending' : 'Starting';
}

/**
 * `spec.schedule`: when the machine starts and stops by itself. Each time is carried out once, also when the service was down just then, and
 * is known by its value: a new time is a new one. What a client asks for before or after holds until the next time comes.
 */
interface Times {
  readonly start: number | undefined;
  readonly stop: number | undefined;
}

function timesOf({ schedule }: WorkspaceSpec): Times {
  const readyBy = parseTime(schedule?.readyBy ?? '');
  return {
    start: readyBy === undefined ? undefined : readyBy - SCHEDULE_LEAD_MS,
    stop: parseTime(schedule?.stopAt ?? ''),
  };
}

/** One that is made with a time to be ready by waits for it, since it would run at once otherwise; without one it waits for nothing. */
export function waitForSchedule(draft: WorkspaceDraft): void {
  draft.keep({ waits: true });
}

/** What time has come is carried out; the start comes first, since it lies before the stop. */
export function reconcileSchedule(draft: WorkspaceDraft): void {
  const { start, stop } = timesOf(draft.object.spec);
  if (start !== undefined && start <= draft.now && draft.private.started !== start) {
    draft.keep({ started: start, waits: undefined, failure: undefined, lost: 0 });
    draft.state = 'Running';
  }
  if (stop !== undefined && stop <= draft.now && draft.private.stopped !== stop) {
    draft.keep({ stopped: stop });
    if (draft.state === 'Running')
      draft.stop('Schedule', `Stopped at schedule.stopAt ${draft.object.spec.schedule?.stopAt ?? ''}`);
  }
  // Stopped by its client, or without a time to wait for any more.
  if (draft.private.waits === true && (draft.state === 'Stopped' || start === undefined))
    draft.keep({ waits: undefined });
  draft.held = draft.private.waits === true;
}

/** When the schedule has to be looked at again. */
export function scheduleTimers(draft: WorkspaceDraft): Readonly<Record<'ready' | 'stopAt', number | undefined>> {
  const { start, stop } = timesOf(draft.object.spec);
  const { started, stopped } = draft.private;
  return { ready: start === started ? undefined : start, stopAt: stop === stopped ? undefined : stop };
}

/** What was collected of the home goes to the Volume. */
export function attemptEnded(draft: WorkspaceDraft, live: Live, change: AttemptChanged): void {
  noteEnd(draft, live);
  keepHome(draft, live, change);
  if (!draft.deleting) afterEnd(draft, live, change);
}

/** Saved is said once the Volume has it. */
function keepHome(draft: WorkspaceDraft, live: Live, change: AttemptChanged): void {
  const { lease } = draft.private;
  if (lease?.at !== 'Granted' || lease.epoch !== live.epoch) return;
  const files = savedOf(HOME_OUTPUT, live, change);
  switch (files.saved) {
    case 'Whole': {
      const { digest, size, logical, time } = files;
      draft.keep({ lease: { ...lease, saved: { digest, size, logical, time } } });
      return;
    }
    case 'Failed': {
      const { revision } = lease.home ?? {};
      const stands = revision === undefined ? 'the Volume is empty' : `revision ${revision} of the Volume stands`;
      draft.condition('StateSaved', false, files.reason, `${files.message}; ${stands}`);
      return;
    }
    case 'Nothing':
  }
}
