/**
 * Writes a long answer with back-pressure: one `drain` and one `close` listener per answer for its whole life
 * (a pair per chunk leaks thousands of them on a long list). `write` says whether to wait, `drained` waits until more may be written,
 * `taken` until the system has taken all of it.
 */
import type { Writable } from 'node:stream';

export class Outflow {
  readonly #res: Writable;
  #wake: (() => void) | undefined;
  #closed = false;
  #full = false;
  /** Chunks that the system has not taken. */
  #untaken = 0;
  #wakeTaken: (() => void) | undefined;

  constructor(res: Writable) {
    this.#res = res;
    this.#closed = res.destroyed;
    res.on('drain', () => {
      this.#full = false;
      this.#release();
    });
    res.on('close', () => {
      this.#closed = true;
      this.#release();
      this.#releaseTaken();
    });
  }

  /** True once the client is gone or the answer is over: stop producing. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Hands the chunk over. False: call `drained` before the next one. */
  write(chunk: Buffer | string): boolean {
    if (this.#closed) return false;
    this.#untaken += 1;
    if (!this.#res.write(chunk, this.#onTaken)) this.#full = true;
    return !this.#full;
  }

  readonly #onTaken = (): void => {
    this.#untaken -= 1;
    if (this.#untaken === 0) this.#releaseTaken();
  };

  /** Resolves when more may be written, or when it is over. One waiter at a time: the producer. */
  drained(): Promise<void> {
    if (this.#closed || !this.#full) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Resolves when no bytes of it wait here any more, or when it is over. One waiter at a time: the producer. */
  taken(): Promise<void> {
    if (this.#closed || this.#untaken === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wakeTaken = resolve;
    });
  }

  #release(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #releaseTaken(): void {
    const wake = this.#wakeTaken;
    this.#wakeTaken = undefined;
    wake?.();
  }
}
