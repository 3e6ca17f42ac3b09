/**
 * Keeps what a command writes until it is answered as a whole: of each stream its first bytes, copied together, so that what is kept
 * costs its bytes and neither their number of pieces nor the buffers that they came in.
 *
 * I10: KEPT_BYTES of each stream, counted in the memory of answers (`answer-memory.ts`) as they come, but for FIRST_BLOCK, which is part
 * of what a stream costs anyway: small output is kept whatever the others of its org hold. What finds no room is dropped, as is what is
 * beyond KEPT_BYTES, and so is all that comes behind it in that stream.
 */
import type { HeldBytes } from './answer-memory.js';

/** Of each stream. */
export const KEPT_BYTES = 8 * 1024 * 1024;
const FIRST_BLOCK = 4 * 1024;
/** Blocks double up to this: a stream has at most so many bytes more than it keeps. */
const LARGEST_BLOCK = 64 * 1024;

export class KeptOutput {
  /** Not all of it was kept. */
  cut = false;
  /** Not all of it was kept, because the answers of the org hold too much. */
  foundNoRoom = false;
  /** Bytes that are kept. */
  size = 0;
  readonly #memory: HeldBytes;
  readonly #full: Buffer[] = [];
  #block = Buffer.alloc(0);
  #used = 0;

  constructor(memory: HeldBytes) {
    this.#memory = memory;
  }

  add(data: Uint8Array): void {
    for (let from = 0; from < data.length && !this.cut;) {
      if (this.#used === this.#block.length && !this.#begin()) return;
      const part = data.subarray(from, from + this.#block.length - this.#used);
      this.#block.set(part, this.#used);
      this.#used += part.length;
      this.size += part.length;
      from += part.length;
    }
  }

  /** In the order in which they came. */
  blocks(): readonly Buffer[] {
    return [...this.#full, this.#block.subarray(0, this.#used)];
  }

  /** The next block; false: nothing more is kept. */
  #begin(): boolean {
    const wanted = this.size === 0 ? FIRST_BLOCK : Math.min(LARGEST_BLOCK, this.#block.length * 2);
    const bytes = Math.min(wanted, KEPT_BYTES - this.size);
    this.foundNoRoom = bytes > 0 && this.size > 0 && !this.#memory.hold(bytes);
    this.cut = bytes === 0 || this.foundNoRoom;
    if (this.cut) return false;
    if (this.#used > 0) this.#full.push(this.#block);
    this.#block = Buffer.allocUnsafeSlow(bytes);
    this.#used = 0;
    return true;
  }
}
