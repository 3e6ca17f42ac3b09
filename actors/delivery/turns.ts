/**
 * Decides which due delivery goes out next. They wait here by org and endpoint and go out in turns: org after org, and within
 * an org endpoint after endpoint, so many at once in all, per org and per endpoint. A slow receiver fills its own places and
 * its own queue, and an org with a thousand of them its own share. An endpoint that does not answer soon gets fewer places with
 * each attempt, and so does its org, and more again when it does: dead receivers must not hold places for as long as an attempt
 * may take. Pure bookkeeping.
 *
 * I10: full (for one endpoint, one org or all) means that a delivery is not taken; its row waits in storage. The first of an
 * org is always taken, so that others' deliveries keep none of it out.
 */
import { LRUCache } from 'lru-cache';
import type { PendingDelivery } from '../../storage/webhooks/deliveries.js';
import { atMost } from '../../src/lru-bound.js';

export const AT_ONCE = 64;
export const AT_ONCE_PER_ORG = 32;
export const AT_ONCE_PER_ENDPOINT = 8;
/** Of an org whose receivers do not answer. */
export const LEAST_PER_ORG = 4;
/** Waiting deliveries in memory: seconds of work at full speed, and few enough for their bodies. */
const MOST_WAITING = 10_000;
const MOST_WAITING_PER_ORG = 2_500;
const MOST_WAITING_PER_ENDPOINT = 1_000;
/** Characters of waiting bodies. */
const MOST_CHARACTERS = 32 * 2 ** 20;
const MOST_CHARACTERS_PER_ORG = 12 * 2 ** 20;
const MOST_CHARACTERS_PER_ENDPOINT = 8 * 2 ** 20;
/** Endpoints and orgs of which it is remembered that they do not answer; the longest unused is given all its places again. */
const MOST_SLOWED = 4_096;

export interface DeliveryTurns {
  /** `Full`: not taken. A delivery that is known already is not taken twice. */
  offer(delivery: PendingDelivery): 'Taken' | 'Known' | 'Full';
  /** The next one to send, which has a place from now on; undefined while none may go. */
  take(): PendingDelivery | undefined;
  /** Its place is free; it stays known until `forget`. `answered`: the receiver did so soon, whatever it said. */
  free(delivery: PendingDelivery, answered: boolean): void;
  /** Its row says what became of it. */
  forget(delivery: PendingDelivery): void;
  /** How many wait for the endpoint. */
  waiting(endpoint: string): number;
  /** Whether one more of this org would be taken: else its rows need not be read. */
  hasRoom(org: string): boolean;
  /** Ids of what waits or is in hand for these endpoints. */
  known(endpoints: readonly string[]): string[];
  /** In hand now, over all endpoints. */
  inHand(): number;
  size(): number;
}

interface Queue {
  readonly waiting: PendingDelivery[];
  /** Index of the first one that waits: a long queue is not moved for each. */
  first: number;
  characters: number;
  inHand: number;
  readonly known: Set<string>;
}

interface Share {
  waiting: number;
  characters: number;
  inHand: number;
  /** Endpoints that may go next, in the order of their turns. */
  readonly ready: Set<string>;
}

