/**
 * How many reads of one sort go to Postgres at once: part of its readers for lists, so that reads of single objects never
 * queue behind them; all of them for single reads, of which an org takes half. Orgs take turns (`effects/org-round-robin.ts`): many
 * reads of one org hold up those of another by one read for each place.
 *
 * I10: what waits is one entry for each list under way, and for each read of a request, a message or an effect; all of
 * these are bounded. A single read waits no longer than for a connection; then it is refused with Unavailable.
 */
import { refuse } from '../src/api/refusal.js';
import type { Objects, Responses } from '../storage/store.js';
import { OrgRoundRobin } from './effects/org-round-robin.js';

export type ReadTurn = <T>(org: string, read: () => Promise<T>) => Promise<T>;

export interface ReadTurnSettings {
  /** Reads at once. */
  readonly places: number;
  /** An org leaves as many places free as it holds. */
  readonly shared: boolean;
  /** Longest wait for a place (ms); undefined: as long as the others take. */
  readonly waitMs?: number | undefined;
}

interface Waiting {
  readonly org: string;
  begin(): void;
}

export function openReadTurns({ places, shared, waitMs }: ReadTurnSettings): ReadTurn {
  const turns = new OrgRoundRobin<Waiting>(places, shared);

  function placeFor(org: string): Promise<void> | undefined {
    let isFree = false;
    const granted = new Promise<void>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const one: Waiting = {
        org,
        begin() {
          isFree = true;
          clearTimeout(timer);
          resolve();
        },
      };
      turns.add(one);
      turns.take()?.begin();
      if (isFree || waitMs === undefined) return;
      timer = setTimeout(() => {
        turns.delete(one);
        reject(refuse('Unavailable', 'too many reads wait for storage', { retryAfterSeconds: 1 }));
      }, waitMs);
    });
    return isFree ? undefined : granted;
  }

  return async (org, read) => {
    const granted = placeFor(org);
    if (granted !== undefined) await granted;
    try {
      return await read();
    } finally {
      turns.release({ org });
      turns.take()?.begin();
    }
  };
}

/** The same store, whose reads of single objects take turns. Lists take theirs by themselves. */
export function inTurns(objects: Objects, turn: ReadTurn): Objects {
  return {
    ...objects,
    read: (address) => turn(address.org, () => objects.read(address)),
    ownedBy: (org, ...rest) => turn(org, () => objects.ownedBy(org, ...rest)),
    slots: (org, uid) => turn(org, () => objects.slots(org, uid)),
    slot: (org, uid, index) => turn(org, () => objects.slot(org, uid, index)),
    timers: (org, uid) => turn(org, () => objects.timers(org, uid)),
    count: (org) => turn(org, () => objects.count(org)),
  };
}

/** The same for stored answers: many keys that are sent again are as many reads. */
export function answersInTurns(responses: Responses, turn: ReadTurn): Responses {
  return { ...responses, find: (org, holder, key) => turn(org, () => responses.find(org, holder, key)) };
}
