/** Owns what a Sandbox asks of its Attempts: to be made, to stop, to say how they stand, and to go. Their slot is always 0. */
import { API_GROUP } from '../../brand.js';
import type { LaterEffect } from '../effect.js';
import type { Letter } from '../letter.js';
import { placeAnnotations } from '../attempt/place-annotation.js';
import { toldOfProof } from '../attempt/proof-annotation.js';
import { attemptName, EPOCH_LABEL } from '../job/names.js';
import { floorsOf } from '../shapes/resources.js';
import type { SandboxDraft } from './draft.js';
import { STOP_GRACE_SECONDS } from './policy.js';

export const SANDBOX_LABEL = `${API_GROUP}/sandbox`;

/** A function of the Sandbox's incarnation and the epoch, so that making an Attempt twice makes one. */
export function nameOf({ sandbox }: SandboxDraft, epoch: number): string {
  return attemptName(sandbox.metadata, 0, epoch);
}

export function makeAttempt(draft: SandboxDraft, epoch: number): LaterEffect {
  const { metadata, spec } = draft.sandbox;
  return {
    type: 'CreateChild',
    kind: 'Attempt',
    name: nameOf(draft, epoch),
    labels: { [SANDBOX_LABEL]: metadata.name, [EPOCH_LABEL]: String(epoch) },
    annotations: { ...placeAnnotations(floorsOf(spec.resources)), ...toldOfProof },
    spec: { slot: 0, epoch },
  };
}

export function stopAttempt(draft: SandboxDraft, epoch: number, reason: string): LaterEffect {
  return tell(draft, epoch, { letter: 'StopAttempt', epoch, reason, graceSeconds: STOP_GRACE_SECONDS });
}

export function askAttempt(draft: SandboxDraft, epoch: number): LaterEffect {
  return tell(draft, epoch, { letter: 'AttemptAsked', epoch });
}

/** The snapshot is kept by the Sandbox: its Attempts would keep the bytes of those that it has replaced. */
export function releaseOutputs(draft: SandboxDraft, epoch: number): LaterEffect {
  return tell(draft, epoch, { letter: 'OutputsTaken', epoch });
}

/** Tells a lost Attempt that another has its slot. */
export function supersede(draft: SandboxDraft, epoch: number, by: number): LaterEffect {
  return tell(draft, epoch, { letter: 'AttemptSuperseded', epoch, by: nameOf(draft, by) });
}

export function dropAttempt(draft: SandboxDraft, epoch: number): LaterEffect {
  return { type: 'DeleteChild', kind: 'Attempt', name: nameOf(draft, epoch) };
}

function tell(draft: SandboxDraft, epoch: number, letter: Letter): LaterEffect {
  const { org, project } = draft.self;
  return { type: 'Tell', to: { org, kind: 'Attempt', project, name: nameOf(draft, epoch) }, letter };
}
