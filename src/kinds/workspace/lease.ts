/**
 * Owns the lease of the Volume that is the home: asked for before each start, given back with the saved files after each end.
 *
 * I8: it is for one epoch. An Attempt is made only in the decision that holds the lease for its epoch, and the Volume takes
 * files only from the epoch that holds it.
 */
import type { LaterEffect } from '../effect.js';
import type { Letter } from '../letter.js';
import { nameOf, releaseOutputs } from '../session/attempts.js';
import { HOME } from './connect.js';
import type { WorkspaceDraft } from './draft.js';
import { ASK_AGAIN_MS, DENIED_AGAIN_MS } from './policy.js';
import type { HomeLease } from './state.js';

/** True when the next Attempt may be made: there is no Volume, or its lease is held for that epoch. Asks for it otherwise. */
export function holdsHome(draft: WorkspaceDraft): boolean {
  const { volume } = draft.object.spec;
  const { lease } = draft.private;
  const epoch = draft.private.epoch + 1;
  if (lease === undefined) {
    if (volume === undefined) return true;
    ask(draft, { volume, epoch, at: 'Wanted', since: draft.now });
    return false;
  }
  // The one of an Attempt that was lost is renewed, unless another home is wanted now.
  if (lease.at === 'Granted' && lease.epoch < epoch && lease.saved === undefined && lease.volume === volume) {
    ask(draft, { volume, epoch, at: 'Wanted', since: draft.now });
    return false;
  }
  return lease.at === 'Granted' && lease.epoch === epoch && lease.volume === volume;
}

/** Gives the lease back when nothing will write any more under it. */
export function settleLease(draft: WorkspaceDraft): void {
  const { lease, live } = draft.private;
  if (lease === undefined || lease.at === 'Returning') return;
  // Its files were collected when it ended: what may be left of it writes nowhere.
  if (live !== undefined && live.phase !== 'Ended') return;
  const needless = !draft.wanted || lease.saved !== undefined || lease.volume !== draft.object.spec.volume;
  if (!needless) return;
  const returning: HomeLease = { ...lease, at: 'Returning', since: draft.now };
  draft.keep({ lease: returning });
  draft.effects.push(letterOf(draft, returning));
}

function ask(draft: WorkspaceDraft, lease: HomeLease): void {
  draft.keep({ lease });
  draft.effects.push(letterOf(draft, lease));
}

/** It goes without waiting for anything: what it holds is let go of. */
export function abandonHome(draft: WorkspaceDraft): void {
  const { lease } = draft.private;
  if (lease === undefined) return;
  draft.keep({ lease: undefined });
  draft.effects.push(letterOf(draft, { ...lease, at: 'Returning' }));
}

/** What the Volume should have heard. */
export function remindVolume(draft: WorkspaceDraft): void {
  const { lease } = draft.private;
  if (lease !== undefined && lease.at !== 'Granted') draft.reminders.push(letterOf(draft, lease));
}

function letterOf(draft: WorkspaceDraft, lease: HomeLease): LaterEffect {
  const { org, project } = draft.self;
  const { uid } = draft.object.metadata;
  const { epoch, saved } = lease;
  const letter: Letter =
    lease.at === 'Returning'
      ? { letter: 'LeaseReturned', uid, epoch, saved }
      : { letter: 'LeaseWanted', epoch, attempt: nameOf(draft, epoch) };
  return { type: 'Tell', to: { org, kind: 'Volume', project, name: lease.volume }, letter };
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

/** `from`: name of the Volume. Undefined: the letter is about something else. False: it means nothing here. */
export function takeLeaseLetter(draft: WorkspaceDraft, letter: Letter, from: string): boolean | undefined {
  const { lease } = draft.private;
  switch (letter.letter) {
    case 'LeaseGranted': {
      const { epoch, home } = letter;
      if (!isAsked(lease, from, epoch)) return false;
      draft.keep({ lease: { volume: from, epoch, at: 'Granted', since: draft.now, home } });
      return true;
    }
    case 'LeaseDenied':
      if (!isAsked(lease, from, letter.epoch)) return false;
      return denied(draft, lease, letter.reason, letter.message);
    case 'LeaseFree':
      if (lease?.at !== 'Denied' || lease.volume !== from) return false;
      ask(draft, { ...lease, at: 'Wanted', since: draft.now });
      return true;
    case 'LeaseEnded':
      if (lease?.at !== 'Returning' || lease.volume !== from || lease.epoch !== letter.epoch) return false;
      ended(draft, lease, letter.committed);
      return true;
    case 'LeaseChecked':
      return checked(draft, letter, from);
    default:
      return undefined;
  }
}

function isAsked(lease: HomeLease | undefined, volume: string, epoch: number): lease is HomeLease {
  return (lease?.at === 'Wanted' || lease?.at === 'Denied') && lease.volume === volume && lease.epoch === epoch;
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
  committed: Extract<Letter, { letter: 'LeaseEnded' }>['committed'],
): void {
  draft.keep({ lease: undefined });
  if (saved === undefined) return;
  draft.effects.push(releaseOutputs(draft, epoch));
  if (committed === undefined) {
    draft.condition('StateSaved', false, 'LeaseLost', `Volume "${volume}" did not take ${HOME}: its lease was lost`);
    return;
  }
  draft.say({ home: { volume, ...committed } });
  draft.condition('StateSaved', true, 'Saved', `${HOME} is revision ${committed.revision} of Volume "${volume}"`);
}

/** What it does not hold, or another of its name held, is returned. */
function checked(
  draft: WorkspaceDraft,
  { uid, epoch }: Extract<Letter, { letter: 'LeaseChecked' }>,
  from: string,
): boolean {
  const { lease } = draft.private;
  const mine = uid === draft.object.metadata.uid && lease?.volume === from && lease.epoch >= epoch;
  if (mine) return false;
  const { org, project } = draft.self;
  draft.reminders.push({
    type: 'Tell',
    to: { org, kind: 'Volume', project, name: from },
    letter: { letter: 'LeaseReturned', uid, epoch },
  });
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
      return denied(draft, lease, 'VolumeNotFound', message);
    case 'Returning':
      draft.keep({ lease: undefined });
      if (lease.saved !== undefined) draft.condition('StateSaved', false, 'VolumeNotFound', message);
      return true;
    case 'Granted':
      return false;
  }
}
