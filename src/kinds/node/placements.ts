/**
 * Who has a place on a machine and who waits for one, with whose turn it is.
 *
 * Turns go round the orgs that wait, within an org round its owners, and within one owner by age. Each ring is a Map in
 * which the next one comes first and whoever was served goes to the end, so a grant costs the same with one waiting owner
 * as with ten thousand. An owner's own queue is sorted by age; it is as long as the owner's parallelism.
 *
 * Nothing of it is stored. After a start the placements are empty and `counted` is false: the Attempts say what they hold
 * (`CountPlaces`), and until all have spoken no place is granted.
 */
import { addressKey, type Address } from '../../api/address.js';
import type { ResourceAmounts } from '../amounts.js';
import { add, NOTHING, take, type Load } from './amounts.js';
import { Gathering } from './gathering.js';

export interface PlaceRequest {
  readonly uid: string;
  readonly attempt: Address;
  readonly owner: Address;
  /** In ms since the epoch. */
  readonly since: number;
  readonly amounts: ResourceAmounts;
}

/** What keeps a request waiting: room on the machine, or the cap on what its org may hold of it. */
export type WaitCause = 'Room' | 'OrgCap';

export type PlacementChange =
  | { readonly change: 'Counting'; readonly count: string; readonly at: number }
  | { readonly change: 'Counted' }
  | { readonly change: 'Waits'; readonly request: PlaceRequest }
  /** `heard`: it has said so itself; otherwise it was granted and is told again until it does. */
  | { readonly change: 'Holds'; readonly request: PlaceRequest; readonly heard: boolean; readonly at: number }
  | { readonly change: 'Leaves'; readonly uid: string }
  /** It was told why it waits. */
  | { readonly change: 'RequesterNotified'; readonly uid: string; readonly cause: WaitCause }
  /** What all were told holds no longer. */
  | { readonly change: 'Untold' }
  | { readonly change: 'TimerArmed'; readonly armed: boolean }
  /** Others wait from now on, so that room gathers for it (`gathering.ts`). */
  | { readonly change: 'Gathers'; readonly uid: string; readonly org: string; readonly at: number }
  /** It has had its time, and goes to the end with its owner and its org. */
  | { readonly change: 'Gathered' };

/**
 * How many of those that left are remembered. An Attempt that has given its place back never asks again, so a request that
 * still comes was overtaken by the release and would hold a place for ever. One that is older than so many others is
 * forgotten: messages are not late by thousands.
 */
const REMEMBERED = 10_000;

/** Owners of one org that wait, each with its requests by age; the next turn comes first. */
export type OrgQueue = Map<string, PlaceRequest[]>;

export class Placements {
  count: 'Unknown' | 'Counting' | 'Counted' = 'Unknown';
  /** Names these placements: what was said to earlier ones does not count here. */
  name: string | undefined;
  /** When it was opened, in ms since the epoch: nothing was heard of the machine before. */
  since: number | undefined;
  timerArmed = false;
  #load: Load = NOTHING;
  /** What each org holds, of those that hold anything. */
  readonly #loads = new Map<string, Load>();
  readonly #held = new Map<string, PlaceRequest>();
  /** Granted and not heard of yet, with the time at which they were told. */
  readonly #unheard = new Map<string, { readonly request: PlaceRequest; readonly at: number }>();
  /** In order of arrival. */
  readonly #waiting = new Map<string, PlaceRequest>();
  readonly #told = new Map<string, WaitCause>();
  readonly #orgs = new Map<string, OrgQueue>();
  /** In the order in which they left. */
  readonly #left = new Set<string>();
  readonly #gathering = new Gathering();

  get load(): Load {
    return this.#load;
  }

  /** Of each org that holds anything. */
  get loads(): ReadonlyMap<string, Load> {
    return this.#loads;
  }

  /** What this org holds. */
  loadOf(org: string): Load {
    return this.#loads.get(org) ?? NOTHING;
  }

  held(uid: string): PlaceRequest | undefined {
    return this.#held.get(uid);
  }

