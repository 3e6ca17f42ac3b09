/**
 * The count and the end of long answers: watches, followed logs, transfers. A drain ends them cleanly.
 *
 * I10: at most `max` at once (10 to 20 kB each), half of them of one org, and `perKey` of one credential; one more is 429 with Retry-After. A sweep each second gives every stream
 * its turn for what is due (bookmark, timeout, slowness), so that ten thousand watches need one timer and not thirty thousand.
 *
 * A stream outlives its request's check, so each says what its caller must be allowed, and `revocation.ts` asks again.
 */
import { refuse } from '../src/api/refusal.js';
import type { Exchange } from './exchange.js';
import type { Revocable, Revocation } from './revocation.js';

/** Of a sweep, before other work has its turn (ms). */
const SLICE_MS = 5;

export interface Stream extends Revocable {
  /** Called once a second. `now` is performance.now(). */
  sweep?(now: number): void;
  /** The service drains: end the answer as if it had come to its end, unless it will soon. */
  end(): void;
  /** The time of the drain is over: say that it has not come to its end. */
  cut?(): void;
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
  /** Of those that go on after `endAll`. */
  cutAll(): void;
  close(): void;
}

export function openStreams(max: number, perKey: number, revocation: Pick<Revocation, 'follow' | 'sweep'>): Streams {
  const open = new Set<Stream>();
  /** By `org/holder`, and by org. */
  const counts = new Map<string, number>();
  let sweeping = false;
  const timer = setInterval(() => {
    if (!sweeping) void sweep();
    revocation.sweep(performance.now());
  }, 1000);
  timer.unref();

  /** In slices: thousands may be cut in one sweep, and other requests go on meanwhile. */
  async function sweep(): Promise<void> {
    sweeping = true;
    try {
      let until = performance.now() + SLICE_MS;
      for (const stream of [...open]) {
        const now = performance.now();
        if (open.has(stream)) stream.sweep?.(now);
        if (now < until) continue;
        await new Promise((resolve) => setImmediate(resolve));
        until = performance.now() + SLICE_MS;
      }
    } finally {
      sweeping = false;
    }
  }

  return {
    add(x, stream) {
      if (open.size >= max) throw refuse('TooManyRequests', 'too many streams are open', { retryAfterSeconds: 5 });
      const holder = `${x.caller?.org ?? ''}/${x.caller?.holder ?? ''}`;
      // An org makes as many keys as it likes.
      const org = x.caller?.org ?? '';
      refuseAbove(perKey, counts.get(holder), 'this credential');
      refuseAbove(Math.ceil(max / 2), counts.get(org), 'this org');
      open.add(stream);
      for (const one of [holder, org]) counts.set(one, (counts.get(one) ?? 0) + 1);
      x.leaveFlight();
      x.cutWhenStalled();
      const unfollow = revocation.follow(x, stream);
      return () => {
        if (!open.delete(stream)) return;
        unfollow();
        for (const one of [holder, org]) {
          const left = (counts.get(one) ?? 1) - 1;
          if (left > 0) counts.set(one, left);
          else counts.delete(one);
        }
      };
    },
    get count() {
      return open.size;
    },
    endAll() {
      for (const stream of [...open]) stream.end();
    },
    cutAll() {
      for (const stream of [...open]) stream.cut?.();
    },
    close() {
      clearInterval(timer);
    },
  };
}

function refuseAbove(most: number, held: number | undefined, whose: string): void {
  if (held === undefined || held < most) return;
  throw refuse('TooManyRequests', `${whose} has ${held} streams open, which is its limit`, { retryAfterSeconds: 5 });
}
