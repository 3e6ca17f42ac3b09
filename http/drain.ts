/** The clean end: listeners close, streams end, requests under way finish, idle connections go. Bounded. */
import type { Server } from 'node:http';
import type { Streams } from './streams.js';

export interface DrainDeps {
  readonly servers: readonly Server[];
  readonly streams: Streams;
  inFlight(): number;
  /** The drain is over after this long, whatever is still under way. */
  readonly seconds: number;
}

/** What is cut then has so long to be told, ms. */
const CUT_MS = 1_000;
/** How often the end is looked for, ms: nothing happens often enough to be told by an event. */
const LOOK_MS = 20;

export async function drainServers({ servers, streams, inFlight, seconds }: DrainDeps): Promise<void> {
  for (const server of servers) server.close();
  streams.endAll();
  const quiet = async (ms: number): Promise<boolean> => {
    const until = performance.now() + ms;
    while ((inFlight() > 0 || streams.count > 0) && performance.now() < until) {
      for (const server of servers) server.closeIdleConnections();
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return inFlight() === 0 && streams.count === 0;
  };
  if (!(await quiet(seconds * 1_000))) {
    streams.cutAll();
    await quiet(CUT_MS);
  }
  for (const server of servers) server.closeIdleConnections();
}
