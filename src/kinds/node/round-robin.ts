/**
 * Who gets a place next: plans grants over placements that it does not change.
 *
 * A request that does not fit may be passed by smaller ones for as long as it is young; once it has waited for
 * `PATIENCE_MS` it holds the turn, so that room gathers for it and nothing large starves.
 */
import type { ResourceAmounts } from '../amounts.js';
import { add, hasRoomFor, NOTHING, type Load } from './amounts.js';
import type { OrgQueue, PlaceRequest, Placements } from './placements.js';

export const STARVATION_MS = 60_000;

/** Requests that do not fit which one plan looks at before it gives up: bounds the cost of a release. */
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
}

/**
 * The requests to grant now, in order. `load` is what is in use; `without` has already left and is passed over.
 */
export function planGrants(
  placements: Placements,
  load: Load,
  capacity: ResourceAmounts,
  now: number,
  without: string | undefined,
): readonly PlaceRequest[] {
  const granted: PlaceRequest[] = [];
  const orgs = new Turns(openOrgs(placements));
  let used = load;
  let misses = 0;
  for (let org = orgs.next(); org !== undefined; org = orgs.next()) {
    for (let owner = org.owners.next(); owner !== undefined; owner = org.owners.next()) {
      if (owner.queue[owner.at]?.uid === without) owner.at += 1;
      const request = owner.queue[owner.at];
      if (request === undefined) continue; // this owner has nobody left, the org has another
      if (hasRoomFor(request.amounts, used, capacity)) {
        granted.push(request);
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
      misses += 1;
      if (misses >= MAX_MISSES || now - request.since >= STARVATION_MS) return granted;
    }
  }
  return granted;
}

function* openOrgs(placements: Placements): Generator<OrgTurn> {
  for (const owners of placements.orgs.values()) yield { owners: new Turns(openOwners(owners)) };
}

function* openOwners(owners: OrgQueue): Generator<OwnerTurn> {
  for (const queue of owners.values()) yield { queue, at: 0 };
}
