/** Makes open-loop load: so many requests a second, each offered when it is due, whether or not those before it are answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection, type Connection } from '../client.js';
import { unexpected } from '../load.js';
import type { Sample } from '../numbers.js';

/** Used one after the other, so that none is closed for its idleness. */
const CONNECTIONS = 64;
/** I10: requests that wait for a free connection; with more the target does not keep up, and the measurement fails. */
const MOST_WAITING = 2_000;
const LAST_ANSWER_MS = 10_000;

export interface OpenLoop {
  readonly port: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** The bytes of the n-th request. */
  readonly request: (n: number) => Buffer;
}

/**
 * Adds the time of each request (ms) to the sample, from when it was offered: what it waits for a connection counts. Rejects when one is not
 * answered with 200.
 */
export async function offer(loop: OpenLoop, sample: Sample): Promise<void> {
  const { perSecond, request } = loop;
  const free = await Promise.all(Array.from({ length: CONNECTIONS }, () => openConnection(loop.port)));
  const all = [...free];
  const count = Math.round(loop.seconds * perSecond);
  const waiting: { readonly n: number; readonly at: number }[] = [];
  let answered = 0;
  let failure: Error | undefined;

  const send = (connection: Connection, n: number, at: number): void => {
    connection.send(
      request(n),
      (status, body) => {
        sample.add(performance.now() - at);
        answered += 1;
        if (status !== 200) failure ??= unexpected(status, body, 200);
        const next = waiting.shift();
        if (next === undefined) free.push(connection);
        else send(connection, next.n, next.at);
      },
      (error) => (failure ??= error),
    );
  };

  try {
    const began = performance.now();
    for (let n = 0; n < count; n += 1) {
      const early = began + (n * 1_000) / perSecond - performance.now();
      if (early > 0) await sleep(early);
      if (failure !== undefined) throw failure;
      const connection = free.shift();
      if (connection !== undefined) send(connection, n, performance.now());
      else if (waiting.length < MOST_WAITING) waiting.push({ n, at: performance.now() });
      else throw new Error(`${MOST_WAITING} requests wait: it does not keep up with ${perSecond} a second`);
    }
    const deadline = performance.now() + LAST_ANSWER_MS;
    while (answered < count) {
      if (failure !== undefined) throw failure;
      if (performance.now() > deadline) throw new Error(`${count - answered} requests were not answered`);
      await sleep(5);
    }
    if (failure !== undefined) throw failure;
  } finally {
    for (const connection of all) connection.close();
  }
}
