/**
 * The socket side of one watch: ready-made chunks straight to the socket, and the decision that a receiver is too
 * slow. `ServerResponse.write` would frame the same bytes again for each of a thousand watchers (three writes and a
 * cork per event); the head and the end of the answer still go through it.
 *
 * I10: at most HARD_BYTES wait for a receiver, and more than SOFT_BYTES for at most SLOW_MS; then the connection is cut
 * without an ERROR event, so that the client resumes at the last version it has read. The buffers are shared; what they
 * hold of an org's memory `waiting.ts` counts, and a watch that it names is cut as well.
 */
import type { ServerResponse } from 'node:http';
import { payload } from './frames.js';
import type { Piece, Waiting } from './waiting.js';

/** Waiting for a receiver when the next piece of what is already there (initial state, history) is read. */
const AHEAD_BYTES = 256 * 1024;
const SOFT_BYTES = 2 * 1024 * 1024;
const HARD_BYTES = 16 * 1024 * 1024;
const SLOW_MS = 5_000;

interface Held {
  readonly piece: Piece;
  /** Of all that was ever sent, up to the end of this piece. */
  readonly end: number;
}

export class Sender {
  readonly #res: ServerResponse;
  readonly #org: string;
  readonly #waiting: Waiting;
  /** What was offered and the receiver has not taken, oldest first. */
  readonly #held: Held[] = [];
  #sent = 0;
  /** performance.now() since when more than SOFT_BYTES wait. */
  #slowSince: number | undefined;
  #ended = false;

  /** Sends the head at once. */
  constructor(
    org: string,
    waiting: Waiting,
    res: ServerResponse,
    headers: Readonly<Record<string, string | string[]>>,
  ) {
    this.#org = org;
    this.#waiting = waiting;
    this.#res = res;
    res.writeHead(200, headers);
    res.flushHeaders();
  }

  get open(): boolean {
    return !this.#ended && !this.#res.destroyed;
  }

  /** Chunks as made by `frames.ts`, which others may share. False when it is over or the receiver is too slow: cut it. */
  offer(chunks: readonly Buffer[]): boolean {
    if (chunks.length === 0) return true;
    if (!this.open || this.tooSlow(performance.now())) return false;
    let end = this.#sent;
    const { socket } = this.#res;
    if (chunks.length > 1) socket?.cork();
    for (const bytes of chunks) this.send(bytes);
    if (chunks.length > 1) socket?.uncork();
    const unsent = this.#unsent();
    // Most receivers have taken it by now: the system's buffers have room.
    if (unsent === 0) return true;
    for (const bytes of chunks) {
      end += bytes.length;
      if (end > this.#sent - unsent) this.#held.push({ piece: this.#waiting.hold(this.#org, bytes), end });
    }
    return true;
  }

  /** One chunk as made by `frames.ts`. False when it is over. */
  send(bytes: Buffer): boolean {
    if (bytes.length === 0) return true;
    if (!this.open) return false;
    const { socket } = this.#res;
    // Behind an unfinished answer on the same connection (pipelining), or over HTTP/1.0, there is no chunked socket yet.
    const chunked = socket !== null && this.#res.chunkedEncoding;
    const body = chunked ? bytes : payload(bytes);
    this.#sent += body.length;
    if (chunked) socket.write(body);
    else this.#res.write(body);
    return true;
  }

  /** Too much waits for this receiver, or for its org (`tooMuch`). */
  tooSlow(now: number): boolean {
    if (this.tooMuch()) return true;
    const unsent = this.#unsent();
    if (unsent <= SOFT_BYTES) {
      this.#slowSince = undefined;
      return false;
    }
    this.#slowSince ??= now;
    return unsent > HARD_BYTES || now - this.#slowSince > SLOW_MS;
  }

  /** Too much waits for the org, and this receiver is one of its slowest. */
  tooMuch(): boolean {
    if (this.#held.length === 0) return false;
    const unsent = this.#unsent();
    this.#release(unsent === 0 ? Infinity : this.#sent - unsent);
    const oldest = this.#held[0];
    return oldest !== undefined && this.#waiting.tooOld(oldest.piece);
  }

  #unsent(): number {
    return this.#res.socket?.writableLength ?? this.#res.writableLength;
  }

  #release(taken: number): void {
    let count = 0;
    for (const { piece, end } of this.#held) {
      if (end > taken) break;
      this.#waiting.release(piece);
      count += 1;
    }
    if (count > 0) this.#held.splice(0, count);
  }

  /** The connection is gone, and what waited with it. */
  forget(): void {
    this.#release(Infinity);
  }

  /**
   * Resolves when the next piece may be read, or it is over. For the initial state and for catching up: live changes are
   * never held back. A receiver that takes nothing at all is cut (`Exchange.cutWhenStalled`), which ends the wait.
   */
  async drained(signal: AbortSignal): Promise<void> {
    const { socket } = this.#res;
    if (socket === null || signal.aborted || socket.writableLength <= AHEAD_BYTES || !this.open) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        socket.off('drain', done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      socket.on('drain', done);
      signal.addEventListener('abort', done);
    });
  }

  /** The stream has come to its end. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!this.#res.destroyed) this.#res.end();
  }

  /** Cuts the connection. */
  cut(): void {
    this.#ended = true;
    this.#res.destroy();
    this.forget();
  }
}
