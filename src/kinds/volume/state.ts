/** Owns what a Volume keeps beside its status. Times are in ms since the epoch. Plain JSON. */
import { API_GROUP } from '../../brand.js';
import type { ApiObject } from '../../api/object.js';
import type { SavedFiles } from '../object-message.js';
import type { VolumeSpec, VolumeStatus } from './schema.js';

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
