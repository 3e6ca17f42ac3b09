/**
 * Who gets a place next: plans grants over placements that it does not change.
 *
 * A request that does not fit may be passed by smaller ones for as long as it is young. Once it has waited for `PASSED_MS` and its org
 * holds less than another, or for `STARVATION_MS` whoever holds what, room gathers for it: all others wait behind it, for a time that is
 * bounded (`gathering.ts`). Its own org waits behind it from `STARVATION_MS` on. So nothing large starves beside work that ends, however
 * small its pieces are, and no org keeps another from room that is free for long: what uses the rest may never end.
 */
import type { ResourceAmounts } from '../amounts.js';
import { add, hasRoomFor, NOTHING, shareOf, take, type Load } from './amounts.js';
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
  capacity: ResourceAmounts,
  now: number,
  without: string | undefined,
): Plan {
  const grants: PlaceRequest[] = [];
  let used = load;
  const first = placements.gathering(now);
  if (first !== undefined && first.uid !== without && hasRoomFor(first.amounts, NOTHING, capacity)) {
    if (!hasRoomFor(first.amounts, used, capacity)) return { grants };
    grants.push(first);
    used = add(used, first.amounts);
  }
  const orgs = new Turns(openOrgs(placements));
  for (let org = orgs.next(); org !== undefined; org = orgs.next()) {
    for (let owner = org.owners.next(); owner !== undefined; owner = org.owners.next()) {
      while (isServed(owner.queue[owner.at], without, grants[0])) owner.at += 1;
      const request = owner.queue[owner.at];
      if (request === undefined) continue; // this owner has nobody left, the org has another
      if (hasRoomFor(request.amounts, used, capacity)) {
        grants.push(request);
        used = add(used, request.amounts);
        owner.at += 1;
        org.owners.again(owner);
        orgs.again(org);
        break;
      }
      if (!hasRoomFor(request.amounts, NOTHING, capacity)) {
        // It will never have a place here; it has been told, and nobody waits behind it.
        owner.at += 1;
        org.owners.again(owner);
        continue;
      }
      org.misses += 1;
      const gathers = placements.mayGather(request.attempt.org, now);
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

/** Whether another org holds more of the machine than this one's. */
function holdsLess(
  { attempt: { org } }: PlaceRequest,
  placements: Placements,
  capacity: ResourceAmounts,
  without: string | undefined,
): boolean {
  const leaves = without === undefined ? undefined : placements.held(without);
  const share = (of: string, load: Load): number =>
    shareOf(leaves?.attempt.org === of ? take(load, leaves.amounts) : load, capacity);
  const own = share(org, placements.loads.get(org) ?? NOTHING);
  for (const [other, load] of placements.loads) if (other !== org && share(other, load) > own) return true;
  return false;
}

/** `first` was granted before the others had their turns. */
function isServed(request: PlaceRequest | undefined, without: string | undefined, first?: PlaceRequest): boolean {
  return request !== undefined && (request.uid === without || request === first);
}

/** Whether a request that has just come waits behind an older one that needs more room than there is. */
export function isBehind(
  placements: Placements,
  { attempt }: PlaceRequest,
  capacity: ResourceAmounts,
  now: number,
): boolean {
  const everFits = ({ amounts }: PlaceRequest): boolean => hasRoomFor(amounts, NOTHING, capacity);
  const first = placements.gathering(now);
  if (first !== undefined && everFits(first)) return true;
  let looked = 0;
  for (const [oldest] of placements.orgs.get(attempt.org)?.values() ?? []) {
    if (oldest !== undefined && isStarving(oldest, now) && everFits(oldest)) return true;
    looked += 1;
    if (looked >= MAX_MISSES) return false;
  }
  return false;
}

function* openOrgs(placements: Placements): Generator<OrgTurn> {
  for (const owners of placements.orgs.values()) yield { owners: new Turns(openOwners(owners)), misses: 0 };
}

function* openOwners(owners: OrgQueue): Generator<OwnerTurn> {
  for (const queue of owners.values()) yield { queue, at: 0 };
}
