/**
 * Postgres's time as this process measures it: an offset on the monotonic clock, so that a change of the wall clock here
 * moves nothing. Due times and leases are compared in this time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Postgres, Statement } from './postgres.js';
import type { Clock } from './store.js';

/** Measurements per round; the one with the shortest way there and back counts. */
const ROUNDS = 5;
/** How often it is measured again (ms): clocks drift by a few ms in this time. */
const AGAIN = 30_000;

export interface PostgresClock {
  readonly now: Clock;
  close(): void;
}

export async function openClock(
  postgres: Postgres,
  monotonic: () => number = () => performance.now(),
): Promise<PostgresClock> {
  const stop = new AbortController();
  let offset = await measure(postgres, monotonic);

  async function keep(): Promise<void> {
    while (!stop.signal.aborted) {
      await sleep(AGAIN, undefined, { signal: stop.signal, ref: false }).catch(() => {});
      if (stop.signal.aborted) return;
      try {
        offset = await measure(postgres, monotonic);
      } catch {
        // Postgres does not answer now: the last offset is still right to within its drift.
      }
    }
  }
  void keep();

  return { now: () => Math.round(monotonic() + offset), close: () => stop.abort() };
}

async function measure(postgres: Postgres, monotonic: () => number): Promise<number> {
  let best = { way: Number.POSITIVE_INFINITY, offset: 0 };
  for (let i = 0; i < ROUNDS; i++) {
    const start = monotonic();
    const [row] = await postgres.readRows<[number]>(NOW);
    const end = monotonic();
    if (row === undefined) continue;
    // Answered somewhere between start and end: the middle is off by at most half the way.
    if (end - start < best.way) best = { way: end - start, offset: row[0] - (start + end) / 2 };
  }
  return best.offset;
}

const NOW: Statement = { name: 'now', text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8' };
