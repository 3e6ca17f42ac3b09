/**
 * The interface of storage to the floors above: reads, what is stored beside objects, and the lease.
 * Writing objects is `commit/` alone (I1). Every function that touches a tenant's data takes its org first (I12);
 * the few that work for the whole store (re-arming at start, compaction) say so.
 */
import type { Address } from '../src/api/address.js';
import type { LaterEffect } from '../src/kinds/effect.js';
import type { SlotRow } from '../src/kinds/machine.js';
import type { CommittedChange } from './commit/request.js';

export interface StoredObject {
  readonly address: Address;
  readonly uid: string;
  readonly version: number;
  /** Stamped bytes. */
  readonly body: Buffer;
  readonly private: string | null;
}

/** Where an object stands in the order of its kind within an org. */
export interface Place {
  readonly project: string;
  readonly name: string;
}

export interface ObjectKey extends Place {
  readonly version: number;
  /** Bytes of the body, known without reading it: who reads bodies bounds them by it. */
  readonly bytes: number;
}

export interface KeyRange {
  readonly org: string;
  readonly kind: string;
  readonly project?: string | undefined;
  readonly name?: string | undefined;
  /** Keys after this one, in (project, name) order. */
  readonly after?: Place | undefined;
  /** Most keys that are read: no range is read whole. */
  readonly limit: number;
}

/** Some keys of a range, in order. */
export interface Keys {
  readonly keys: readonly ObjectKey[];
  /** Up to here the keys are complete: the next ones are read after it. Undefined: there are no more. */
  readonly reached: Place | undefined;
}

/** One stored row of later effects: all effects of one commit of one object. */
export interface StoredEffects {
  readonly version: number;
  /** It was read from storage, so some of it may have been done before, and long ago. */
  readonly recalled?: boolean | undefined;
  readonly address: Address;
  readonly uid: string;
  readonly effects: readonly LaterEffect[];
}

export interface StoredTimer {
  readonly address: Address;
  readonly uid: string;
  readonly timer: string;
  readonly generation: number;
  /** ms since the epoch, Postgres's clock. */
  readonly at: number;
}

