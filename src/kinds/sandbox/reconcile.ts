/**
 * What a Sandbox does next. Level-based: it looks at the spec, the one Attempt and the time, never at the message that
 * woke the Sandbox, so a repeated, late or lost message changes nothing but when it happens.
 */
import type { Author } from '../../api/access/author.js';
import { rfc3339 } from '../../api/time.js';
import { API_GROUP } from '../../brand.js';
import type { LaterEffect } from '../effect.js';
import { emit } from '../events/emit.js';
import { resyncLater, setTimers } from '../attempts/decision.js';
import { hasIdledOut, idleAt } from '../single-attempt/idle.js';
import { soleAttempt } from '../attempts/names.js';
import { discardAttempt, releaseOutputs, STOP_GRACE_SECONDS } from '../attempts/requests.js';
import { afterEnd, type AttemptChanged, noteEnd, savedOf } from '../single-attempt/ended.js';
import { mayStart, restStopped, startAttempt, startsAt, stopLive } from '../single-attempt/start-stop.js';
import type { Live } from '../single-attempt/state.js';
import { stoppedBy } from '../single-attempt/draft.js';
import { SNAPSHOT } from './plan.js';
import { type SandboxPhase, WORKSPACE_DIR } from './schema.js';
import { createdAt, maxLifetimeMs, type Request, type SandboxDraft, STUCK_MS } from './state.js';

/** What ends is asked again after this. Most have ended long before, and their timers never reach a queue. */
const ENDING_RESYNC_MS = 2 * 60_000;

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
  noteTransition(draft, phase);
  const { transition } = draft.private;
  const stuck = transition === undefined || transition.reported ? undefined : transition.since + STUCK_MS;
  setTimers(draft, { expire: expires, idle: idleAt(draft), start: startsAt(draft), stuck }, LAZY);
  return phase;
}

/** The Attempt goes, and its work first; the finalizer holds the Sandbox until that is proven. */
function letGo(draft: SandboxDraft): void {
  const { live } = draft;
  if (live === undefined) return;
  resyncLater(draft, ENDING_RESYNC_MS);
  if (draft.status.phase === 'Terminating') return;
  draft.effects.push(discard(draft, live.epoch));
  draft.keepLive({ stopping: true });
}

/** Nothing of it is wanted any more. Only a main program of its own can do something with a grace. */
export function discard(draft: SandboxDraft, epoch: number): LaterEffect {
  const { metadata, spec } = draft.object;
  const grace = metadata.deletionGracePeriodSeconds ?? STOP_GRACE_SECONDS;
  return discardAttempt(draft.owner, soleAttempt(epoch), spec.command === undefined ? 0 : grace);
}

function stopOrStart(draft: SandboxDraft): void {
  if (draft.live !== undefined) {
    if (!draft.wanted || mustRestart(draft)) stopLive(draft);
  } else if (!draft.wanted) restStopped(draft);
  else if (mayStart(draft)) startAttempt(draft);
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
function noteTransition(draft: SandboxDraft, phase: SandboxPhase): void {
  const { transition } = draft.private;
  if (phase !== 'Starting' && phase !== 'Stopping') {
    if (transition !== undefined) draft.keep({ transition: undefined });
  } else if (transition?.phase !== phase) {
    draft.keep({ transition: { phase, since: draft.now, reported: false } });
  } else if (!transition.reported && transition.since + STUCK_MS <= draft.now) {
    draft.keep({ transition: { ...transition, reported: true } });
    draft.effects.push(emit('sandbox.stuck', `${phase} for ${STUCK_MS / 60_000} minutes`));
  }
}

// What is asked once, by an annotation with a value of the client's choice. `status.handledRequests` names the last value of each that
// was carried out.
const START = `${API_GROUP}/request-start`;
const STOP = `${API_GROUP}/request-stop`;
const RESTART = `${API_GROUP}/request-restart`;

/** Takes up what is asked now and was not asked before. */
export function takeRequests(draft: SandboxDraft, by: Author | undefined): void {
  const { annotations = {} } = draft.object.metadata;
  for (const name of [START, STOP, RESTART]) {
    const value = annotations[name];
    if (value === undefined || value === draft.status.handledRequests?.[name]) continue;
    if (draft.private.requests[name]?.value === value) continue;
    draft.keep({ requests: { ...draft.private.requests, [name]: { value, epoch: draft.private.epoch } } });
    if (name === STOP) {
      draft.stop('Requested', stoppedBy(by));
    } else {
      draft.state = 'Running';
      draft.keep({ failure: undefined });
    }
  }
}

/** The present Attempt has to make room for another. */
export function mustRestart({ live, private: { requests } }: SandboxDraft): boolean {
  const asked = requests[RESTART];
  return asked !== undefined && live !== undefined && live.epoch <= asked.epoch;
}

/** Notes what has been carried out by now; what can no longer be is forgotten. */
export function reconcileRequests(draft: SandboxDraft): void {
  const open: Record<string, Request> = {};
  const handled: Record<string, string> = {};
  for (const [name, request] of Object.entries(draft.private.requests)) {
    if (isDone(draft, name, request)) handled[name] = request.value;
    else if ((name === STOP) === (draft.state === 'Stopped')) open[name] = request;
  }
  draft.keep({ requests: open });
  if (Object.keys(handled).length > 0) {
    draft.say({ handledRequests: { ...draft.status.handledRequests, ...handled } });
  }
}

function isDone({ live, state }: SandboxDraft, name: string, { epoch }: Request): boolean {
  if (name === STOP) return state === 'Stopped' && live === undefined;
  return live?.phase === 'Running' && !live.stopping && (name === START || live.epoch > epoch);
}

/** Whether the files of /workspace were saved, and whether the Sandbox stops, fails or is brought back. */
export function attemptEnded(draft: SandboxDraft, live: Live, change: AttemptChanged): void {
  noteEnd(draft, live);
  if (draft.deleting) return;
  keepFiles(draft, live, change);
  afterEnd(draft, live, change);
}

/** The older snapshot stands until a newer one is whole. */
function keepFiles(draft: SandboxDraft, live: Live, change: AttemptChanged): void {
  if (draft.object.spec.continuity.mode !== 'Snapshotted') {
    // What an earlier mode has kept is of no use any more.
    if (draft.status.snapshot !== undefined) draft.say({ snapshot: undefined });
    return;
  }
  const files = savedOf(SNAPSHOT, live, change);
  switch (files.saved) {
    case 'Whole': {
      const { digest, size, time } = files;
      draft.say({ snapshot: { reason: 'Stop', time: rfc3339(time), digest, size } });
      draft.effects.push(releaseOutputs(draft.owner, soleAttempt(change.epoch)));
      draft.condition('StateSaved', true, 'Saved', `${WORKSPACE_DIR} was saved`);
      return;
    }
    case 'Failed': {
      const { time } = draft.status.snapshot ?? {};
      const stands = time === undefined ? 'there is no earlier snapshot' : `the snapshot of ${time} stands`;
      draft.condition('StateSaved', false, files.reason, `${files.message}; ${stands}`);
      return;
    }
    case 'Nothing':
  }
}
