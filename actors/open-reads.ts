/** Opens what reads objects: the cache, and the turns in which single objects, lists and stored answers are read from Postgres. */
import type { Address } from '../src/api/address.js';
import { openCache } from './cache.js';
import type { ActorsDeps } from './deps.js';
import { answersInTurns, inTurns, openReadTurns } from './read-turns.js';
import { readObject } from './reads.js';
import { CROWD_OF_LISTS, openSlices } from './slices.js';

/** Lists that read from Postgres at once; the other readers are left to single objects. */
const LISTS_READING = 4;
/** Single reads at once: as many as Postgres has readers (`storage/postgres.ts`). An org has half of them. */
const SINGLE_READS = 8;
/** Longest wait of a single read for its place (ms): as for a connection. */
const SINGLE_READ_WAIT_MS = 5_000;

export function openReads(deps: Pick<ActorsDeps, 'objects' | 'responses' | 'settings'>) {
  const cache = openCache(deps.settings.cacheBytes);
  const singleRead = openReadTurns({ places: SINGLE_READS, shared: true, waitMs: SINGLE_READ_WAIT_MS });
  const objects = inTurns(deps.objects, singleRead);
  const turn = openReadTurns({ places: LISTS_READING, shared: false });
  return {
    cache,
    objects,
    responses: answersInTurns(deps.responses, singleRead),
    /** What lists are read with. */
    lists: { cache, objects, slices: openSlices(CROWD_OF_LISTS), turn },
    read: (address: Address): Promise<Buffer | undefined> => readObject(address, { cache, objects }),
  };
}
