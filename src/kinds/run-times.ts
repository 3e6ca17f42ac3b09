/**
 * How long like work has run: what an estimate takes instead of what a spec expects. Work is like other work of its project when it is of
 * the same kind and has the same program, image and resources; what may differ is where its data and variables come from. Pure.
 */
import type { ExpectedTime } from './priced-work.js';

/** One run that nothing disturbed, in ms: until its program started, while it ran, and until nothing of it was left. */
export interface Run {
  readonly bootMs: number;
  readonly runMs: number;
  readonly teardownMs: number;
}

/** Percentiles of runs, each in ms. */
export interface MeasuredTime {
  /** Runs that it is from. */
  readonly count: number;
  readonly whole: ExpectedTime;
  readonly boot: ExpectedTime;
  /** Start and teardown. */
  readonly overhead: ExpectedTime;
}

/** Runs that are remembered of like work; the oldest is forgotten. */
export const MOST_RUNS = 32;

/** The last MOST_RUNS. */
export function withRun(runs: readonly Run[], run: Run): readonly Run[] {
  return [...runs, run].slice(-MOST_RUNS);
}

/** Every create of like work asks for the same. By runs, of which each change makes a new list, and by `most`: MOST_BOUNDS of them (I10). */
const known = new WeakMap<readonly Run[], Map<number, MeasuredTime>>();
const MOST_BOUNDS = 4;

/** `most`: no run may take longer now (ms). Undefined: there was none. */
export function measure(runs: readonly Run[], most = Number.POSITIVE_INFINITY): MeasuredTime | undefined {
  if (runs.length === 0) return undefined;
  const of = known.get(runs) ?? new Map<number, MeasuredTime>();
  known.set(runs, of);
  const found = of.get(most) ?? compute(runs, most);
  if (of.size >= MOST_BOUNDS) of.clear();
  of.set(most, found);
  return found;
}

function compute(runs: readonly Run[], most: number): MeasuredTime {
  const spread = (of: (run: Run) => number): ExpectedTime => percentiles(runs.map(of));
  return {
    count: runs.length,
    whole: spread(({ bootMs, runMs, teardownMs }) => bootMs + Math.min(runMs, most) + teardownMs),
    boot: spread(({ bootMs }) => bootMs),
    overhead: spread(({ bootMs, teardownMs }) => bootMs + teardownMs),
  };
}

/** By nearest rank: each is a time that was measured. */
function percentiles(times: readonly number[]): ExpectedTime {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9) };
}
