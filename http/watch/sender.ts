/**
 * Owns the socket side of one watch: ready-made chunks straight to the socket, and the decision that a receiver is too
 * slow. `ServerResponse.write` would frame the same bytes again for each of a thousand watchers (three writes and a
 * cork per event); the head and the end of the answer still go through it.
 *
 * I10: at most HARD_BYTES wait for a receiver, and more than SOFT_BYTES for at most SLOW_MS; then the connection is cut
 * without an ERROR event, so that the client resumes at the last version it has read. The buffers are shared, so a slow
 * watcher costs their memory only while it is the last to hold them.
 */
import type { ServerResponse } from 'node:http';

/** Waiting for a receiver when the next piece of what is already there (initial state, history) is read. */
const AHEAD_BYTES = 256 * 1024;
const SOFT_BYTES = 2 * 1024 * 1024;
const HARD_BYTES = 16 * 1024 * 1024;
const SLOW_MS = 5_000;

export class Sender {
  readonly #res: ServerResponse;
  /** performance.now() since when more than SOFT_BYTES wait. */
  #slowSince: number | undefined;
  #ended = false;

  /** Sends the head at once. */
  constructor(res: ServerResponse, headers: Record<string, string | string[]>) {
    this.#res = res;
    res.writeHead(200, headers);
    res.flushHeaders();
  }

  get open(): boolean {
    return !this.#ended && !this.#res.destroyed;
  }

  /** As `send`, and false when the receiver is too slow: cut it. */
  offer(bytes: Buffer): boolean {
    return bytes.length === 0 || (!this.tooSlow(performance.now()) && this.send(bytes));
  }

  /** One chunk as made by `frames.ts`. False when it is over. */
  send(bytes: Buffer): boolean {
    if (bytes.length === 0) return true;
    if (!this.open) return false;
    const { socket } = this.#res;
    // Behind an unfinished answer on the same connection (pipelining), or over HTTP/1.0, there is no chunked socket yet.
    if (socket !== null && this.#res.chunkedEncoding) socket.write(bytes);
    else this.#res.write(payload(bytes));
    return true;
  }

  tooSlow(now: number): boolean {
    const waiting = this.#res.socket?.writableLength ?? this.#res.writableLength;
    if (waiting <= SOFT_BYTES) {
      this.#slowSince = undefined;
      return false;
    }
    this.#slowSince ??= now;
    return waiting > HARD_BYTES || now - this.#slowSince > SLOW_MS;
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
  }
}

/** The bytes between the chunk's head and its end. */
function payload(bytes: Buffer): Buffer {
  return bytes.subarray(bytes.indexOf('\n') + 1, bytes.length - 2);
}
