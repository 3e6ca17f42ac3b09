/** Requests for places and placements of them, as tests of plans make them. */
import type { ResourceAmounts } from '../../../src/kinds/amounts.js';
import { NOTHING, type Capacity } from '../../../src/kinds/node/amounts.js';
import { Placements, type PlaceRequest } from '../../../src/kinds/node/placements.js';
import { planGrants } from '../../../src/kinds/node/round-robin.js';

export const CAPACITY: ResourceAmounts = { milliCpu: 4_000, memory: 1_000, disk: 1_000 };
export const NOW = 1_000_000;

let ids = 0;

export function ask(org: string, owner: string, since: number, milliCpu = 1_000): PlaceRequest {
  ids += 1;
  const uid = `u${String(ids).padStart(6, '0')}`;
  const at = { org, project: 'p' };
  return {
    uid,
    attempt: { ...at, kind: 'Attempt', name: uid },
    owner: { ...at, kind: 'Job', name: owner },
    since,
    amounts: { milliCpu, memory: 1, disk: 1 },
  };
}

export function bookOf(requests: readonly PlaceRequest[]): Placements {
  const book = new Placements();
  for (const request of requests) book.apply({ change: 'Waits', request });
  return book;
}

/** Who gets a place when everything fits one after another, as `org/owner`. */
export function order(book: Placements, capacity: Capacity): string[] {
  return planGrants(book, NOTHING, capacity, NOW, undefined).grants.map(
    ({ attempt, owner }) => `${attempt.org}/${owner.name}`,
  );
}
