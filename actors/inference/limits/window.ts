/**
 * A sliding window over one minute: amounts by the second in which they were admitted.
 *
 * An amount of second s counts from s to s + 60, both included, so 61 seconds are summed: however within its second a request came, no two
 * that are at most 60 s apart are ever judged without each other. What it costs is the part of a second by which an amount stays longer: a
 * caller that always asks gets 60/61 of the limit, 98.3 %.
 *
 * Not pure but for its owner alone, and without a clock: a second that is earlier than one seen before counts as that one, so a clock that
 * is set back frees nothing.
 */

/** Seconds that are summed. */
export const WINDOW_SECONDS = 61;

/** Second and amount. */
export type Bucket = readonly [second: number, amount: number];

export interface SlidingWindow {
  /** What counts in this second. */
  used(second: number): number;
  /** Beyond the window: counts nowhere. */
  add(second: number, amount: number): void;
  /** Takes back of what was added in `second`, while that counts. */
  takeBack(second: number, amount: number): void;
  /** The first second in which at most `amount` counts, when nothing is added. Call `used` first: it is at least that second. */
  whenAtMost(amount: number): number;
  /** What counts and is not zero, oldest first. */
  buckets(): Bucket[];
}

export function openWindow(buckets: readonly Bucket[] = []): SlidingWindow {
  const ring = new Float64Array(WINDOW_SECONDS);
  let newest = 0;
  let sum = 0;

  /** Forgets what leaves the window when `second` comes in. */
  function advance(second: number): void {
    if (second - newest >= WINDOW_SECONDS) {
      ring.fill(0);
      sum = 0;
      newest = second;
    }
    while (newest < second) {
      newest += 1;
      const place = newest % WINDOW_SECONDS;
      sum -= ring[place] ?? 0;
      ring[place] = 0;
    }
  }

  function change(second: number, amount: number): void {
    if (second <= newest - WINDOW_SECONDS) return;
    const place = second % WINDOW_SECONDS;
    const before = ring[place] ?? 0;
    const after = Math.max(0, before + amount);
    ring[place] = after;
    sum += after - before;
  }

  const window: SlidingWindow = {
    used(second) {
      advance(second);
      return sum;
    },
    add(second, amount) {
      advance(second);
      change(second, amount);
    },
    takeBack(second, amount) {
      if (second <= newest) change(second, -amount);
    },
    whenAtMost(amount) {
      let left = sum;
      if (left <= amount) return newest;
      for (let second = newest - WINDOW_SECONDS + 1; second < newest; second += 1) {
        left -= ring[second % WINDOW_SECONDS] ?? 0;
        if (left <= amount) return second + WINDOW_SECONDS;
      }
      return newest + WINDOW_SECONDS;
    },
    buckets() {
      const found: Bucket[] = [];
      for (let second = Math.max(0, newest - WINDOW_SECONDS + 1); second <= newest; second += 1) {
        const amount = ring[second % WINDOW_SECONDS] ?? 0;
        if (amount > 0) found.push([second, amount]);
      }
      return found;
    },
  };
  for (const [second, amount] of buckets) window.add(second, amount);
  return window;
}
