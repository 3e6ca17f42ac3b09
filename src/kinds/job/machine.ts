/**
 * The behaviour of a Job: takes each message into a draft, then lets `reconcile.ts` decide what follows.
 *
 * A Job makes one Attempt per index and epoch and hears of it by `AttemptChanged`. Both messages and children are stored
 * effects, so nothing of it is lost in a crash; and since every message names its epoch and is compared with the slot, one
 * that is late or repeated changes nothing (I8). When the Job is opened again it asks all its active Attempts how they
 * stand, which heals what a crashed handler has dropped.
 */
import { emit } from '../events/emit.js';
import { pinImage } from '../image/pin.js';
import { isCollected } from '../lifecycle.js';
import type { ObjectMessage } from '../object-message.js';
import type { Decision, Machine, Message, SlotRow } from '../machine.js';
import { resyncLater, forgetTimer, toDecision } from '../attempts/decision.js';
import { readAttemptName } from '../attempts/names.js';
import { askAttempt, makeAttempt, stopAttempt } from '../attempts/requests.js';
import { fundingReason, isRefusedByMoney, MAX_COST_REACHED, sayShortfall, UNFUNDED } from '../attempts/holds.js';
import {
  beginPaying,
  changePaying,
  moneyWaits,
  noteFunded,
  notePaid,
  takeExhausted,
  takeMoney,
  waitForMoney,
} from './funding.js';
import { JobDraft, type Ending, type JobPrivate } from './draft.js';
import { type AttemptChanged, attemptFailed, attemptLost, attemptStopped, attemptSucceeded } from './ended.js';
import type { JobSpec } from './schema.js';
import { type Slot, type SlotTable, slotTableStore } from './slots.js';
import { foldSpec } from './fold-spec.js';
import { reportStatus } from './report-status.js';
import { isResting, reconcile } from './reconcile.js';
import { isFinished, type JobStatus } from './status.js';

type JobDecision = Decision<JobStatus, JobPrivate, SlotRow>;

const IGNORED: JobDecision = { outcome: 'Ignored' };

export const jobMachine: Machine<JobSpec, JobStatus, JobPrivate, SlotTable, SlotRow> = {
  sideState: slotTableStore,
  decide(current, table, message, context) {
    const before = message.type === 'Updated' ? message.before.spec : undefined;
    const folded = foldSpec(current.object.spec, before);
    if (folded.outcome === 'Refused') return folded;
    const job = folded.changed ? { ...current.object, spec: folded.spec } : current.object;
    const draft = new JobDraft(current.address, job, current.private, table, context);
    const taken = take(draft, message);
    if (taken === 'Ignored') return IGNORED;
    const phase = reconcile(draft, taken.ending);
    const status = reportStatus(draft, phase);
    return toDecision(current, draft, {
      status,
      spec: folded.changed ? folded.spec : undefined,
      changes: draft.changes(),
      volatile: moneyWaits(draft),
    });
  },
  isTerminal: (status) => isFinished(status.phase),
};

/** What a message changes by itself, before anything follows from it. */
type Taken = 'Ignored' | { readonly ending: Ending | undefined };

const TAKEN: Taken = { ending: undefined };

function take(draft: JobDraft, message: Message<JobSpec, JobStatus>): Taken {
  switch (message.type) {
    case 'Created':
      beginPaying(draft, message.payer);
      return TAKEN;
    case 'Updated':
      changePaying(draft, message.before);
      return TAKEN;
    case 'DeletionRequested':
      return TAKEN;
    case 'Activated':
      remind(draft);
      return TAKEN;
    case 'TimerFired': {
      forgetTimer(draft, message.timer);
      if (message.timer === 'resync') remind(draft);
      return TAKEN;
    }
    case 'MessageReceived':
      return takeMessage(draft, message.content, message.from.address.name);
    case 'EffectFailed':
      return takeFailure(draft, message);
    default:
      return 'Ignored'; // an engine reports to Attempts, and a Job has no actions
  }
}

/** Says again what every active Attempt should know: that it exists, that it is asked, and that it should stop. */
function remind(draft: JobDraft): void {
  const { job, owner } = draft;
  if (isFinished(job.status.phase) || isCollected(job.metadata)) return;
  draft.awaiting = true;
  const stop = draft.private.ending !== undefined ? 'Stopped' : isResting(draft) ? 'Suspended' : undefined;
  for (const slot of draft.activeSlots()) {
    draft.reminders.push(
      makeAttempt(owner, slot, slot.detail.replaces === true),
      stop === undefined ? askAttempt(owner, slot) : stopAttempt(owner, slot, stop),
    );
  }
}

function takeMessage(draft: JobDraft, message: ObjectMessage, from: string): Taken {
  switch (message.type) {
    case 'AttemptChanged':
      return takeAttempt(draft, message);
    case 'ChildGone': {
      // I8: anybody may name a Secret like an Attempt and this Job as its owner; only Attempts are the service's own.
      if (message.kind !== 'Attempt') return 'Ignored';
      const slot = activeSlotOf(draft, from);
      if (slot === undefined || isCollected(draft.job.metadata)) return 'Ignored';
      return { ending: attemptLost(draft, slot, 'NodeLost', 'its Attempt was deleted') };
    }
    case 'MoneyFreed':
      return takeMoney(draft, message) ? TAKEN : 'Ignored';
    case 'MoneyExhausted':
      return takeExhausted(draft, message) ? TAKEN : 'Ignored';
    case 'ImagePinned': {
      // Of whichever Attempt the note is: the first holds for all.
      const image = pinImage(draft.job.spec.image, draft.image, message.digest);
      if (image === undefined || isFinished(draft.job.status.phase)) return 'Ignored';
      draft.image = image;
      return TAKEN;
    }
    default:
      return 'Ignored';
  }
}

