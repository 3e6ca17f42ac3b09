/** Owns what is asked of the one Attempt: to be made, to stop, to say how it stands, and to go. Its slot is always 0. */
import type { LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import { placeAnnotations, toldOfProof } from '../attempt/annotations.js';
import { attemptName, EPOCH_LABEL } from '../job/names.js';
import { floorsOf } from '../shapes/resources.js';
import type { SingleAttemptDraft } from './draft.js';
import { STOP_GRACE_SECONDS } from './policy.js';

/** A function of the object's incarnation and the epoch, so that making an Attempt twice makes one. */
export function nameOf({ object }: SingleAttemptDraft, epoch: number): string {
  return attemptName(object.metadata, 0, epoch);
}

export function makeAttempt(draft: SingleAttemptDraft, epoch: number): LaterEffect {
  const { metadata, spec } = draft.object;
  return {
    type: 'CreateChild',
    kind: 'Attempt',
    name: nameOf(draft, epoch),
    labels: { [draft.rules.label]: metadata.name, [EPOCH_LABEL]: String(epoch) },
    annotations: { ...placeAnnotations(floorsOf(spec.resources)), ...toldOfProof },
    spec: { slot: 0, epoch },
  };
}

export function stopAttempt(draft: SingleAttemptDraft, epoch: number, reason: string): LaterEffect {
  return tellAttempt(draft, epoch, { letter: 'StopAttempt', epoch, reason, graceSeconds: STOP_GRACE_SECONDS });
}

export function askAttempt(draft: SingleAttemptDraft, epoch: number): LaterEffect {
  return tellAttempt(draft, epoch, { letter: 'AttemptAsked', epoch });
}

/** What was saved is kept elsewhere: Attempts would keep the bytes of what newer ones have replaced. */
export function releaseOutputs(draft: SingleAttemptDraft, epoch: number): LaterEffect {
  return tellAttempt(draft, epoch, { letter: 'OutputsTaken', epoch });
}

/** Tells a lost Attempt that another has its slot. */
export function supersede(draft: SingleAttemptDraft, epoch: number, by: number): LaterEffect {
  return tellAttempt(draft, epoch, { letter: 'AttemptSuperseded', epoch, by: nameOf(draft, by) });
}

/** The live one, of an owner that goes for good. */
export function discardAttempt(draft: SingleAttemptDraft, epoch: number, graceSeconds: number): LaterEffect {
  return tellAttempt(draft, epoch, { letter: 'DropAttempt', epoch, graceSeconds });
}

/** One that has long ended. */
export function dropAttempt(draft: SingleAttemptDraft, epoch: number): LaterEffect {
  return { type: 'DeleteChild', kind: 'Attempt', name: nameOf(draft, epoch) };
}

function tellAttempt(draft: SingleAttemptDraft, epoch: number, letter: ObjectMessage): LaterEffect {
  const { org, project } = draft.self;
  return { type: 'Tell', to: { org, kind: 'Attempt', project, name: nameOf(draft, epoch) }, letter };
}
