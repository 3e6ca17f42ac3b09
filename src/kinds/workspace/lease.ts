/**
 * The lease of the Volume that is the home: asked for before each start, given back with the saved files after each end.
 *
 * I8: it is for one epoch. An Attempt is made only in the decision that holds the lease for its epoch, and the Volume takes
 * files only from the epoch that holds it.
 */
import type { LaterEffect } from '../effect.js';
import type { ObjectMessage, MessageSender } from '../object-message.js';
import { soleAttempt } from '../attempts/names.js';
import { releaseOutputs } from '../attempts/requests.js';
import { HOME } from './connect.js';
import { ASK_AGAIN_MS, DENIED_AGAIN_MS, type HomeLease, type WorkspaceDraft } from './state.js';

/** True when the next Attempt may be made: there is no Volume, or its lease is held for that epoch. Asks for it otherwise. */
export function holdsHome(draft: WorkspaceDraft): boolean {
  const { volume } = draft.object.spec;
  const { lease } = draft.private;
  const epoch = draft.private.epoch + 1;
  if (lease === undefined) {
    if (volume === undefined) return true;
    askFor(draft, volume, epoch);
    return false;
  }
  // The one of an Attempt that was lost is renewed, unless another home is wanted now.
  if (lease.at === 'Granted' && lease.epoch < epoch && lease.saved === undefined && lease.volume === volume) {
    askFor(draft, volume, epoch);
    return false;
  }
  return lease.at === 'Granted' && lease.epoch === epoch && lease.volume === volume;
}

/** Gives the lease back when nothing will write any more under it. */
export function reconcileLease(draft: WorkspaceDraft): void {
  const { lease, live } = draft.private;
  if (lease === undefined || lease.at === 'Returning') return;
  // Its files were collected when it ended: what may be left of it writes nowhere.
  if (live !== undefined && live.phase !== 'Ended') return;
  const needless = !draft.wanted || lease.saved !== undefined || lease.volume !== draft.object.spec.volume;
  if (!needless) return;
  const returning: HomeLease = { ...lease, at: 'Returning', since: draft.now };
  draft.keep({ lease: returning });
  draft.effects.push(leaseMessage(draft, returning));
}

/** Always a new term: what may still be on its way of an earlier one means nothing. */
function askFor(draft: WorkspaceDraft, volume: string, epoch: number): void {
  const term = draft.private.terms + 1;
  const lease: HomeLease = { volume, term, epoch, at: 'Wanted', since: draft.now };
  draft.keep({ lease, terms: term });
  draft.effects.push(leaseMessage(draft, lease));
}

/** What the Volume should have heard. */
export function remindVolume(draft: WorkspaceDraft): void {
  const { lease } = draft.private;
  if (lease !== undefined && lease.at !== 'Granted') draft.reminders.push(leaseMessage(draft, lease));
}

function leaseMessage(draft: WorkspaceDraft, lease: HomeLease): LaterEffect {
  const { org, project } = draft.self;
  const { uid } = draft.object.metadata;
  const { term, epoch, of, saved } = lease;
  const message: ObjectMessage =
    lease.at === 'Returning'
      ? { type: 'LeaseReturned', uid, term, of, saved }
      : { type: 'LeaseWanted', term, epoch, attempt: draft.attemptName(epoch) };
  return { type: 'Tell', to: { org, kind: 'Volume', project, name: lease.volume }, message };
}

/** When an answer is asked for again. */
export function leaseTimer({ private: { lease } }: WorkspaceDraft): number | undefined {
  switch (lease?.at) {
    case 'Wanted':
    case 'Returning':
      return lease.since + ASK_AGAIN_MS;
    case 'Denied':
      return lease.since + DENIED_AGAIN_MS;
    default:
      return undefined;
  }
}

