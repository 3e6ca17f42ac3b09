/**
 * Who gets a place next: plans grants over placements that it does not change.
 *
 * A request that does not fit may be passed by smaller ones for as long as it is young. Once it has waited for `PASSED_MS` and its org
 * holds less than another, or for `STARVATION_MS` whoever holds what, room gathers for it: all others wait behind it, for a time that is
 * bounded (`gathering.ts`). Its own org waits behind it from `STARVATION_MS` on. So nothing large starves beside work that ends, however
 * small its pieces are, and no org keeps another from room that is free for long: what uses the rest may never end.
 *
 * Places are never taken back, so one org could hold all of a machine for good. Where `Capacity.orgPercent` caps what an org may hold, a
 * request that would take its org above that is passed by until the org holds less, and room never gathers for it: only its own org may
 * have to wait behind it, as behind all that has waited for `STARVATION_MS`.
 */
import { add, everFits, hasRoomFor, isWithinCap, NOTHING, shareOf, take, type Capacity, type Load } from './amounts.js';
import type { OrgQueue, PlaceRequest, Placements } from './placements.js';

export const STARVATION_MS = 60_000;
export const PASSED_MS = 2_000;

/** Requests of one org that do not fit which one plan looks at before it goes on to the next org: bounds the cost of a release. */
const MAX_MISSES = 16;

/** A ring that is walked without being changed: whoever was served comes again after all others. */
class Turns<Entry> {
  readonly #first: Iterator<Entry>;
  readonly #again: Entry[] = [];
  #at = 0;

  constructor(first: Iterator<Entry>) {
    this.#first = first;
  }

  next(): Entry | undefined {
    const { value, done } = this.#first.next();
    if (done !== true) return value;
    const queued = this.#again[this.#at];
    this.#at += 1;
    return queued;
  }

  again(queued: Entry): void {
    this.#again.push(queued);
  }
}

interface OwnerTurn {
  readonly queue: readonly PlaceRequest[];
  at: number;
}

interface OrgTurn {
  readonly owners: Turns<OwnerTurn>;
  /** What it holds, with what the plan grants. */
  held: Load;
  misses: number;
}

export interface Plan {
  /** In order. */
  readonly grants: readonly PlaceRequest[];
  /** Room is to gather for this one from now on. */
  readonly gathers?: PlaceRequest | undefined;
}

/** `load` is what is in use; `without` has already left and is passed over. */
export function planGrants(
  placements: Placements,
  load: Load,
  capacity: Capacity,
  now: number,
  without: string | undefined,
): Plan {
  const grants: PlaceRequest[] = [];
  let used = load;
  const first = placements.gathering(now);
  if (first !== undefined && first.uid !== without && waitsForRoom(first, placements, capacity, without)) {
    if (!hasRoomFor(first.amounts, used, capacity)) return { grants };
    grants.push(first);
    used = add(used, first.amounts);
  }
  const orgs = new Turns(openOrgs(placements, without, grants[0]));
  for (let org = orgs.next(); org !== undefined; org = orgs.next()) {
    for (let owner = org.owners.next(); owner !== undefined; owner = org.owners.next()) {
      while (isServed(owner.queue[owner.at], without, grants[0])) owner.at += 1;
      const request = owner.queue[owner.at];
      if (request === undefined) continue; // this owner has nobody left, the org has another
      const mayHold = isWithinCap(request.amounts, org.held, capacity);
      if (mayHold && hasRoomFor(request.amounts, used, capacity)) {
        grants.push(request);
        used = add(used, request.amounts);
        org.held = add(org.held, request.amounts);
        owner.at += 1;
        org.owners.again(owner);
        orgs.again(org);
        break;
      }
      if (!everFits(request.amounts, capacity)) {
        // It will never have a place here; it has been told, and nobody waits behind it.
        owner.at += 1;
        org.owners.again(owner);
        continue;
      }
      org.misses += 1;
      // Room on the machine is of no use to what waits for its own org to hold less.
      const gathers = mayHold && placements.mayGather(request.attempt.org, now);
      if (gathers && now - request.since >= PASSED_MS && holdsLess(request, placements, capacity, without)) {
        return { grants, gathers: request };
      }
      if (isStarving(request, now)) {
        if (gathers) return { grants, gathers: request };
        break;
      }
      if (org.misses >= MAX_MISSES) break;
    }
  }
  return { grants };
}

export function isStarving({ since }: PlaceRequest, now: number): boolean {
  return now - since >= STARVATION_MS;
}

/** What an org holds when `without` has left. */
function heldBy(org: string, placements: Placements, without: string | undefined): Load {
  const load = placements.loadOf(org);
  const leaves = without === undefined ? undefined : placements.held(without);
  return leaves?.attempt.org === org ? take(load, leaves.amounts) : load;
}

/** Whether it would begin if nobody else held anything: the machine has as much, and its org may hold so much more. */
function waitsForRoom(
  { amounts, attempt: { org } }: PlaceRequest,
  placements: Placements,
  capacity: Capacity,
  without?: string,
): boolean {
  return hasRoomFor(amounts, NOTHING, capacity) && isWithinCap(amounts, heldBy(org, placements, without), capacity);
}

/** Whether another org holds more of the machine than this one's. */
function holdsLess(
  { attempt: { org } }: PlaceRequest,
  placements: Placements,
  capacity: Capacity,
  without: string | undefined,
): boolean {
  const share = (of: string): number => shareOf(heldBy(of, placements, without), capacity);
  const own = share(org);
  for (const other of placements.loads.keys()) if (other !== org && share(other) > own) return true;
  return false;
}

/** `first` was granted before the others had their turns. */
function isServed(request: PlaceRequest | undefined, without: string | undefined, first?: PlaceRequest): boolean {
  return request !== undefined && (request.uid === without || request === first);
}

/** Whether a request that has just come waits behind an older one that needs more room than there is. */
export function isBehind(placements: Placements, { attempt }: PlaceRequest, capacity: Capacity, now: number): boolean {
  const first = placements.gathering(now);
  if (first !== undefined && waitsForRoom(first, placements, capacity)) return true;
  let looked = 0;
  for (const [oldest] of placements.orgs.get(attempt.org)?.values() ?? []) {
    if (oldest !== undefined && isStarving(oldest, now) && everFits(oldest.amounts, capacity)) return true;
    looked += 1;
    if (looked >= MAX_MISSES) return false;
  }
  return false;
}

/** `first` was granted before the turns of the orgs. */
function* openOrgs(
  placements: Placements,
  without: string | undefined,
  first: PlaceRequest | undefined,
): Generator<OrgTurn> {
  for (const [org, owners] of placements.orgs) {
    const held = heldBy(org, placements, without);
    const withFirst = first?.attempt.org === org ? add(held, first.amounts) : held;
    yield { owners: new Turns(openOwners(owners)), held: withFirst, misses: 0 };
  }
}

function* openOwners(owners: OrgQueue): Generator<OwnerTurn> {
  for (const queue of owners.values()) yield { queue, at: 0 };
}