  waits(uid: string): PlaceRequest | undefined {
    return this.#waiting.get(uid);
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Granted and not heard of yet. Messages may be lost, so they are told again. */
  unheard(): IterableIterator<{ readonly request: PlaceRequest; readonly at: number }> {
    return this.#unheard.values();
  }

  isUnheard(uid: string): boolean {
    return this.#unheard.has(uid);
  }

  hasLeft(uid: string): boolean {
    return this.#left.has(uid);
  }

  /** For which room gathers now. */
  gathering(now: number): PlaceRequest | undefined {
    const uid = this.#gathering.at(now);
    return uid === undefined ? undefined : this.#waiting.get(uid);
  }

  /** Whether room may gather for one of this org. */
  mayGather(org: string, now: number): boolean {
    return this.#gathering.may(org, now);
  }

  waiting(): IterableIterator<PlaceRequest> {
    return this.#waiting.values();
  }

  /** Of what it was told last that it waits for it; undefined: of nothing. */
  notifiedOf(uid: string): WaitCause | undefined {
    return this.#told.get(uid);
  }

  /** The ring of orgs; the next turn comes first. */
  get orgs(): ReadonlyMap<string, OrgQueue> {
    return this.#orgs;
  }

  apply(change: PlacementChange): void {
    switch (change.change) {
      case 'Counting':
        this.count = 'Counting';
        this.name = change.count;
        this.since ??= change.at;
        return;
      case 'Counted':
        this.count = 'Counted';
        return;
      case 'Waits':
        this.#enqueue(change.request);
        return;
      case 'Holds':
        this.#gathering.placed(change.request.uid, change.at);
        this.#hold(change.request);
        if (change.heard) this.#unheard.delete(change.request.uid);
        else this.#unheard.set(change.request.uid, { request: change.request, at: change.at });
        return;
      case 'Leaves':
        this.#leave(change.uid);
        return;
      case 'RequesterNotified':
        if (this.#waiting.has(change.uid)) this.#told.set(change.uid, change.cause);
        return;
      case 'Untold':
        this.#told.clear();
        return;
      case 'TimerArmed':
        this.timerArmed = change.armed;
        return;
      case 'Gathers':
        this.#gathering.begin(change, change.at);
        return;
      case 'Gathered':
        this.#toTheEnd(this.#gathering.last);
    }
  }

  #enqueue(request: PlaceRequest): void {
    if (this.#waiting.has(request.uid) || this.#held.has(request.uid)) return;
    this.#waiting.set(request.uid, request);
    const { org } = request.attempt;
    const owners = this.#orgs.get(org) ?? new Map<string, PlaceRequest[]>();
    const key = addressKey(request.owner);
    const queue = owners.get(key) ?? [];
    queue.splice(positionOf(queue, request), 0, request);
    owners.set(key, queue);
    this.#orgs.set(org, owners);
  }

  #hold(request: PlaceRequest): void {
    if (this.#held.has(request.uid)) return;
    this.#dequeue(request.uid, true);
    this.#held.set(request.uid, request);
    this.#load = add(this.#load, request.amounts);
    const { org } = request.attempt;
    this.#loads.set(org, add(this.loadOf(org), request.amounts));
  }

  #leave(uid: string): void {
    this.#unheard.delete(uid);
    const held = this.#held.get(uid);
    if (held !== undefined) {
      this.#held.delete(uid);
      this.#load = take(this.#load, held.amounts);
      this.#lighten(held);
    }
    this.#dequeue(uid, false);
    this.#left.add(uid);
    if (this.#left.size <= REMEMBERED) return;
    for (const oldest of this.#left) {
      this.#left.delete(oldest);
      return;
    }
  }

  #lighten({ attempt: { org }, amounts }: PlaceRequest): void {
    const left = take(this.loadOf(org), amounts);
    if (left.places > 0) this.#loads.set(org, left);
    else this.#loads.delete(org);
  }

  #toTheEnd(uid: string | undefined): void {
    const request = uid === undefined ? undefined : this.#waiting.get(uid);
    if (request === undefined) return;
    const { org } = request.attempt;
    const owners = this.#orgs.get(org);
    const key = addressKey(request.owner);
    const queue = owners?.get(key);
    if (owners === undefined || queue === undefined) return;
    owners.delete(key);
    owners.set(key, queue);
    this.#orgs.delete(org);
    this.#orgs.set(org, owners);
  }

  /** `served`: its org and its owner have had their turn and go to the end. */
  #dequeue(uid: string, served: boolean): void {
    const request = this.#waiting.get(uid);
    if (request === undefined) return;
    this.#waiting.delete(uid);
    this.#told.delete(uid);
    const { org } = request.attempt;
    const owners = this.#orgs.get(org);
    const key = addressKey(request.owner);
    const queue = owners?.get(key);
    if (owners === undefined || queue === undefined) return;
    queue.splice(positionOf(queue, request), 1);
    if (served || queue.length === 0) owners.delete(key);
    if (queue.length > 0 && served) owners.set(key, queue);
    if (served || owners.size === 0) this.#orgs.delete(org);
    if (owners.size > 0 && served) this.#orgs.set(org, owners);
  }
}

/** Where a request is, or belongs: by age, then by uid. */
function positionOf(queue: readonly PlaceRequest[], sought: PlaceRequest): number {
  let low = 0;
  let high = queue.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = queue[middle];
    const before =
      found !== undefined && (found.since < sought.since || (found.since === sought.since && found.uid < sought.uid));
    if (before) low = middle + 1;
    else high = middle;
  }
  return low;
}
