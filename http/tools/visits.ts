/**
 * Owns who may use a tool in a browser: links that open one once, and the visits that come of them, known by a cookie. Both are
 * values that nobody can guess, kept by their hash, in the memory of the active process: a restart of the service ends
 * visits, and a new link begins the next.
 *
 * A visit holds what its link was made for (one tool of one Workspace at one epoch, I8) and the hash of the credential that made it:
 * it may never do more than that one may at the moment.
 * I10: MOST of each; beyond it the one that was used longest ago goes.
 */
import { LRUCache } from 'lru-cache';
import type { Address } from '../../src/api/address.js';
import { sha256 } from '../../src/api/sha256.js';
import type { BrowserTool } from '../../src/kinds/workspace/connect.js';

export interface Visit {
  readonly owner: Address;
  /** Of the Workspace. */
  readonly uid: string;
  readonly epoch: number;
  readonly tool: BrowserTool;
  /** Name of the program that is the tool in this image. */
  readonly program: string;
  /** SHA-256 of the API key or token by which the link was made. */
  readonly credential: string;
}

export interface Visits {
  /** A link's value, good once until LINK_SECONDS have passed. */
  invite(visit: Visit): string;
  /** Takes a link's value at this place; answers the visit's. Undefined: it is no such link, or it was used. */
  begin(link: string, place: string): string | undefined;
  find(value: string, place: string): Visit | undefined;
}

export const LINK_SECONDS = 300;
/** A working day; also the life of the cookie. */
export const VISIT_SECONDS = 12 * 3_600;
/** About 0.5 kB each. */
const MOST = 10_000;
const VALUE_BYTES = 32;
/** What a value looks like: anything else is not worth hashing. */
const VALUE = /^[A-Za-z0-9_-]{43}$/;

/** `placeOf` is the one that a visit is for: a value means nothing at any other. */
export function openVisits(placeOf: (visit: Visit) => string, randomBytes: (length: number) => Uint8Array): Visits {
  const links = new LRUCache<string, Visit>({ max: MOST, ttl: LINK_SECONDS * 1_000 });
  const visits = new LRUCache<string, Visit>({ max: MOST, ttl: VISIT_SECONDS * 1_000 });

  function keep(where: LRUCache<string, Visit>, visit: Visit): string {
    const value = Buffer.from(randomBytes(VALUE_BYTES)).toString('base64url');
    where.set(sha256(value), visit);
    return value;
  }

  function look(where: LRUCache<string, Visit>, value: string, place: string): Visit | undefined {
    const visit = VALUE.test(value) ? where.get(sha256(value)) : undefined;
    return visit !== undefined && placeOf(visit) === place ? visit : undefined;
  }

  return {
    invite: (visit) => keep(links, visit),
    begin(link, place) {
      const visit = look(links, link, place);
      if (visit === undefined) return undefined;
      links.delete(sha256(link));
      return keep(visits, visit);
    },
    find: (value, place) => look(visits, value, place),
  };
}
