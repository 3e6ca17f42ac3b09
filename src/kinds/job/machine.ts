/**
 * Owns the behaviour of a Job: takes each message into a draft, then lets `reconcile.ts` decide what follows.
 *
 * A Job makes one Attempt per index and epoch and hears of it by `AttemptChanged`. Both letters and children are stored
 * effects, so nothing of it is lost in a crash; and since every letter names its epoch and is compared with the slot, one
 * that is late or repeated changes nothing (I8). When the Job is opened again it asks all its active Attempts how they
 * stand, which heals what a crashed handler has dropped.
 */
import type { Address } from '../../api/address.js';
import type { Effect, LaterEffect } from '../effect.js';
import { emit } from '../events/emit.js';
import { pinImage } from '../image/pin.js';
import type { ObjectMessage } from '../object-message.js';
import type { Current, Decision, Machine, Message, SlotRow } from '../machine.js';
import { askAttempt, makeAttempt, readAttemptName, stopAttempt } from './attempts.js';
import { JobDraft, type Ending, type JobPrivate } from './draft.js';
import {
  type AttemptChanged,
  attemptFailed,
  attemptLost,
  attemptStopped,
  attemptSucceeded,
  RESYNC_MS,
} from './ended.js';
import type { JobSpec } from './schema.js';
import { type Slot, type SlotBook, slotBookKeeper } from './slots.js';
import { foldSpec } from './fold-spec.js';
import { reportStatus } from './report-status.js';
import { reconcile } from './reconcile.js';
import { isFinished, type JobStatus } from './status.js';

type JobDecision = Decision<JobStatus, JobPrivate, SlotRow>;

const IGNORED: JobDecision = { outcome: 'Ignored' };

export const jobMachine: Machine<JobSpec, JobStatus, JobPrivate, SlotBook, SlotRow> = {
  sideState: slotBookKeeper,
  decide(current, book, message, context) {
    const before = message.type === 'Updated' ? message.before.spec : undefined;
    const folded = foldSpec(current.object.spec, before);
    if (folded.outcome === 'Refused') return folded;
    const job = folded.changed ? { ...current.object, spec: folded.spec } : current.object;
    const draft = new JobDraft(job, current.private, book, context.now);
    const taken = take(draft, current.address, message);
    if (taken === 'Ignored') return IGNORED;
    const phase = reconcile(draft, current.address, taken.ending);
    const status = reportStatus(draft, phase);
    return conclude(current, draft, status, folded.changed ? folded.spec : undefined);
  },
  isTerminal: (status) => isFinished(status.phase),
};

/** What a message changes by itself, before anything follows from it. */
type Taken = 'Ignored' | { readonly ending: Ending | undefined };

const TAKEN: Taken = { ending: undefined };

function take(draft: JobDraft, self: Address, message: Message<JobSpec, JobStatus>): Taken {
  switch (message.type) {
    case 'Created':
    case 'Updated':
    case 'DeletionRequested':
      return TAKEN;
    case 'Activated':
      remind(draft, self);
      return TAKEN;
    case 'TimerFired': {
      const { [message.timer]: _fired, ...timers } = draft.private.timers;
      draft.keep({ timers });
      if (message.timer === 'resync') remind(draft, self);
      return TAKEN;
    }
    case 'MessageReceived':
      return takeLetter(draft, self, message.letter, message.from.address);
    case 'EffectFailed':
      return takeFailure(draft, message.effect, message.reason, message.message);
    default:
      return 'Ignored'; // an engine reports to Attempts, and a Job has no actions
  }
}

/** Says again what every active Attempt should know: that it exists, that it is asked, and that it should stop. */
function remind(draft: JobDraft, self: Address): void {
  const { job } = draft;
  if (isFinished(job.status.phase) || job.metadata.deletionTimestamp !== undefined) return;
  const stop =
    draft.private.ending !== undefined ? 'Stopped' : job.spec.state === 'Suspended' ? 'Suspended' : undefined;
  for (const slot of draft.activeSlots()) {
    draft.reminders.push(makeAttempt(job, slot));
    draft.reminders.push(stop === undefined ? askAttempt(job, self, slot) : stopAttempt(job, self, slot, stop));
  }
}

function takeLetter(draft: JobDraft, self: Address, letter: ObjectMessage, from: Address): Taken {
  switch (letter.letter) {
    case 'AttemptChanged':
      return takeAttempt(draft, self, letter);
    case 'ChildGone': {
      // I8: anybody may name a Secret like an Attempt and this Job as its owner; only Attempts are the service's own.
      if (letter.kind !== 'Attempt') return 'Ignored';
      const named = readAttemptName(draft.job, from.name);
      const slot = named === undefined ? undefined : activeSlot(draft, named.index, named.epoch);
      if (slot === undefined || draft.job.metadata.deletionTimestamp !== undefined) return 'Ignored';
      return { ending: attemptLost(draft, slot, 'NodeLost', 'its Attempt was deleted') };
    }
    case 'ImagePinned': {
      // Of whichever Attempt the note is: the first holds for all.
      const image = pinImage(draft.job.spec.image, draft.image, letter.digest);
      if (image === undefined || isFinished(draft.job.status.phase)) return 'Ignored';
      draft.image = image;
      return TAKEN;
    }
    default:
      return 'Ignored';
  }
}

