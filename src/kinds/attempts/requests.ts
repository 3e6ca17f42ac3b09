/**
 * What an owner asks of its Attempts: to be made, to stop, to say how they stand, and to go. Each request names an index and an epoch, so
 * one that is late or repeated reaches no other Attempt (I8). A Job has many indexes; a Sandbox or Workspace has only the index 0.
 */
import type { Address } from '../../api/address.js';
import type { ApiObject } from '../../api/object.js';
import { placeAnnotations, proofWanted, replacesLost } from '../attempt/annotations.js';
import type { LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import { floorsOf, type Resources } from '../shapes/resources.js';
import { attemptName, EPOCH_LABEL, type AttemptRef } from './names.js';
import type { Payer } from '../../money/payer.js';
import { payerAnnotations } from './payer.js';
import { termsAnnotations } from './terms.js';

/** Between SIGTERM and SIGKILL. */
export const STOP_GRACE_SECONDS = 30;

/** Finished Attempts that are kept of an index; older ones are deleted. */
const KEPT_ATTEMPTS = 10;

export interface AttemptOwner {
  readonly self: Address;
  readonly object: ApiObject<{ readonly resources?: Resources | undefined }>;
  /** Labels of its Attempts, beside their epoch. */
  labels(index: number): Readonly<Record<string, string>>;
  /** It waits for the proof that nothing of an Attempt's work is left before it makes the next one. */
  readonly wantsProof: boolean;
  /** What its next Attempts are admitted at, as `showTerms` writes it. */
  terms(): string;
  /** Who pays for it. */
  payer(): Payer;
}

/** `replaces`: the one before was lost with its capacity. */
export function makeAttempt(owner: AttemptOwner, { index, epoch }: AttemptRef, replaces: boolean): LaterEffect {
  const { metadata, spec } = owner.object;
  return {
    type: 'CreateChild',
    kind: 'Attempt',
    name: attemptName(metadata, index, epoch),
    labels: { ...owner.labels(index), [EPOCH_LABEL]: String(epoch) },
    annotations: {
      ...placeAnnotations(floorsOf(spec.resources)),
      ...termsAnnotations(owner.terms()),
      ...payerAnnotations(owner.payer()),
      ...(owner.wantsProof ? proofWanted : {}),
      ...(replaces ? replacesLost : {}),
    },
    spec: { slot: index, epoch },
  };
}

/**
 * Makes the Attempt of a new epoch, tells the one before when this replaces it, and deletes the oldest that was kept.
 * I8: to be called in the decision that stores the epoch.
 */
export function startEpoch(owner: AttemptOwner, ref: AttemptRef, replaces: boolean): readonly LaterEffect[] {
  const { index, epoch } = ref;
  return [
    makeAttempt(owner, ref, replaces),
    ...(replaces ? [supersede(owner, { index, epoch: epoch - 1 }, epoch)] : []),
    ...(epoch > KEPT_ATTEMPTS ? [dropAttempt(owner, { index, epoch: epoch - KEPT_ATTEMPTS })] : []),
  ];
}

export function stopAttempt(owner: AttemptOwner, ref: AttemptRef, reason: string): LaterEffect {
  return tellAttempt(owner, ref, {
    type: 'StopAttempt',
    epoch: ref.epoch,
    reason,
    graceSeconds: STOP_GRACE_SECONDS,
  });
}

export function askAttempt(owner: AttemptOwner, ref: AttemptRef): LaterEffect {
  return tellAttempt(owner, ref, { type: 'AttemptAsked', epoch: ref.epoch });
}

/** What it saved is kept elsewhere: it would keep the bytes of what newer ones have replaced. */
export function releaseOutputs(owner: AttemptOwner, ref: AttemptRef): LaterEffect {
  return tellAttempt(owner, ref, { type: 'OutputsTaken', epoch: ref.epoch });
}

/** Tells a lost Attempt that another has its slot. */
function supersede(owner: AttemptOwner, ref: AttemptRef, by: number): LaterEffect {
  const name = attemptName(owner.object.metadata, ref.index, by);
  return tellAttempt(owner, ref, { type: 'AttemptSuperseded', epoch: ref.epoch, by: name });
}

/** A live one, of an owner that goes for good. */
export function discardAttempt(owner: AttemptOwner, ref: AttemptRef, graceSeconds: number): LaterEffect {
  return tellAttempt(owner, ref, { type: 'DropAttempt', epoch: ref.epoch, graceSeconds });
}

export function dropAttempt({ object }: AttemptOwner, { index, epoch }: AttemptRef): LaterEffect {
  return { type: 'DeleteChild', kind: 'Attempt', name: attemptName(object.metadata, index, epoch) };
}

function tellAttempt({ self, object }: AttemptOwner, ref: AttemptRef, message: ObjectMessage): LaterEffect {
  const { org, project } = self;
  const name = attemptName(object.metadata, ref.index, ref.epoch);
  return { type: 'Tell', to: { org, kind: 'Attempt', project, name }, message };
}
