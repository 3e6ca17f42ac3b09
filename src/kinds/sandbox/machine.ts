/**
 * Owns the behaviour of a Sandbox: takes each message into a draft, then lets `settle.ts` decide what follows.
 *
 *   Pending ─▶ Starting ─▶ Running ─▶ Stopping ─▶ Stopped ─▶ Pending … at the next epoch
 *                 │          │ lost: Recovering ─▶ Running at the next epoch
 *                 ▼          ▼
 *               Failed     Failed            any ─▶ Terminating ─▶ gone
 *
 * It has one Attempt at a time, and hears of it by `AttemptChanged`. Each letter names its epoch and is compared with the
 * Attempt that is live, so one that is late or repeated changes nothing (I8). When the Sandbox is opened again it asks its
 * Attempt how it stands, which heals what a crash has dropped.
 */
import { equalJson } from '../../api/equal.js';
import { ORPHAN_FINALIZER } from '../../api/names.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { Letter } from '../letter.js';
import type { Current, Decision, Machine, Message } from '../machine.js';
import { noteActivity } from './activity.js';
import { askAttempt, dropAttempt, makeAttempt, nameOf, stopAttempt } from './attempts.js';
import { SandboxDraft } from './draft.js';
import { attemptEnded, attemptLost, type AttemptChanged } from './ended.js';
import { reportStatus } from './report-status.js';
import { takeRequests } from './requests.js';
import type { SandboxSpec, SandboxStatus } from './schema.js';
import { settle } from './settle.js';
import { ATTEMPT_FINALIZER, type Live, type Sandbox, type SandboxPrivate } from './state.js';

type SandboxDecision = Decision<SandboxStatus, SandboxPrivate, never>;
type This = Current<SandboxSpec, SandboxStatus, SandboxPrivate>;

const IGNORED: SandboxDecision = { outcome: 'Ignored' };

export const sandboxMachine: Machine<SandboxSpec, SandboxStatus, SandboxPrivate, undefined, never> = {
  decide(current, _book, message, moment) {
    const draft = new SandboxDraft(current.object, current.address, current.private, moment.now);
    if (!take(draft, message)) return IGNORED;
    const phase = settle(draft);
    return conclude(current, draft, reportStatus(draft, phase));
  },
  // A stopped one needs its snapshot and will be deleted in time: something is always under way.
  isTerminal: () => false,
};

/** What a message changes by itself, before anything follows from it. False: it means nothing here. */
function take(draft: SandboxDraft, message: Message<SandboxSpec, SandboxStatus>): boolean {
  switch (message.type) {
    case 'Created':
      takeRequests(draft);
      return true;
    case 'Updated':
      takeUpdate(draft, message.before);
      return true;
    case 'DeletionRequested':
      return true;
    case 'Activated':
      remind(draft);
      return true;
    case 'TimerFired': {
      const { [message.timer]: _fired, ...timers } = draft.private.timers;
      draft.keep({ timers });
      if (message.timer === 'resync') remind(draft);
      return true;
    }
    case 'Told':
      return takeLetter(draft, message.letter, message.from.address.name);
    case 'EffectFailed':
      return takeFailure(draft, message.effect, message.reason, message.message);
    default:
      return false; // an engine reports to Attempts, and a Sandbox has no actions
  }
}

function takeUpdate(draft: SandboxDraft, before: Sandbox): void {
  const { spec } = draft.sandbox;
  // Whatever was changed may have mended it, so it is tried again.
  if (!equalJson(spec, before.spec)) draft.keep({ failure: undefined, lost: 0, notBefore: undefined });
  if (spec.state === 'Stopped' && before.spec.state === 'Running') draft.stop('Requested');
  takeRequests(draft);
}

/** Says again what the live Attempt should know: that it exists, that it is asked, that it should stop or go. */
function remind(draft: SandboxDraft): void {
  const { live } = draft;
  if (live === undefined) return;
  const { epoch } = live;
  if (draft.deleting) draft.reminders.push(dropAttempt(draft, epoch), askAttempt(draft, epoch));
  else {
    if (!live.heard) draft.reminders.push(makeAttempt(draft, epoch));
    const stop = live.stopping && live.phase !== 'Ended';
    draft.reminders.push(stop ? stopAttempt(draft, epoch, 'Stopped') : askAttempt(draft, epoch));
  }
}

function takeLetter(draft: SandboxDraft, letter: Letter, from: string): boolean {
  const { live } = draft;
  switch (letter.letter) {
    case 'AttemptChanged':
      // I8: only the Attempt that is live can change anything.
      return live?.epoch === letter.epoch && takeAttempt(draft, live, letter);
    case 'ChildGone':
      if (live === undefined || letter.kind !== 'Attempt' || from !== nameOf(draft, live.epoch)) return false;
      attemptGone(draft, live, 'its Attempt was deleted');
      return true;
    case 'SecretsPinned':
      return live?.epoch === letter.epoch && noteSecrets(draft, letter);
    case 'ActivitySeen':
      return noteActivity(draft, letter);
    default:
      return false;
  }
}

