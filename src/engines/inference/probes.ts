/**
 * Asks upstreams whether they answer, only where no request says so: those that have never answered, and those of which every route cools.
 * One probe of an upstream at a time; each is bounded by the upstream itself (5 s).
 */
import { setMaxListeners } from 'node:events';
import { probed, standingAt } from './health.js';
import type { Route } from './route.js';
import type { Upstream } from './upstream.js';

const EVERY_MS = 15_000;

/** Whether an upstream answers, as far as it is known. */
export type Reach = 'Unknown' | 'Yes' | 'No';

export interface ProbeDeps {
  readonly upstreams: readonly Upstream[];
  readonly routes: readonly Route[];
  /** By the name of the upstream. Written here. */
  readonly reached: Map<string, Reach>;
  now(): number;
  readonly everyMs?: number;
}

/** The first round begins at once. */
export function openProbes({ upstreams, routes, reached, now, everyMs = EVERY_MS }: ProbeDeps): {
  close(): Promise<void>;
} {
  const stop = new AbortController();
  // One for each upstream.
  setMaxListeners(0, stop.signal);
  let timer: NodeJS.Timeout | undefined;

  async function probe(upstream: Upstream): Promise<void> {
    if (upstream.probe === undefined) return;
    const own = routes.filter((route) => route.upstream === upstream);
    const before = reached.get(upstream.name);
    const needed = before !== 'Yes' || own.every(({ health }) => standingAt(health, now()) === 'Cooling');
    if (!needed) return;
    const answers = await upstream.probe(stop.signal);
    if (stop.signal.aborted) return;
    // A request may have had an answer in the meantime.
    if (answers || reached.get(upstream.name) === before) reached.set(upstream.name, answers ? 'Yes' : 'No');
    for (const route of own) route.health = probed(route.health, answers, now());
  }
  async function round(): Promise<void> {
    await Promise.all(upstreams.map(probe));
    if (stop.signal.aborted) return;
    timer = setTimeout(() => void (running = round()), everyMs);
    timer.unref();
  }
  let running = round();
  return {
    async close() {
      stop.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
