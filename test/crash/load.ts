/** Writers that go on while a test breaks something, and the look afterwards whether all that they were told is true. */
import type { ExecutionContext } from 'ava';
import type { Client } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { chanceFrom } from './chance.js';
import { COLLECTION, openWriter, type Acknowledged } from './writers.js';

/** Longest wait for more acknowledged writes, ms: more than a service takes to serve again after a fault. */
const MORE_MS = 60_000;

export interface Load {
  acknowledged(): readonly Acknowledged[];
  /** Resolves when this many more writes have been acknowledged, or a writer has given up. */
  more(count: number, deadlineMs?: number): Promise<void>;
  /** Ends the writers, each after the write that it has under way. Rejects when one had no answer for too long. */
  end(): Promise<void>;
  /** No answer was wrong, and each object is there, or is not there, as the answers said. */
  check(t: ExecutionContext, client: Client): Promise<void>;
}

/** Half of the writers send an Idempotency-Key. `makeClient` is asked before each request. */
export function startLoad(count: number, makeClient: () => Client): Load {
  const writers = Array.from({ length: count }, (_, id) =>
    openWriter(id, makeClient, chanceFrom(id + 1), id % 2 === 0),
  );
  const stop = new AbortController();
  const running = Promise.all(writers.map((writer) => writer.run(stop.signal)));
  running.catch(() => stop.abort());
  const written = (): number => writers.reduce((sum, writer) => sum + writer.acknowledged.length, 0);
  return {
    acknowledged: () => writers.flatMap((writer) => writer.acknowledged),
    async more(goal, deadlineMs = MORE_MS) {
      const least = written() + goal;
      await until(`${goal} more writes`, () => written() >= least || stop.signal.aborted, deadlineMs);
    },
    async end() {
      stop.abort();
      await running;
    },
    async check(t, client) {
      t.deepEqual(
        writers.flatMap((writer) => writer.wrong),
        [],
      );
      for (const writer of writers) {
        for (const name of writer.names) {
          const read = await client.get(`${COLLECTION}/${name}`);
          t.is(read.status, writer.there.has(name) ? 200 : 404, name);
        }
      }
    },
  };
}
