/**
 * Owns the queue of one actor: what waits, how long it has waited, and the bound.
 * nact delivers the wake-up only; its own mailbox never holds more than one message of ours.
 *
 * I10: `limit` items at most. A full mailbox refuses: a client's write is answered 503 with Retry-After, an internal
 * message stays in storage with the effect that carries it and is delivered again later.
 */
import type { Message } from '../src/kinds/machine.js';
import type { Prepared } from '../src/kinds/write/prepared.js';
import type { WriteReply, WriteRequest } from './stage.js';

/** What became of an internal message. */
export type Delivery =
  /** Decided, and what it changed is committed (or it changed nothing). */
  | 'Done'
  /** The handler crashed on it; it was dropped. */
  | 'Dropped'
  /** Could not be taken or committed now; deliver it again later. */
  | 'Retry'
  /** The object is parked until an operator restarts it. */
  | 'Parked';

export type Item =
  | {
      readonly item: 'write';
      readonly request: WriteRequest;
      /** A create is prepared before it is queued, since it needs no current state. */
      readonly prepared?: Prepared | undefined;
      readonly since: number;
      settle(reply: WriteReply): void;
    }
  | {
      readonly item: 'message';
      readonly message: Message;
      /** Only for this incarnation; undefined: for whoever lives at the address. */
      readonly uid?: string | undefined;
      readonly since: number;
      settle(delivery: Delivery): void;
    };

export interface Mailbox {
  /** False when it is full. */
  push(item: Item): boolean;
  peek(): Item | undefined;
  shift(): Item | undefined;
  readonly size: number;
  /** Milliseconds on the caller's clock at which the oldest item came; undefined when empty (I13). */
  oldest(): number | undefined;
}

export function openMailbox(limit: number): Mailbox {
  // A head index over an array: no shifting, and the array is dropped whenever it runs empty.
  let items: Item[] = [];
  let head = 0;
  return {
    push(item) {
      if (items.length - head >= limit) return false; // I10
      items.push(item);
      return true;
    },
    peek: () => items[head],
    shift() {
      const item = items[head];
      if (item === undefined) return undefined;
      head += 1;
      if (head === items.length) {
        items = [];
        head = 0;
      } else if (head > 1024) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
    get size() {
      return items.length - head;
    },
    oldest: () => items[head]?.since,
  };
}
