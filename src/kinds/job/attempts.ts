/** Owns what a Job asks of its Attempts: to be made, to stop, to say how they stand, and to go. */
import type { Address } from '../../api/address.js';
import type { LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import { placeAnnotations } from '../attempt/annotations.js';
import { STOP_GRACE_SECONDS } from './ended.js';
import type { Slot } from './slots.js';
import { floorsOf } from '../shapes/resources.js';
import type { Job } from './draft.js';
import { attemptLabels, attemptName } from './names.js';

export function makeAttempt(job: Job, slot: Pick<Slot, 'index' | 'epoch'>): LaterEffect {
  const { index, epoch } = slot;
  return {
    type: 'CreateChild',
    kind: 'Attempt',
    name: attemptName(job.metadata, index, epoch),
    labels: attemptLabels(job.metadata.name, index, epoch),
    annotations: placeAnnotations(floorsOf(job.spec.resources)),
    spec: { slot: index, epoch },
  };
}

export function stopAttempt(job: Job, self: Address, slot: Slot, reason: string): LaterEffect {
  const { index, epoch } = slot;
  return tell(job, self, index, epoch, { letter: 'StopAttempt', epoch, reason, graceSeconds: STOP_GRACE_SECONDS });
}

export function askAttempt(job: Job, self: Address, slot: Slot): LaterEffect {
  return tell(job, self, slot.index, slot.epoch, { letter: 'AttemptAsked', epoch: slot.epoch });
}

/** Tells the Attempt of an earlier epoch that another has its slot. */
export function supersede(job: Job, self: Address, index: number, epoch: number, by: number): LaterEffect {
  const letter: ObjectMessage = { letter: 'AttemptSuperseded', epoch, by: attemptName(job.metadata, index, by) };
  return tell(job, self, index, epoch, letter);
}

export function dropAttempt(job: Job, index: number, epoch: number): LaterEffect {
  return { type: 'DeleteChild', kind: 'Attempt', name: attemptName(job.metadata, index, epoch) };
}

function tell(job: Job, self: Address, index: number, epoch: number, letter: ObjectMessage): LaterEffect {
  const name = attemptName(job.metadata, index, epoch);
  return { type: 'Tell', to: { org: self.org, kind: 'Attempt', project: self.project, name }, letter };
}

const TAIL = /-(\d+)-(\d+)-[0-9a-f]{6}$/;

/** Index and epoch from the name of one of this Job's Attempts; undefined for any other name. */
export function readAttemptName(
  job: Job,
  name: string,
): { readonly index: number; readonly epoch: number } | undefined {
  const parts = TAIL.exec(name);
  if (parts === null) return undefined;
  const index = Number(parts[1]);
  const epoch = Number(parts[2]);
  return attemptName(job.metadata, index, epoch) === name ? { index, epoch } : undefined;
}
