/** What an Attempt keeps beside its status, and the vocabulary of its machine. */
import { API_GROUP } from '../../brand.js';
import type { Address } from '../../api/address.js';
import type { ApiObject, OwnerReference } from '../../api/object.js';
import type { HoldRefusal } from '../../money/operation.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { Current, Decision } from '../machine.js';
import type { CollectedOutput } from '../object-message.js';
import type { AttemptSpec, AttemptStatus } from './schema.js';

/** Holds the object while something of its work may be left on a machine. */
export const WORK_FINALIZER = `${API_GROUP}/work`;

export interface AttemptPrivate {
  /**
   * What the engine has of it: nothing yet; work that may run; work that is being removed; nothing any more, proven.
   * The place on the Node is held from the first to the last of them.
   */
  readonly work: 'None' | 'Live' | 'Going' | 'Gone';
  /** Asked to stop, and why: the reason of its end. */
  readonly stopping?: string | undefined;
  /** The renewal of its hold was refused, and who refused it; `sequence` is the hold's. */
  readonly unfunded?: (HoldRefusal & { readonly sequence: number }) | undefined;
  /** Its outputs are being saved; `error`: a vital one could not be yet. */
  readonly saving?: { readonly error?: string | undefined } | undefined;
  /** What of its saved files could not be restored. */
  readonly unrestored?: string | undefined;
  /** What the owner was told of the end, to tell it again. */
  readonly lost?: boolean | undefined;
  readonly shortfall?: HoldRefusal | undefined;
  readonly message?: string | undefined;
  readonly outputs?: readonly CollectedOutput[] | undefined;
  /** How much later than usual the service heard of the end, in ms: it stood still, or had much to do. */
  readonly lateMs?: number | undefined;
  /** When the phase last changed, in ms since the epoch. */
  readonly since?: number | undefined;
}

export type Attempt = ApiObject<AttemptSpec, AttemptStatus>;
export type This = Current<AttemptSpec, AttemptStatus, AttemptPrivate>;

/**
 * True when a start that was asked for is still wanted. An effect may be carried out again after a crash, also when later
 * ones of the same Attempt were done already: work that has ended must not run a second time (I8).
 */
export const mayStart: { of(attempt: ApiObject): boolean }['of'] = ({ status }: Attempt) =>
  status.phase === 'Provisioning';

export const UNPLACED: AttemptPrivate = { work: 'None' };

export interface Owner {
  readonly address: Address;
  readonly uid: string;
}

/** The one that made it; undefined for an Attempt that was orphaned. */
export function ownerOf(current: This): Owner | undefined {
  const references = current.object.metadata.ownerReferences ?? [];
  const owner: OwnerReference | undefined = references.find(({ controller }) => controller === true) ?? references[0];
  if (owner === undefined) return undefined;
  const { org, project } = current.address;
  return { address: { org, kind: owner.kind, project, name: owner.name }, uid: owner.uid };
}

export type AttemptDecision = Decision<AttemptStatus, AttemptPrivate, never>;
export type Written = Extract<AttemptDecision, { outcome: 'Next' }>;

export const IGNORED: AttemptDecision = { outcome: 'Ignored' };

/** A deletion waits so long for what could not be saved. */
export const UNSAVED_MS = 60_000;

export function next(change: {
  readonly status: AttemptStatus;
  readonly private?: AttemptPrivate;
  readonly effects?: readonly Effect[];
  readonly volatile?: readonly LaterEffect[];
  readonly finalizers?: readonly string[];
}): Written {
  return { outcome: 'Next', effects: [], ...change };
}

export function volatile(messages: readonly LaterEffect[]): AttemptDecision {
  return messages.length === 0 ? IGNORED : { outcome: 'Volatile', changes: [], volatile: messages };
}
