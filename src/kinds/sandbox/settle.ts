/**
 * Owns what a Sandbox does next. Level-based: it looks at the spec, the one Attempt and the time, never at the message that
 * woke the Sandbox, so a repeated, late or lost message changes nothing but when it happens.
 *
 * I8: there is at most one Attempt that is not proven gone, and the next one is made in the commit that knows the proof.
 */
import { armTimers } from '../arm-timers.js';
import type { Effect } from '../effect.js';
import { emit } from '../events/emit.js';
import { idleAt } from './activity.js';
import { dropAttempt, makeAttempt, nameOf, stopAttempt, supersede } from './attempts.js';
import type { SandboxDraft } from './draft.js';
import { KEPT_ATTEMPTS, maxLifetimeMs, STUCK_MS } from './policy.js';
import { mustRestart, settleRequests } from './requests.js';
import type { SandboxPhase } from './schema.js';

/** Returns the phase that the Sandbox has after this decision. */
export function settle(draft: SandboxDraft): SandboxPhase {
  const expires = draft.createdAt + maxLifetimeMs(draft.sandbox.spec);
  if (expires <= draft.now) draft.remove();
  idleOut(draft);
  if (draft.deleting) {
    letGo(draft);
    setTimers(draft, {});
    return 'Terminating';
  }
  stopOrStart(draft);
  settleRequests(draft);
  const phase = phaseOf(draft);
  noteTurning(draft, phase);
  const { turning, notBefore } = draft.private;
  const waits = draft.live === undefined && draft.wanted;
  setTimers(draft, {
    expire: expires,
    idle: idleAt(draft),
    start: waits ? notBefore : undefined,
    stuck: turning === undefined || turning.told ? undefined : turning.since + STUCK_MS,
  });
  return phase;
}

function idleOut(draft: SandboxDraft): void {
  const due = idleAt(draft);
  if (due === undefined || due > draft.now || !draft.wanted) return;
  if (draft.sandbox.spec.lifecycle.onIdle === 'Delete') draft.remove();
  else draft.stop('IdleTimeout');
}

/** The Attempt is deleted, which ends its work first; the finalizer holds the Sandbox until that is proven. */
function letGo(draft: SandboxDraft): void {
  const { live } = draft;
  if (live === undefined) return;
  draft.resyncLater();
  if (draft.status.phase === 'Terminating') return;
  draft.effects.push(dropAttempt(draft, live.epoch));
  draft.keepLive({ stopping: true });
}

function stopOrStart(draft: SandboxDraft): void {
  const { live } = draft;
  if (live !== undefined) {
    if ((draft.wanted && !mustRestart(draft)) || live.stopping || live.phase === 'Ended') return;
    draft.effects.push(stopAttempt(draft, live.epoch, 'Stopped'));
    draft.keepLive({ stopping: true });
    return;
  }
  if (!draft.wanted) {
    // A later start is no recovery any more.
    if (draft.state === 'Stopped') draft.keep({ recovering: undefined, notBefore: undefined, lost: 0 });
    return;
  }
  if ((draft.private.notBefore ?? 0) > draft.now) return;
  start(draft);
}

/** I8: the next epoch, made in the commit that stores it. */
function start(draft: SandboxDraft): void {
  const before = draft.private.epoch;
  const epoch = before + 1;
  draft.keep({
    epoch,
    live: { epoch, phase: 'Made', heard: false, stopping: false },
    notBefore: undefined,
    busyAt: undefined,
  });
  draft.say({
    attempt: { epoch, name: nameOf(draft, epoch) },
    secretVersions: undefined,
    secretVersionIDs: undefined,
  });
  const effects: Effect[] = [makeAttempt(draft, epoch)];
  if (draft.private.recovering !== undefined) effects.push(supersede(draft, before, epoch));
  if (epoch > KEPT_ATTEMPTS) effects.push(dropAttempt(draft, epoch - KEPT_ATTEMPTS));
  draft.effects.push(...effects);
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
  if (live.stopping) return 'Stopping';
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

/** Timers that may fire early: what they mean is looked at again, so moving them later is not worth a row. */
const LAZY = new Set(['idle', 'start', 'stuck']);

function setTimers(draft: SandboxDraft, wanted: Readonly<Record<string, number | undefined>>): void {
  const { armed, effects } = armTimers(draft.private.timers, wanted, {
    lazy: (timer) => LAZY.has(timer),
    kept: (timer) => timer === 'resync',
  });
  draft.effects.push(...effects);
  draft.keep({ timers: armed });
}
