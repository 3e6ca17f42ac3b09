/**
 * Owns the count and the end of long answers: watches, followed logs, transfers. A drain ends them cleanly.
 *
 * I10: at most `max` at once (10 to 20 kB each); one more is 429 with Retry-After. A sweep each second gives every stream
 * its turn for what is due (bookmark, timeout, slowness), so that ten thousand watches need one timer and not thirty thousand.
 */
import { refuse } from '../src/api/refusal.js';
import type { Exchange } from './exchange.js';

export interface Stream {
  /** Called once a second. `now` is performance.now(). */
  sweep?(now: number): void;
  /** The service drains: end the answer as if it had come to its end. */
  end(): void;
}

export interface Streams {
  /**
   * Registers, and gives the request's place in flight free: from now on it counts here. The returned function takes it
   * out again. Refuses with TooManyRequests when full.
   */
  add(x: Exchange, stream: Stream): () => void;
  readonly count: number;
  /** Ends all. New ones are refused by the drain itself. */
  endAll(): void;
  close(): void;
}

export function openStreams(max: number): Streams {
  const open = new Set<Stream>();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const stream of open) stream.sweep?.(now);
  }, 1000);
  timer.unref();

  return {
    add(x, stream) {
      if (open.size >= max) throw refuse('TooManyRequests', 'too many streams are open', { retryAfterSeconds: 5 });
      open.add(stream);
      x.leaveFlight();
      return () => {
        open.delete(stream);
      };
    },
    get count() {
      return open.size;
    },
    endAll() {
      for (const stream of [...open]) stream.end();
    },
    close() {
      clearInterval(timer);
    },
  };
}
