/**
 * Owns what a Sandbox does next. Level-based: it looks at the spec, the one Attempt and the time, never at the message that
 * woke the Sandbox, so a repeated, late or lost message changes nothing but when it happens.
 */
import type { LaterEffect } from '../effect.js';
import { emit } from '../events/emit.js';
import { hasIdledOut, idleAt } from '../single-attempt/activity.js';
import { discardAttempt } from '../single-attempt/attempts.js';
import { ENDING_RESYNC_MS, STOP_GRACE_SECONDS } from '../single-attempt/policy.js';
import { mayStart, restStopped, setTimers, start, startsAt, stopLive } from '../single-attempt/start-stop.js';
import { createdAt, type SandboxDraft } from './draft.js';
import { maxLifetimeMs, STUCK_MS } from './policy.js';
import { mustRestart, reconcileRequests } from './requests.js';
import type { SandboxPhase } from './schema.js';

const LAZY: ReadonlySet<string> = new Set(['idle', 'start', 'stuck']);

/** Returns the phase that the Sandbox has after this decision. */
export function reconcile(draft: SandboxDraft): SandboxPhase {
  const expires = createdAt(draft) + maxLifetimeMs(draft.object.spec);
  if (expires <= draft.now) draft.remove();
  if (hasIdledOut(draft)) {
    if (draft.object.spec.lifecycle.onIdle === 'Delete') draft.remove();
    else draft.stop('IdleTimeout', `Stopped after ${draft.object.spec.lifecycle.idleTimeout} without activity`);
  }
  if (draft.deleting) {
    letGo(draft);
    setTimers(draft, {}, LAZY);
    return 'Terminating';
  }
  stopOrStart(draft);
  reconcileRequests(draft);
  const phase = phaseOf(draft);
  noteTurning(draft, phase);
  const { turning } = draft.private;
  const stuck = turning === undefined || turning.told ? undefined : turning.since + STUCK_MS;
  setTimers(draft, { expire: expires, idle: idleAt(draft), start: startsAt(draft), stuck }, LAZY);
  return phase;
}

/** The Attempt goes, and its work first; the finalizer holds the Sandbox until that is proven. */
function letGo(draft: SandboxDraft): void {
  const { live } = draft;
  if (live === undefined) return;
  draft.resyncLater(ENDING_RESYNC_MS);
  if (draft.status.phase === 'Terminating') return;
  draft.effects.push(discard(draft, live.epoch));
  draft.keepLive({ stopping: true });
}

/** Nothing of it is wanted any more. Only a main program of its own can do something with a grace. */
export function discard(draft: SandboxDraft, epoch: number): LaterEffect {
  const { metadata, spec } = draft.object;
  const grace = metadata.deletionGracePeriodSeconds ?? STOP_GRACE_SECONDS;
  return discardAttempt(draft, epoch, spec.command === undefined ? 0 : grace);
}

function stopOrStart(draft: SandboxDraft): void {
  if (draft.live !== undefined) {
    if (!draft.wanted || mustRestart(draft)) stopLive(draft);
  } else if (!draft.wanted) restStopped(draft);
  else if (mayStart(draft)) start(draft);
}

function phaseOf(draft: SandboxDraft): SandboxPhase {
  const { live } = draft;
  const { failure, recovering } = draft.private;
  if (live === undefined) {
    if (failure !== undefined) return 'Failed';
    return draft.wanted ? 'Recovering' : 'Stopped';
  }
  if (live.phase === 'Ended') {
    if (failure !== undefined) return 'Failed';
    return recovering !== undefined && draft.wanted ? 'Recovering' : 'Stopping';
  }
  if (live.stopping || live.unsaved === true) return 'Stopping';
  if (live.phase === 'Running') return 'Running';
  if (recovering !== undefined) return 'Recovering';
  return live.phase === 'Made' ? 'Pending' : 'Starting';
}

/** A wait for a place may last; a start or a stop may not. */
function noteTurning(draft: SandboxDraft, phase: SandboxPhase): void {
  const { turning } = draft.private;
  if (phase !== 'Starting' && phase !== 'Stopping') {
    if (turning !== undefined) draft.keep({ turning: undefined });
  } else if (turning?.phase !== phase) {
    draft.keep({ turning: { phase, since: draft.now, told: false } });
  } else if (!turning.told && turning.since + STUCK_MS <= draft.now) {
    draft.keep({ turning: { ...turning, told: true } });
    draft.effects.push(emit('sandbox.stuck', `${phase} for ${STUCK_MS / 60_000} minutes`));
  }
}