export function openDeliveryTurns(): DeliveryTurns {
  const queues = new Map<string, Queue>();
  const shares = new Map<string, Share>();
  /** Orgs that may go next, in the order of their turns. */
  const ready = new Set<string>();
  let waiting = 0;
  let characters = 0;
  let inHand = 0;
  const endpointPlaces = openPlaces(AT_ONCE_PER_ENDPOINT, 1);
  const orgPlaces = openPlaces(AT_ONCE_PER_ORG, LEAST_PER_ORG);

  const lengthOf = (queue: Queue): number => queue.waiting.length - queue.first;

  /** Puts the endpoint, and with it the org, into its line, at the end when it is not in it, or takes it out. */
  function line(org: string, endpoint: string, share: Share, queue: Queue): void {
    keep(share.ready, endpoint, lengthOf(queue) > 0 && queue.inHand < endpointPlaces.of(endpoint));
    keep(ready, org, share.ready.size > 0 && share.inHand < orgPlaces.of(org));
  }

  function queueOf(endpoint: string): Queue {
    let queue = queues.get(endpoint);
    if (queue === undefined) {
      queue = { waiting: [], first: 0, characters: 0, inHand: 0, known: new Set() };
      queues.set(endpoint, queue);
    }
    return queue;
  }

  function shareOf(org: string): Share {
    let share = shares.get(org);
    if (share === undefined) {
      share = { waiting: 0, characters: 0, inHand: 0, ready: new Set() };
      shares.set(org, share);
    }
    return share;
  }

  function shift(share: Share, queue: Queue): PendingDelivery | undefined {
    const next = queue.waiting[queue.first];
    if (next === undefined) return undefined;
    queue.first += 1;
    if (queue.first > 64 && queue.first * 2 > queue.waiting.length) {
      queue.waiting.splice(0, queue.first);
      queue.first = 0;
    }
    count(share, queue, next, -1);
    return next;
  }

  function count(share: Share, queue: Queue, { body }: PendingDelivery, by: 1 | -1): void {
    queue.characters += by * body.length;
    share.waiting += by;
    share.characters += by * body.length;
    waiting += by;
    characters += by * body.length;
  }

  function isFull(share: Share | undefined, queue: Queue | undefined, more: number): boolean {
    if (share === undefined || share.waiting === 0) return false;
    if (waiting >= MOST_WAITING || characters + more > MOST_CHARACTERS) return true;
    if (share.waiting >= MOST_WAITING_PER_ORG || share.characters + more > MOST_CHARACTERS_PER_ORG) return true;
    if (queue === undefined || lengthOf(queue) === 0) return false;
    return lengthOf(queue) >= MOST_WAITING_PER_ENDPOINT || queue.characters + more > MOST_CHARACTERS_PER_ENDPOINT;
  }

  return {
    offer(delivery) {
      const { org, endpoint, id, body } = delivery;
      const there = queues.get(endpoint);
      if (there?.known.has(id)) return 'Known';
      if (isFull(shares.get(org), there, body.length)) return 'Full';
      const queue = queueOf(endpoint);
      const share = shareOf(org);
      queue.known.add(id);
      queue.waiting.push(delivery);
      count(share, queue, delivery, 1);
      line(org, endpoint, share, queue);
      return 'Taken';
    },
    take() {
      if (inHand >= AT_ONCE) return undefined;
      const [org] = ready;
      if (org === undefined) return undefined;
      const share = shareOf(org);
      const [endpoint] = share.ready;
      if (endpoint === undefined) return undefined;
      // Both go to the end of their lines.
      ready.delete(org);
      share.ready.delete(endpoint);
      const queue = queueOf(endpoint);
      const next = shift(share, queue);
      if (next === undefined) return undefined;
      queue.inHand += 1;
      share.inHand += 1;
      inHand += 1;
      line(org, endpoint, share, queue);
      return next;
    },
    free({ org, endpoint }, answered) {
      const queue = queueOf(endpoint);
      const share = shareOf(org);
      queue.inHand -= 1;
      share.inHand -= 1;
      inHand -= 1;
      endpointPlaces.resize(endpoint, answered);
      orgPlaces.resize(org, answered);
      line(org, endpoint, share, queue);
      if (share.waiting === 0 && share.inHand === 0) shares.delete(org);
    },
    forget({ endpoint, id }) {
      const queue = queues.get(endpoint);
      queue?.known.delete(id);
      if (queue?.known.size === 0) queues.delete(endpoint);
    },
    waiting(endpoint) {
      const queue = queues.get(endpoint);
      return queue === undefined ? 0 : lengthOf(queue);
    },
    hasRoom: (org) => !isFull(shares.get(org), undefined, 0),
    known: (endpoints) => endpoints.flatMap((endpoint) => [...(queues.get(endpoint)?.known ?? [])]),
    inHand: () => inHand,
    size: () => waiting,
  };
}

function keep(line: Set<string>, name: string, isIn: boolean): void {
  if (isIn) line.add(name);
  else line.delete(name);
}

interface Places {
  of(name: string): number;
  resize(name: string, answered: boolean): void;
}

/** Half as many with each attempt that is not answered soon, down to `least`; twice as many with each that is. */
function openPlaces(all: number, least: number): Places {
  const fewer = new LRUCache<string, number>(atMost(MOST_SLOWED));
  const of = (name: string): number => fewer.get(name) ?? all;
  return {
    of,
    resize(name, answered) {
      const next = answered ? of(name) * 2 : Math.max(least, Math.floor(of(name) / 2));
      if (next >= all) fewer.delete(name);
      else fewer.set(name, next);
    },
  };
}