function takeAttempt(draft: JobDraft, self: Address, letter: AttemptChanged): Taken {
  const slot = activeSlot(draft, letter.slot, letter.epoch);
  if (slot === undefined) {
    stopStray(draft, self, letter);
    return draft.reminders.length === 0 ? 'Ignored' : TAKEN;
  }
  switch (letter.phase) {
    case 'Queued':
      if (letter.reason === '' || draft.placed > 0 || draft.private.waitReason === letter.message) return 'Ignored';
      draft.keep({ waitReason: letter.message });
      return TAKEN;
    case 'Provisioning':
    case 'Running':
      return notePlaced(draft, slot, letter) ? TAKEN : 'Ignored';
    default:
      return { ending: takeEnd(draft, slot, letter) };
  }
}

function takeEnd(draft: JobDraft, slot: Slot, letter: AttemptChanged): Ending | undefined {
  if (letter.phase === 'Failed') {
    return letter.lost ? attemptLost(draft, slot, letter.reason, letter.message) : attemptFailed(draft, slot, letter);
  }
  if (letter.phase === 'Succeeded') attemptSucceeded(draft, slot, letter);
  else attemptStopped(draft, slot, letter.reason);
  return undefined;
}

/** I8: only the Attempt of the slot's present epoch, and only while it is under way, can change anything. */
function activeSlot(draft: JobDraft, index: number, epoch: number): Slot | undefined {
  const slot = draft.slot(index);
  return slot?.phase === 'Active' && slot.epoch === epoch ? slot : undefined;
}

/** An Attempt that still works although its slot has gone on is told to stop; its results are not taken. */
function stopStray(draft: JobDraft, self: Address, letter: AttemptChanged): void {
  if (letter.phase !== 'Queued' && letter.phase !== 'Provisioning' && letter.phase !== 'Running') return;
  const slot = draft.slot(letter.slot);
  if (slot === undefined || letter.epoch > slot.epoch) return;
  draft.reminders.push(stopAttempt(draft.job, self, { ...slot, epoch: letter.epoch }, 'Released'));
}

/** True when that is news. */
function notePlaced(draft: JobDraft, slot: Slot, letter: AttemptChanged): boolean {
  const restored = slot.detail.replaces === true && letter.phase === 'Running';
  if (slot.detail.placed === true && !restored) return false;
  const { replaces: _replaces, ...detail } = slot.detail;
  draft.put({
    ...slot,
    detail: { ...detail, placed: true, ...(slot.detail.replaces === true && !restored && { replaces: true }) },
  });
  if (draft.private.startedAt === undefined) draft.keep({ startedAt: letter.time });
  if (restored) {
    const message = `index ${slot.index} runs again at epoch ${slot.epoch}`;
    draft.effects.push(emit('job.restored', message));
  }
  return true;
}

function takeFailure(draft: JobDraft, effect: LaterEffect, reason: string, message: string): Taken {
  switch (effect.type) {
    case 'CreateChild': {
      const named = readAttemptName(draft.job, effect.name);
      const slot = named === undefined ? undefined : activeSlot(draft, named.index, named.epoch);
      // It counts as lost capacity, so that a lasting refusal (a quota, say) ends the Job and is named.
      return slot === undefined ? 'Ignored' : { ending: attemptLost(draft, slot, reason, message) };
    }
    case 'Tell': {
      const named = readAttemptName(draft.job, effect.to.name);
      const slot = named === undefined ? undefined : activeSlot(draft, named.index, named.epoch);
      if (slot === undefined) return 'Ignored';
      // Not there yet, or out of reach: it is made and asked again. An Attempt that is gone says so by `ChildGone`.
      resyncLater(draft);
      return TAKEN;
    }
    default:
      return 'Ignored';
  }
}

function resyncLater(draft: JobDraft): void {
  if (draft.private.timers['resync'] !== undefined) return;
  const at = draft.now + RESYNC_MS;
  draft.effects.push({ type: 'ArmTimer', timer: 'resync', at });
  draft.keep({ timers: { ...draft.private.timers, resync: at } });
}

/** Reminders ride along when something is written anyway; alone they are not worth a commit. */
function conclude(
  current: Current<JobSpec, JobStatus, JobPrivate>,
  draft: JobDraft,
  status: JobStatus,
  spec: JobSpec | undefined,
): JobDecision {
  const changes = draft.changes();
  const kept = same(current.private, draft.private) ? undefined : draft.private;
  const idle = draft.effects.length === 0 && changes.length === 0 && kept === undefined && spec === undefined;
  if (idle && draft.reminders.length > 0 && same(current.object.status, status)) {
    return { outcome: 'Volatile', changes: [], letters: draft.reminders };
  }
  const effects: Effect[] = [...draft.effects, ...draft.reminders];
  return { outcome: 'Next', status, effects, changes, ...(kept && { private: kept }), ...(spec && { spec }) };
}

/** Both are plain JSON made by this folder, with their members in the same order. */
function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
