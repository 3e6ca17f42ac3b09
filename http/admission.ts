/**
 * Bounds the requests that are worked on at once, and the bodies that are held in memory for them: in all, of one org and
 * of one credential, so that no key or org can take the places of the others.
 *
 * A request holds a place in flight from its authentication to its answer, except while it waits for its body: a client
 * that sends slowly costs a connection and what it has sent, and is counted among the waiting ones of its key and org,
 * which have bounds of their own of the same size. Streams leave their place (`streams.ts` bounds them). Health, metrics
 * and documents never take one.
 *
 * I10: when a bound is reached, the answer is 429 with Retry-After. Counters of keys and orgs without requests are dropped.
 */
import { refuse } from '../src/api/refusal.js';
import type { Caller } from '../actors/resource-service.js';

export interface AdmissionSettings {
  /** Requests in flight, in all and of one org and of one credential. */
  readonly all: number;
  readonly org: number;
  readonly key: number;
  /** Bytes of bodies in memory, in all; one org may hold half of them. */
  readonly bodyBytes: number;
}

export interface Admission {
  /** Takes a place in flight, or refuses with TooManyRequests. */
  enter(caller: Caller): Place;
}

export interface Place {
  /** The request waits for its body: it gives its place in flight free. Refuses when too many of its key or org wait. */
  awaitBody(): void;
  /** The body is there: takes a place in flight again, or refuses. */
  resume(): void;
  /** Bytes of its body are kept until the end. False: there is no room for them. */
  hold(bytes: number): boolean;
  /** It is a stream from now on. Harmless twice. */
  leave(): void;
  /** The request is over. Harmless twice. */
  end(): void;
}

interface Load {
  inFlight: number;
  waiting: number;
  bytes: number;
  /** Requests that are not over, streams too. */
  open: number;
}

export function openAdmission(settings: AdmissionSettings): Admission {
  const all: Load = { inFlight: 0, waiting: 0, bytes: 0, open: 0 };
  const orgs = new Map<string, Load>();
  const keys = new Map<string, Load>();

  function loadOf(loads: Map<string, Load>, id: string): Load {
    let load = loads.get(id);
    if (load === undefined) loads.set(id, (load = { inFlight: 0, waiting: 0, bytes: 0, open: 0 }));
    return load;
  }

  function enter({ org, holder }: Caller): Place {
    const ofOrg = loadOf(orgs, org);
    const key = `${org}/${holder}`;
    const ofKey = loadOf(keys, key);
    const loads = [all, ofOrg, ofKey] as const;
    for (const load of loads) load.open += 1;
    let counted: 'inFlight' | 'waiting' | undefined;
    let held = 0;
    let over = false;

    function move(to: typeof counted): void {
      if (over) return;
      for (const load of loads) {
        if (counted !== undefined) load[counted] -= 1;
        if (to !== undefined) load[to] += 1;
      }
      counted = to;
    }

    function fly(): void {
      if (ofKey.inFlight >= settings.key) throw tooMany('of this credential', settings.key, KEY);
      if (ofOrg.inFlight >= settings.org) throw tooMany('of this org', settings.org, ORG);
      if (all.inFlight >= settings.all) throw tooMany('in all', settings.all, ALL);
      move('inFlight');
    }

    function end(): void {
      if (over) return;
      move(undefined);
      over = true;
      for (const load of loads) {
        load.bytes -= held;
        load.open -= 1;
      }
      if (ofOrg.open === 0) orgs.delete(org);
      if (ofKey.open === 0) keys.delete(key);
    }

    try {
      fly();
    } catch (error) {
      end();
      throw error;
    }
    return {
      awaitBody() {
        if (ofKey.waiting >= settings.key) throw tooMany('of this credential, waiting for bodies', settings.key, KEY);
        if (ofOrg.waiting >= settings.org) throw tooMany('of this org, waiting for bodies', settings.org, ORG);
        move('waiting');
      },
      resume: fly,
      hold(bytes) {
        if (over) return false;
        if (all.bytes + bytes > settings.bodyBytes || ofOrg.bytes + bytes > settings.bodyBytes / 2) return false;
        held += bytes;
        for (const load of loads) load.bytes += bytes;
        return true;
      },
      leave: () => move(undefined),
      end,
    };
  }

  return { enter };
}

const ALL = 'TROUPE_IN_FLIGHT_REQUESTS';
const ORG = 'TROUPE_ORG_IN_FLIGHT_REQUESTS';
const KEY = 'TROUPE_KEY_IN_FLIGHT_REQUESTS';

function tooMany(whose: string, bound: number, setting: string): Error {
  return refuse('TooManyRequests', `${bound} requests ${whose} are in flight, which is the limit`, {
    retryAfterSeconds: 1,
    fix: `Send fewer at once. The operator's setting is ${setting}.`,
  });
}