/** Undefined: the message is about something else. False: it means nothing here. */
export function takeLeaseMessage(
  draft: WorkspaceDraft,
  message: ObjectMessage,
  sender: MessageSender,
): boolean | undefined {
  const { lease } = draft.private;
  const from = sender.address.name;
  switch (message.type) {
    case 'LeaseGranted': {
      const { uid, term, home, size } = message;
      const own = uid === draft.object.metadata.uid;
      if (!own || !isAsked(lease, from, term)) return giveBack(draft, sender, uid, term);
      const { epoch } = lease;
      draft.keep({ lease: { volume: from, of: sender.uid, term, epoch, at: 'Granted', since: draft.now, home, size } });
      return true;
    }
    case 'LeaseDenied':
      if (!isAsked(lease, from, message.term)) return false;
      return denied(draft, lease, message.reason, message.message);
    case 'LeaseFree':
      if (lease?.at !== 'Denied' || lease.volume !== from) return false;
      askFor(draft, lease.volume, lease.epoch);
      return true;
    case 'LeaseEnded':
      if (lease?.at !== 'Returning' || lease.volume !== from || lease.term !== message.term) return false;
      ended(draft, lease, message.committed);
      return true;
    case 'LeaseChecked':
      return giveBack(draft, sender, message.uid, message.term);
    default:
      return undefined;
  }
}

function isAsked(lease: HomeLease | undefined, volume: string, term: number): lease is HomeLease {
  return (lease?.at === 'Wanted' || lease?.at === 'Denied') && lease.volume === volume && lease.term === term;
}

function denied(draft: WorkspaceDraft, lease: HomeLease, reason: string, message: string): boolean {
  if (lease.at === 'Denied' && lease.reason === reason && lease.message === message) return false;
  draft.keep({ lease: { ...lease, at: 'Denied', since: draft.now, reason, message } });
  return true;
}

/** The Volume has what it takes: its answer is the proof that the files are safe, or that they never will be. */
function ended(
  draft: WorkspaceDraft,
  { epoch, saved, volume }: HomeLease,
  committed: Extract<ObjectMessage, { type: 'LeaseEnded' }>['committed'],
): void {
  draft.keep({ lease: undefined });
  if (saved === undefined) return;
  if (committed === undefined) {
    // The Attempt goes on to keep them, for as long as it is kept.
    draft.condition('StateSaved', false, 'LeaseLost', `Volume "${volume}" did not take ${HOME}: its lease was lost`);
    return;
  }
  draft.effects.push(releaseOutputs(draft.owner, soleAttempt(epoch)));
  draft.say({ home: { ...draft.status.home, volume, ...committed } });
  draft.condition('StateSaved', true, 'Saved', `${HOME} is revision ${committed.revision} of Volume "${volume}"`);
}

/** What it does not hold and has not asked for, or another of its name held, is returned. */
function giveBack(draft: WorkspaceDraft, { address, uid: of }: MessageSender, uid: string, term: number): boolean {
  const { lease } = draft.private;
  const mine = uid === draft.object.metadata.uid && lease?.volume === address.name && lease.term === term;
  if (mine) return false;
  const message: ObjectMessage = { type: 'LeaseReturned', uid, term, of };
  // Stored: nobody would ask for it again.
  draft.effects.push({ type: 'Tell', to: address, message });
  return true;
}

/** The Volume could not be told. Undefined: the effect was none for a Volume. */
export function takeLeaseFailure(draft: WorkspaceDraft, effect: LaterEffect, reason: string): boolean | undefined {
  if (effect.type !== 'Tell' || effect.to.kind !== 'Volume') return undefined;
  const { lease } = draft.private;
  // Whatever may pass is asked again by its timer.
  if (lease?.volume !== effect.to.name || reason !== 'NotFound') return false;
  const message = `Volume "${lease.volume}" does not exist`;
  switch (lease.at) {
    case 'Wanted':
    case 'Denied':
      return denied(draft, lease, 'VolumeNotFound', `${message}: create it, or name another one in spec.volume`);
    case 'Returning':
      draft.keep({ lease: undefined });
      if (lease.saved !== undefined) draft.condition('StateSaved', false, 'VolumeNotFound', message);
      return true;
    case 'Granted':
      return false;
  }
}
