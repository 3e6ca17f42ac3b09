/** Makes closed-loop load: so many connections, each with one request under way, for so long. */
import { openConnection, type Connection } from './client.js';
import { round, Sample } from './numbers.js';
import type { Service } from './service.js';

export interface LoadOptions {
  readonly connections: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** Requests to send at most, with those of the warm-up. */
  readonly most?: number | undefined;
  /** The bytes of the n-th request. */
  readonly request: (n: number) => Buffer;
  readonly expect: number;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time per request (µs): moved far less than rates by what else the machine does. */
  readonly processorMicros: { readonly service: number; readonly postgres: number };
  readonly count: number;
  /** Requests sent in all, with those of the warm-up. */
  readonly sent: number;
}

/** Rejects when an answer is not the one expected: a figure over failures says nothing. */
export async function load(
  service: Pick<Service, 'port' | 'processorSeconds'>,
  options: LoadOptions,
): Promise<LoadResult> {
  const sample = new Sample();
  const began = performance.now();
  const from = began + options.warmUpSeconds * 1_000;
  const until = from + options.seconds * 1_000;
  let sent = 0;
  let first = Number.NaN;
  let last = Number.NaN;

  const usedBefore = await service.processorSeconds();
  await Promise.all(Array.from({ length: options.connections }, () => drive()));
  const usedAfter = await service.processorSeconds();
  const [p50 = Number.NaN, p99 = Number.NaN] = sample.quantiles(0.5, 0.99);
  return {
    perSecond: Math.round(sample.count / ((last - first) / 1_000)),
    p50Ms: round(p50, 2),
    p99Ms: round(p99, 2),
    processorMicros: {
      service: Math.round(((usedAfter.service - usedBefore.service) * 1e6) / sent),
      postgres: Math.round(((usedAfter.postgres - usedBefore.postgres) * 1e6) / sent),
    },
    count: sample.count,
    sent,
  };

  async function drive(): Promise<void> {
    const connection = await openConnection(service.port);
    try {
      await new Promise<void>((done, fail) => {
        next();
        function next(): void {
          const start = performance.now();
          if (start >= until || sent >= (options.most ?? Infinity)) {
            done();
            return;
          }
          connection.send(options.request(sent), onReply, fail);
          sent += 1;
          function onReply(status: number, body: Buffer): void {
            const end = performance.now();
            if (status !== options.expect) {
              fail(unexpected(status, body, options.expect));
              return;
            }
            if (start >= from) {
              if (Number.isNaN(first)) first = start;
              last = end;
              sample.add(end - start);
            }
            next();
          }
        }
      });
    } finally {
      connection.close();
    }
  }
}

export function unexpected(status: number, body: Buffer, expected: number): Error {
  return new Error(`answered ${status}, not ${expected}: ${body.toString('utf8', 0, 500)}`);
}

/** One request on a connection of its own. */
export async function ask(service: Service, request: Buffer): Promise<{ status: number; body: Buffer; ms: number }> {
  const connection = await openConnection(service.port);
  try {
    const start = performance.now();
    return { ...(await replyOf(connection, request)), ms: performance.now() - start };
  } finally {
    connection.close();
  }
}

const kept = new WeakMap<Service, Connection[]>();

/** Opens connections for so many calls at once, where fewer are free. */
export async function connectFor(service: Service, calls: number): Promise<void> {
  const free = freeOf(service);
  const missing = Math.max(0, calls - free.length);
  free.push(...(await Promise.all(Array.from({ length: missing }, () => openConnection(service.port)))));
}

/** One request on a connection that is kept for the next, as clients' libraries keep theirs. */
export async function call(service: Service, request: Buffer): Promise<{ status: number; body: Buffer }> {
  const free = freeOf(service);
  let connection = free.pop();
  while (connection?.isOpen() === false) connection = free.pop();
  const own = connection ?? (await openConnection(service.port));
  const reply = await replyOf(own, request);
  free.push(own);
  return reply;
}

function freeOf(service: Service): Connection[] {
  const known = kept.get(service);
  if (known !== undefined) return known;
  const free: Connection[] = [];
  kept.set(service, free);
  return free;
}

function replyOf(connection: Connection, request: Buffer): Promise<{ status: number; body: Buffer }> {
  return new Promise((done, fail) => {
    connection.send(request, (status, body) => done({ status, body }), fail);
  });
}