function takeAttempt(draft: JobDraft, change: AttemptChanged): Taken {
  const slot = activeSlot(draft, change.slot, change.epoch);
  if (slot === undefined) {
    stopStray(draft, change);
    return draft.reminders.length === 0 ? 'Ignored' : TAKEN;
  }
  switch (change.phase) {
    case 'Queued': {
      const paid = notePaid(draft, slot);
      if (change.reason === '' || draft.placed > 0 || draft.private.waitReason === change.message)
        return paid ? TAKEN : 'Ignored';
      draft.keep({ waitReason: change.message });
      return TAKEN;
    }
    case 'Provisioning':
    case 'Running': {
      const placed = notePlaced(draft, slot, change);
      return noteUnsaved(draft, slot, change.unsaved) || placed ? TAKEN : 'Ignored';
    }
    default:
      return { ending: takeEnd(draft, slot, change) };
  }
}

/** True when that is news. */
function noteUnsaved(draft: JobDraft, { index }: Slot, why: string | undefined): boolean {
  const { unsaved } = draft.private;
  if (why === undefined || (unsaved?.index === index && unsaved.why === why)) return false;
  draft.keep({ unsaved: { index, why } });
  return true;
}

function takeEnd(draft: JobDraft, slot: Slot, change: AttemptChanged): Ending | undefined {
  if (draft.private.unsaved?.index === slot.index) draft.keep({ unsaved: undefined });
  if (change.phase === 'Failed') {
    return change.lost ? attemptLost(draft, slot, change.reason, change.message) : attemptFailed(draft, slot, change);
  }
  if (change.phase === 'Succeeded') attemptSucceeded(draft, slot, change);
  else if (change.reason === UNFUNDED || change.reason === MAX_COST_REACHED) {
    const { shortfall } = change;
    const reason = change.reason === MAX_COST_REACHED ? MAX_COST_REACHED : fundingReason(shortfall);
    const message = `index ${slot.index} was stopped: ${sayShortfall(shortfall)}`;
    waitForMoney(draft, slot, { reason, message, stopped: true }, shortfall);
  } else attemptStopped(draft, slot, change.reason);
  return undefined;
}

/** I8: only the Attempt of the slot's present epoch, and only while it is under way, can change anything. */
function activeSlot(draft: JobDraft, index: number, epoch: number): Slot | undefined {
  const slot = draft.slot(index);
  return slot?.phase === 'Active' && slot.epoch === epoch ? slot : undefined;
}

/** The same, from the name of an Attempt. */
function activeSlotOf(draft: JobDraft, attempt: string): Slot | undefined {
  const named = readAttemptName(draft.job.metadata, attempt);
  return named && activeSlot(draft, named.index, named.epoch);
}

/** An Attempt that still works although its slot has gone on is told to stop; its results are not taken. */
function stopStray(draft: JobDraft, change: AttemptChanged): void {
  if (change.phase !== 'Queued' && change.phase !== 'Provisioning' && change.phase !== 'Running') return;
  const slot = draft.slot(change.slot);
  if (slot === undefined || change.epoch > slot.epoch) return;
  draft.reminders.push(stopAttempt(draft.owner, { index: slot.index, epoch: change.epoch }, 'Released'));
}

/** True when that is news. */
function notePlaced(draft: JobDraft, slot: Slot, change: AttemptChanged): boolean {
  const restored = slot.detail.replaces === true && change.phase === 'Running';
  if (slot.detail.placed === true && !restored) return false;
  const { replaces: _replaces, wait: _paid, ...detail } = slot.detail;
  draft.put({
    ...slot,
    detail: { ...detail, placed: true, ...(slot.detail.replaces === true && !restored && { replaces: true }) },
  });
  if (draft.private.startedAt === undefined) draft.keep({ startedAt: change.time });
  // Its Attempt holds by itself now.
  if (draft.private.firstHold === true) draft.keep({ firstHold: undefined });
  noteFunded(draft);
  if (restored) {
    const message = `index ${slot.index} runs again at epoch ${slot.epoch}`;
    draft.effects.push(emit('job.restored', message));
  }
  return true;
}

function takeFailure(
  draft: JobDraft,
  { effect, reason, message, shortfall }: Extract<Message, { type: 'EffectFailed' }>,
): Taken {
  switch (effect.type) {
    case 'CreateChild': {
      const slot = activeSlotOf(draft, effect.name);
      if (slot === undefined) return 'Ignored';
      if (isRefusedByMoney(reason)) {
        // The refusal is worded for the Attempt, whose owner has the cap.
        const why = shortfall?.by === 'Cap' ? `index ${slot.index} waits: ${sayShortfall(shortfall)}` : message;
        waitForMoney(draft, slot, { reason, message: why, stopped: false }, shortfall);
        return TAKEN;
      }
      // It counts as lost capacity, so that a lasting refusal (a quota, say) ends the Job and is named.
      return { ending: attemptLost(draft, slot, reason, message) };
    }
    case 'Tell': {
      if (activeSlotOf(draft, effect.to.name) === undefined) return 'Ignored';
      // Not there yet, or out of reach: it is made and asked again. An Attempt that is gone says so by `ChildGone`.
      resyncLater(draft);
      return TAKEN;
    }
    default:
      return 'Ignored';
  }
}
