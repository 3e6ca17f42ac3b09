/**
 * Owns whose turn it is: due deliveries wait here, endpoint by endpoint, and go out in turns, so many at once in all and so
 * many per endpoint. A slow receiver fills its own places and its own queue, and nobody else's. One that does not answer gets
 * fewer places with each attempt, down to one, and more again when it does: a handful of dead receivers must not hold all
 * places for as long as an attempt may take. Pure bookkeeping.
 *
 * I10: full (for one endpoint or for all) means that a delivery is not taken; its row waits in storage.
 */
import { LRUCache } from 'lru-cache';
import type { PendingDelivery } from '../../storage/webhooks/deliveries.js';

export const AT_ONCE = 64;
export const AT_ONCE_PER_ENDPOINT = 8;
/** Waiting deliveries in memory: seconds of work at full speed, and few enough for their bodies. */
const MOST_WAITING = 10_000;
const MOST_WAITING_PER_ENDPOINT = 1_000;
/** Characters of waiting bodies. */
const MOST_CHARACTERS = 32 * 2 ** 20;
const MOST_CHARACTERS_PER_ENDPOINT = 8 * 2 ** 20;
/** Endpoints of which it is remembered that they do not answer; the longest unused is given all its places again. */
const MOST_SLOWED = 4_096;

export interface Turns {
  /** `Full`: not taken. A delivery that is known already is not taken twice. */
  offer(delivery: PendingDelivery): 'Taken' | 'Known' | 'Full';
  /** The next one to send, which has a place from now on; undefined while none may go. */
  take(): PendingDelivery | undefined;
  /** Its place is free; it stays known until `forget`. `answered`: the receiver did, whatever it said. */
  free(delivery: PendingDelivery, answered: boolean): void;
  /** Its row says what became of it. */
  forget(delivery: PendingDelivery): void;
  /** How many wait for the endpoint. */
  waiting(endpoint: string): number;
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

export function openTurns(): Turns {
  const queues = new Map<string, Queue>();
  /** Endpoints that may go next, in the order of their turns. */
  const ready = new Set<string>();
  let waiting = 0;
  let characters = 0;
  let inHand = 0;

  /** How many places an endpoint has, when not all. */
  const places = new LRUCache<string, number>({ max: MOST_SLOWED });

  const lengthOf = (queue: Queue): number => queue.waiting.length - queue.first;
  const placesOf = (endpoint: string): number => places.get(endpoint) ?? AT_ONCE_PER_ENDPOINT;

  function line(endpoint: string, queue: Queue): void {
    if (lengthOf(queue) > 0 && queue.inHand < placesOf(endpoint)) ready.add(endpoint);
    else ready.delete(endpoint);
  }

  function resize(endpoint: string, answered: boolean): void {
    const now = placesOf(endpoint);
    const next = answered ? now * 2 : Math.max(1, Math.floor(now / 2));
    if (next >= AT_ONCE_PER_ENDPOINT) places.delete(endpoint);
    else places.set(endpoint, next);
  }

  function queueOf(endpoint: string): Queue {
    let queue = queues.get(endpoint);
    if (queue === undefined) {
      queue = { waiting: [], first: 0, characters: 0, inHand: 0, known: new Set() };
      queues.set(endpoint, queue);
    }
    return queue;
  }

  function shift(queue: Queue): PendingDelivery | undefined {
    const next = queue.waiting[queue.first];
    if (next === undefined) return undefined;
    queue.first += 1;
    if (queue.first > 64 && queue.first * 2 > queue.waiting.length) {
      queue.waiting.splice(0, queue.first);
      queue.first = 0;
    }
    queue.characters -= next.body.length;
    characters -= next.body.length;
    waiting -= 1;
    return next;
  }

  function isFull(queue: Queue | undefined, more: number): boolean {
    if (waiting >= MOST_WAITING || (waiting > 0 && characters + more > MOST_CHARACTERS)) return true;
    if (queue === undefined) return false;
    const length = lengthOf(queue);
    return (
      length >= MOST_WAITING_PER_ENDPOINT || (length > 0 && queue.characters + more > MOST_CHARACTERS_PER_ENDPOINT)
    );
  }

  return {
    offer(delivery) {
      const there = queues.get(delivery.endpoint);
      if (there?.known.has(delivery.id)) return 'Known';
      if (isFull(there, delivery.body.length)) return 'Full';
      const queue = queueOf(delivery.endpoint);
      queue.known.add(delivery.id);
      queue.waiting.push(delivery);
      queue.characters += delivery.body.length;
      characters += delivery.body.length;
      waiting += 1;
      line(delivery.endpoint, queue);
      return 'Taken';
    },
    take() {
      if (inHand >= AT_ONCE) return undefined;
      const [endpoint] = ready;
      if (endpoint === undefined) return undefined;
      ready.delete(endpoint);
      const queue = queueOf(endpoint);
      const next = shift(queue);
      if (next === undefined) return undefined;
      queue.inHand += 1;
      inHand += 1;
      // To the end of the line, since it was taken out above.
      line(endpoint, queue);
      return next;
    },
    free({ endpoint }, answered) {
      const queue = queueOf(endpoint);
      queue.inHand -= 1;
      inHand -= 1;
      resize(endpoint, answered);
      line(endpoint, queue);
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
    known: (endpoints) => endpoints.flatMap((endpoint) => [...(queues.get(endpoint)?.known ?? [])]),
    inHand: () => inHand,
    size: () => waiting,
  };
}
