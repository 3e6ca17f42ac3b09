/**
 * Owns what a Workspace does next. Level-based: it looks at the spec, the schedule, the lease of its home, the one Attempt and the
 * time, never at the message that woke it, so a repeated, late or lost message changes nothing but when it happens.
 */
import { formatBytes } from '../../api/quantity.js';
import { hasIdledOut, idleAt } from '../single-attempt/activity.js';
import { mayStart, restStopped, setTimers, start, startsAt, stopLive } from '../single-attempt/start-stop.js';
import { noPlace, queueTimeoutMs } from '../shapes/resources.js';
import type { WorkspaceDraft } from './draft.js';
import { holdsHome, leaseTimer, reconcileLease } from './lease.js';
import { scheduleTimers, reconcileSchedule } from './schedule.js';
import type { WorkspacePhase } from './schema.js';

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
  if (draft.deleting && isHeld(draft)) draft.resyncLater();
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
    start(draft);
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
