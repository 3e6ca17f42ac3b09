/** What a Volume keeps beside its status (plain JSON, times in ms since the epoch), its numbers, and the draft of one decision. */
import type { Address } from '../../api/address.js';
import { setCondition } from '../../api/conditions.js';
import type { ApiObject } from '../../api/object.js';
import { API_GROUP } from '../../brand.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { Current } from '../machine.js';
import type { ObjectMessage, SavedFiles } from '../object-message.js';
import type { VolumeSpec, VolumeStatus } from './schema.js';

/** Revisions that are kept when nothing is said. */
export const DEFAULT_HISTORY = 10;

/** Those who are told when the lease is free. */
export const MOST_WAITING = 32;

export type Volume = ApiObject<VolumeSpec, VolumeStatus>;

/** Holds the object while somebody may write. */
export const LEASE_FINALIZER = `${API_GROUP}/lease`;

/** Who may write. */
export interface Lease {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly term: number;
  readonly epoch: number;
  readonly attempt: string;
}

/** Who held it last, and what that has left: said again when it asks again. */
export interface Returned {
  readonly uid: string;
  readonly term: number;
  /** Number of the revision that was committed by it. */
  readonly committed?: number | undefined;
}

export interface Revision extends SavedFiles {
  /** From 1, growing. */
  readonly number: number;
}

/** Somebody who was denied. */
export interface Waiter {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface VolumePrivate {
  readonly lease?: Lease | undefined;
  readonly returned?: Returned | undefined;
  /** Newest first. I10: at most `revisionHistoryLimit`. */
  readonly revisions: readonly Revision[];
  /** I10: the first MOST_WAITING; others ask again by themselves. */
  readonly waiting: readonly Waiter[];
  readonly timers: Readonly<Record<string, number>>;
  /** When somebody last had it. */
  readonly usedAt?: number | undefined;
}

export class VolumeDraft {
  readonly volume: Volume;
  readonly self: Address;
  readonly now: number;
  private: VolumePrivate;
  status: VolumeStatus;
  readonly effects: Effect[] = [];
  /** Answers that change nothing: whoever misses one asks again. */
  readonly volatile: LaterEffect[] = [];

  constructor({ object, address, private: kept }: Current<VolumeSpec, VolumeStatus, VolumePrivate>, now: number) {
    this.volume = object;
    this.self = address;
    this.now = now;
    this.private = kept ?? { revisions: [], waiting: [], timers: {} };
    this.status = object.status;
  }

  get deleting(): boolean {
    return this.volume.metadata.deletionTimestamp !== undefined;
  }

  keep(change: Partial<VolumePrivate>): void {
    this.private = { ...this.private, ...change };
  }

  condition(type: string, holds: boolean, reason: string, message: string): void {
    const next = { type, status: holds ? ('True' as const) : ('False' as const), reason, message };
    this.status = { ...this.status, conditions: [...setCondition(this.status.conditions, next, this.now)] };
  }

  /** With a uid, only that incarnation gets it. `stored`: it belongs to a change of this decision, and is sent after its commit at least once. */
  tell(
    to: { readonly kind: string; readonly name: string; readonly uid?: string | undefined },
    message: ObjectMessage,
    stored: boolean,
  ): void {
    const { org, project } = this.self;
    const address: Address = { org, kind: to.kind, project, name: to.name };
    const effect: LaterEffect = { type: 'Tell', to: address, uid: to.uid, message };
    if (stored) this.effects.push(effect);
    else this.volatile.push(effect);
  }
}