/** False: it is known already. */
function takeAttempt(draft: SandboxDraft, live: Live, letter: AttemptChanged): boolean {
  switch (letter.phase) {
    case 'Queued':
      if (live.phase !== 'Made' || letter.reason === '' || live.wait === letter.message) return false;
      draft.keepLive({ heard: true, wait: letter.message });
      return true;
    case 'Provisioning':
      if (live.phase !== 'Made') return false;
      draft.keepLive({ heard: true, phase: 'Placed', wait: undefined });
      return true;
    case 'Running':
      if (live.phase !== 'Made' && live.phase !== 'Placed') return false;
      draft.keepLive({ heard: true, phase: 'Running', wait: undefined, runningSince: letter.time });
      draft.keep({ recovering: undefined });
      return true;
    default: {
      if (live.phase === 'Ended' && letter.gone !== true) return false;
      if (live.phase !== 'Ended') attemptEnded(draft, live, letter);
      if (letter.gone === true) draft.keep({ live: undefined });
      return true;
    }
  }
}

/** Nothing of it is left: an Attempt's row goes only after that is proven. */
function attemptGone(draft: SandboxDraft, live: Live, message: string): void {
  const missed = live.phase !== 'Ended' && !live.stopping && !draft.deleting;
  if (missed) attemptLost(draft, live, 'NodeLost', message);
  draft.keep({ live: undefined, busyAt: undefined });
}

/** The first note of an epoch holds. */
function noteSecrets(draft: SandboxDraft, { versions }: Extract<Letter, { letter: 'SecretsPinned' }>): boolean {
  if (draft.status.secretVersions !== undefined) return false;
  const entries = Object.entries(versions);
  draft.say({
    secretVersions: Object.fromEntries(entries.map(([name, { version }]) => [name, version])),
    secretVersionIDs: Object.fromEntries(entries.map(([name, { id }]) => [name, id])),
  });
  return true;
}

/** Refusals that say nothing of what was asked for. */
const PASSING = new Set(['RetriesExhausted', 'Unavailable', 'InternalError']);

function takeFailure(draft: SandboxDraft, effect: LaterEffect, reason: string, message: string): boolean {
  const { live } = draft;
  if (live === undefined) return false;
  const name = nameOf(draft, live.epoch);
  switch (effect.type) {
    case 'CreateChild':
      if (effect.name !== name) return false;
      // Whether it is there is not known, so it stays the one that may be.
      if (PASSING.has(reason)) draft.resyncLater();
      else draft.keep({ live: undefined, failure: { reason, message }, recovering: undefined });
      return true;
    case 'Tell':
      if (effect.to.name !== name) return false;
      if (reason === 'NotFound' && (live.heard || draft.deleting)) attemptGone(draft, live, 'its Attempt is not there');
      else draft.resyncLater();
      return true;
    case 'DeleteChild':
      if (effect.name !== name) return false;
      draft.resyncLater();
      return true;
    default:
      return false;
  }
}

/** Reminders ride along when something is written anyway; alone they are not worth a commit. */
function conclude(current: This, draft: SandboxDraft, status: SandboxStatus): SandboxDecision {
  const { spec, metadata } = draft.sandbox;
  const folded = draft.state === spec.state ? undefined : { ...spec, state: draft.state };
  const kept = same(current.private, draft.private) ? undefined : draft.private;
  const held = metadata.finalizers ?? [];
  const others = held.filter((name) => name !== ATTEMPT_FINALIZER);
  // One whose children are orphaned would never hear of the end of its Attempt, which goes all the same.
  const orphans = draft.deleting && held.includes(ORPHAN_FINALIZER);
  const finalizers = draft.live === undefined || orphans ? others : [...others, ATTEMPT_FINALIZER];
  const moved = finalizers.length !== held.length;
  const idle = draft.effects.length === 0 && kept === undefined && folded === undefined && !moved;
  if (idle && draft.reminders.length > 0 && equalJson(current.object.status, status)) {
    return { outcome: 'Volatile', changes: [], letters: draft.reminders };
  }
  const effects: Effect[] = [...draft.effects, ...draft.reminders];
  return {
    outcome: 'Next',
    status,
    effects,
    ...(kept && { private: kept }),
    ...(folded && { spec: folded }),
    ...(moved && { finalizers }),
  };
}

/** Both are plain JSON made by this folder, with their members in the same order. */
function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