export interface StoredCredential {
  readonly address: Address;
  readonly uid: string;
  readonly expires?: number | undefined;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface StoredResponse {
  readonly fingerprint: string;
  readonly status: number;
  /** Stamped. */
  readonly response: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Objects {
  read(address: Address): Promise<StoredObject | undefined>;
  /** Those of these keys that are still at their version; order as asked. The caller bounds the keys by their bytes. */
  readMany(org: string, kind: string, keys: readonly ObjectKey[]): Promise<StoredObject[]>;
  /**
   * The first keys of a range as they are now, in one snapshot with the version at which they are true; and how many
   * objects the org's kind has then in the range's project (or in all).
   */
  keys(range: KeyRange): Promise<Keys & { readonly version: number; readonly count: number }>;
  /**
   * The first keys of a range as they were at `version`. There may be fewer than the limit though more follow: `reached`
   * says. The cost depends on the limit, not on where the range begins nor on how much has changed since.
   */
  keysAt(range: KeyRange, version: number): Promise<({ outcome: 'Keys' } & Keys) | { outcome: 'Expired' }>;
  /**
   * The states of objects at `version` that have changed since then, by the changes log; order as asked, absent where
   * there was none (or nothing has changed). The caller bounds the keys by their bytes.
   */
  statesAt(
    org: string,
    kind: string,
    keys: readonly ObjectKey[],
    version: number,
  ): Promise<{ outcome: 'States'; objects: StoredObject[] } | { outcome: 'Expired' }>;
  /** Objects that name this uid as an owner, in the order of kind, project and name, those behind `after`. */
  ownedBy(org: string, uid: string, limit: number, after?: Address): Promise<Address[]>;
  slots(org: string, uid: string): Promise<SlotRow[]>;
  /** Generations of the object's armed timers, by name. */
  timers(org: string, uid: string): Promise<ReadonlyMap<string, number>>;
  /** Those from the index `first` on, by index. */
  slotsFrom(org: string, uid: string, first: number, limit: number): Promise<SlotRow[]>;
  slot(org: string, uid: string, index: number): Promise<SlotRow | undefined>;
  /** Whole store, for operators: the address of an incarnation. Reads the table; not for hot paths. */
  addressOf(uid: string): Promise<Address | undefined>;
  count(org: string): Promise<number>;
}

export interface LogLimit {
  readonly changes: number;
  /** Of bodies, before and after. */
  readonly bytes: number;
}

export interface ChangesLog {
  /**
   * Changes above `from`, oldest first, of one org and kind: at most `limit.changes` of them, and no more than
   * `limit.bytes` of bodies (but always one). `through`: the answer holds every such change up to this version (the log's
   * head, or the last change's version when a limit cut it). `Expired` when `from` is below the floor.
   */
  after(
    org: string,
    kind: string,
    from: number,
    limit: LogLimit,
  ): Promise<{ outcome: 'Changes'; changes: CommittedChange[]; through: number } | { outcome: 'Expired' }>;
  head(): Promise<number>;
  floor(): Promise<number>;
  /** Whole store: removes what is older than the settings say; returns the new floor. */
  compact(): Promise<number>;
}

/** The effects of one org's objects of these kinds, or of all its other ones. */
export interface EffectsOf {
  readonly org: string;
  readonly kinds: readonly string[];
  readonly among: boolean;
}

export interface Pending {
  /** Whole store, or of one group: effects that a crash left behind, oldest first, above `afterVersion`. */
  effects(afterVersion: number, limit: number, of?: EffectsOf): Promise<StoredEffects[]>;
  /** Whole store: the orgs that have effects of objects of these kinds (`among`) and of other ones. */
  effectsOrgs(kinds: readonly string[]): Promise<readonly { readonly org: string; readonly among: boolean }[]>;
  /** Whole store: those of these rows that are stored, oldest first. */
  effectsAt(versions: readonly number[]): Promise<StoredEffects[]>;
  /** All effects of this commit are done. Batched inside; bounded. */
  effectsDone(version: number, uid: string): void;
  /**
   * Whole store: timers due at or after `from` (default: all) and before `before` (ms), soonest first. A reader pages by
   * asking again from the last row's `at`; rows of that very millisecond come twice.
   */
  timersDue(before: number, limit: number, from?: number): Promise<StoredTimer[]>;
  /** Whole store: objects whose actors must be activated at start because something of theirs is under way. */
  unfinished(kinds: readonly string[], limit: number, after?: Address): Promise<Address[]>;
  /** Of one org. */
  unfinishedOf(org: string, kinds: readonly string[], limit: number, after?: Address): Promise<Address[]>;
  /** Those with finalizers, which something outside of the service holds. */
  unfinishedHeld(kind: string, limit: number, after?: Address): Promise<Address[]>;
  /** How many of a kind there are, by org. */
  countUnfinished(kind: string): Promise<ReadonlyMap<string, number>>;
  /** Orgs that have any. */
  unfinishedOrgs(): Promise<string[]>;
  /** Whole store: age in ms of the oldest stored effect (I13). */
  oldestEffectMs(): Promise<number>;
}

export interface Credentials {
  find(sha256: string): Promise<StoredCredential | undefined>;
}

export interface Responses {
  find(org: string, holder: string, key: string): Promise<StoredResponse | undefined>;
}

export interface SecretVersions {
  /** The opened values of one version; undefined when there is none. Only the effect that mounts them calls this (I11). */
  open(org: string, uid: string, version: number): Promise<ReadonlyMap<string, Buffer> | undefined>;
  /** Positions of the texts in which a value of this version stands; the values themselves stay here (I11). */
  recognise(org: string, uid: string, version: number, texts: readonly string[]): Promise<readonly number[]>;
  /** Seals values for `CommitRequest.secrets`. */
  seal(org: string, uid: string, version: number, values: ReadonlyMap<string, Uint8Array>): Buffer;
}

/** The right to write. Epochs grow with every new holder; each commit names its epoch (I3). */
export interface Lease {
  readonly epoch: number;
  /** How long it holds without renewal. */
  readonly ms: number;
  /** Aborted when the lease is lost or given up; from then on nothing can be written. */
  readonly lost: AbortSignal;
  /**
   * Whether it certainly holds at this moment. A process that was stopped and goes on handles sockets before its timers:
   * asking here, it serves nothing that is out of date in between.
   */
  held(): boolean;
  /** Gives it up at once, so that a standby need not wait for the end of its time. */
  release(): Promise<void>;
}

/** Milliseconds since the epoch on Postgres's clock, from a measured offset. */
export type Clock = () => number;
