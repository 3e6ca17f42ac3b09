/**
 * The queue of one actor: what waits, how long it has waited, and the bound.
 * nact delivers the wake-up only; its own mailbox never holds more than one message of ours.
 *
 * I10: `limit` items at most. A full mailbox refuses: a client's write is answered 503 with Retry-After, an internal
 * message stays in storage with the effect that carries it and is delivered again later.
 */
import type { Message } from '../src/kinds/machine.js';
import type { Prepared } from '../src/kinds/write/prepared.js';
import type { WriteReply, WriteRequest } from './resource-service.js';

/** What became of an internal message. */
export type Delivery =
  /** Decided, and what it changed is committed (or it changed nothing). */
  | 'Done'
  /** No object has the address, or another incarnation than the one it was for. It needs no other try. */
  | 'Absent'
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
      /** Only for this incarnation; undefined: for any incarnation. */
      readonly uid?: string | undefined;
      readonly since: number;
      settle(delivery: Delivery): void;
    };

/** A head index over an array: no shifting, and the array is dropped whenever it runs empty. */
export class Mailbox {
  readonly #limit: number;
  #items: Item[] = [];
  #head = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when it is full. */
  push(item: Item): boolean {
    if (this.size >= this.#limit) return false; // I10
    this.#items.push(item);
    return true;
  }

  peek(): Item | undefined {
    return this.#items[this.#head];
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  get size(): number {
    return this.#items.length - this.#head;
  }

  /** Milliseconds on the caller's clock at which the oldest item came; undefined when empty (I13). */
  oldest(): number | undefined {
    return this.#items[this.#head]?.since;
  }
}
