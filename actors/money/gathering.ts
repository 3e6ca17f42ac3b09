/**
 * Lets money gather for work that is passed over again and again: a large piece that waits is passed by every smaller one that waits beside
 * it, for ever. Once it has waited for PASSED_MS, what waits behind it is not woken for GATHERING_MS, so that what is given back adds up; and
 * then not for PAUSE_MS, in which the others go on. So what never fits costs the others a sixth of their time at most.
 *
 * Nothing is held and no create is refused for it (I7: only money that live work holds refuses): what asks the ledger at that moment may
 * take what has gathered. Pure.
 */
import { USD } from '../../src/money/usd.js';
import type { CounterRoom } from '../../storage/ledger/limited-counters.js';

export const PASSED_MS = 10_000;
export const GATHERING_MS = 30_000;
export const PAUSE_MS = 150_000;

interface Waiting {
  readonly id: string;
  readonly wait: { readonly since: number; readonly neededUSD: string; readonly above?: string | undefined };
}

export interface Gathering {
  /** For which it is. Undefined: it is over, and nothing gathers before `again`. */
  readonly first: { readonly id: string; readonly since: number } | undefined;
  /** ms. */
  readonly until: number;
  readonly again: number;
}

type Room = Pick<CounterRoom, 'limitUSD' | 'availableUSD' | 'heldUSD'>;

/** What stands after `now`, with what waits (by id) and what is free now. Undefined: nothing gathers, and may begin to. */
export function gatheringNow(
  before: Gathering | undefined,
  entries: ReadonlyMap<string, Waiting>,
  room: Room,
  now: number,
): Gathering | undefined {
  if (before !== undefined && now < before.again) {
    const first = before.first && entries.get(before.first.id);
    const goes = first !== undefined && now < before.until && isPossible(first, room);
    return goes ? before : { ...before, first: undefined };
  }
  const found = passedOver(entries.values(), room, now);
  if (found === undefined) return undefined;
  const first = { id: found.id, since: found.wait.since };
  return { first, until: now + GATHERING_MS, again: now + GATHERING_MS + PAUSE_MS };
}

/** Whether it is not to be woken now. What was stopped waits for a higher limit and for nobody else. */
export function isBehind({ id, wait }: Waiting, { first }: Gathering): boolean {
  return first !== undefined && id !== first.id && wait.above === undefined && wait.since >= first.since;
}

/** What has waited longest of those that have never begun, do not fit now, and would if others gave back what they hold. */
function passedOver(entries: Iterable<Waiting>, room: Room, now: number): Waiting | undefined {
  let first: Waiting | undefined;
  for (const one of entries) {
    const { since, above, neededUSD } = one.wait;
    if (above !== undefined || now - since < PASSED_MS || since >= (first?.wait.since ?? Infinity)) continue;
    if (new USD(neededUSD).gt(room.availableUSD) && isPossible(one, room)) first = one;
  }
  return first;
}

function isPossible({ wait: { neededUSD } }: Waiting, { limitUSD, availableUSD, heldUSD }: Room): boolean {
  return limitUSD !== undefined && new USD(availableUSD).plus(heldUSD).gte(neededUSD);
}
