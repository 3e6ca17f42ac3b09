/**
 * Measures the fan-out of changes: 1,000 watchers of one collection, 100 writes a second. The time is taken from before a
 * write is sent until its event has reached a watcher, so it holds the write itself. Every watcher has to get every
 * event once.
 */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { openConnection, openSocket } from '../client.js';
import type { Figure, Part } from '../figure.js';
import { ask, unexpected } from '../load.js';
import { round, Sample } from '../numbers.js';
import { SERVICE_ACCOUNT } from '../objects.js';
import type { Service } from '../service.js';
import { fill, nameOf, patchBody } from './plain.js';

const WATCHERS = 1_000;
const WRITES_PER_SECOND = 100;
/** Objects that the writes go round. */
const OBJECTS = 100;
/** Events still on their way after the last write are waited for this long (ms). */
const LAST_MS = 10_000;
const MARK = Buffer.from('"bench/seq":"');
const DIGITS = 7;
/** Writes of one run, at most. */
const MOST_EVENTS = 100_000;

const listed = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) });

export const watch: Part = {
  name: 'watch',
  about: `${WATCHERS} watchers of one collection at ${WRITES_PER_SECOND} writes a second`,
  async run(context) {
    const service = await context.fresh();
    await fill(service, SERVICE_ACCOUNT, OBJECTS);
    const sentAt: number[] = [];
    const quiet = await write(service, sentAt, context.seconds);
    const first = sentAt.length;

    const arrivals = new Sample();
    const version = await currentVersion(service);
    const watchers: Watcher[] = [];
    for (let n = 0; n < WATCHERS; n += 1) watchers.push(await openWatcher(service, version, sentAt, arrivals));
    try {
      context.log(`${WATCHERS} watchers are open`);
      const busy = await write(service, sentAt, context.seconds * 2);
      const expected = WATCHERS * (sentAt.length - first);
      const until = performance.now() + LAST_MS;
      while (arrivals.count < expected && performance.now() < until) await sleep(20);
      return figures(quiet, busy, arrivals, watchers, sentAt.length - first);
    } finally {
      for (const watcher of watchers) watcher.socket.destroy();
    }
  },
};

interface Written {
  readonly perSecond: number;
  readonly p50Ms: number;
  /** Of the service, per write. */
  readonly processorMs: number;
}

interface Watcher {
  readonly socket: Socket;
  /**
   * How often each event came, by its number, to see losses and repeats. Bytes, for a Map of 1,000 watchers times 1,600
   * events kept the collector of this process busier than the service that is measured.
   */
  readonly seen: Uint8Array;
}

/** One writer that sends its next write when it is due and the one before is answered. */
async function write(service: Service, sentAt: number[], seconds: number): Promise<Written> {
  const connection = await openConnection(service.port);
  const took = new Sample();
  const usedBefore = (await service.processorSeconds()).service;
  const began = performance.now();
  const path = service.path(SERVICE_ACCOUNT.plural);
  for (let n = 0; n < seconds * WRITES_PER_SECOND; n += 1) {
    const due = began + (n * 1_000) / WRITES_PER_SECOND;
    const early = due - performance.now();
    if (early > 1) await sleep(early);
    const number = sentAt.length;
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const request = service.request('PATCH', `${path}/${nameOf(number % OBJECTS)}`, patchBody(number), headers);
    const start = performance.now();
    sentAt.push(start);
    await new Promise<void>((done, fail) => {
      connection.send(request, (status, body) => (status === 200 ? done() : fail(unexpected(status, body, 200))), fail);
    });
    took.add(performance.now() - start);
  }
  const elapsed = performance.now() - began;
  connection.close();
  const used = (await service.processorSeconds()).service - usedBefore;
  return {
    perSecond: (took.count * 1_000) / elapsed,
    p50Ms: took.quantiles(0.5)[0] ?? Number.NaN,
    processorMs: (used * 1_000) / took.count,
  };
}

async function currentVersion(service: Service): Promise<string> {
  const list = await ask(service, service.request('GET', `${service.path(SERVICE_ACCOUNT.plural)}?limit=1`));
  return listed.parse(JSON.parse(list.body.toString('utf8'))).metadata.resourceVersion;
}

async function openWatcher(
  service: Service,
  version: string,
  sentAt: readonly number[],
  arrivals: Sample,
): Promise<Watcher> {
  const path = service.path(SERVICE_ACCOUNT.plural);
  const seen = new Uint8Array(MOST_EVENTS);
  let rest: Buffer = Buffer.alloc(0);
  const socket = await openSocket(service.port, (chunk) => {
    const now = performance.now();
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (;;) {
      const found = text.indexOf(MARK, at);
      const start = found + MARK.length;
      if (found < 0 || start + DIGITS > text.length) {
        // The chunk is gone when this returns.
        rest = Buffer.from(text.subarray(found < 0 ? Math.max(at, text.length - MARK.length) : found));
        return;
      }
      at = start + DIGITS;
      const number = Number(text.toString('latin1', start, at));
      seen[number] = (seen[number] ?? 0) + 1;
      arrivals.add(now - (sentAt[number] ?? Number.NaN));
    }
  });
  await new Promise<void>((done, fail) => {
    socket.once('error', fail);
    socket.once('close', () => fail(new Error('a watch was ended by the service')));
    socket.write(service.request('GET', `${path}?watch=1&resourceVersion=${version}`), () => done());
  });
  return { socket, seen };
}

function figures(
  quiet: Written,
  busy: Written,
  arrivals: Sample,
  watchers: readonly Watcher[],
  events: number,
): Figure[] {
  const [p50 = Number.NaN, p99 = Number.NaN] = arrivals.quantiles(0.5, 0.99);
  const counted = (wanted: (count: number) => boolean): number =>
    watchers.reduce((sum, { seen }) => sum + seen.reduce((found, count) => found + (wanted(count) ? 1 : 0), 0), 0);
  const lost = watchers.length * events - counted((count) => count > 0);
  const repeated = counted((count) => count > 1);
  return [
    { name: '1,000 watchers, event p50', value: round(p50), unit: 'ms', kubernetes: 110 },
    { name: '1,000 watchers, event p99', value: round(p99), unit: 'ms', atMost: 60, kubernetes: 269 },
    {
      name: 'writer slowed by watchers',
      value: round((1 - busy.perSecond / quiet.perSecond) * 100),
      unit: '%',
      atMost: 10,
      kubernetes: 13,
    },
    { name: 'write p50 without watchers', value: round(quiet.p50Ms, 2), unit: 'ms' },
    { name: 'write p50 with 1,000 watchers', value: round(busy.p50Ms, 2), unit: 'ms' },
    { name: 'processor time of a write with 1,000 watchers', value: round(busy.processorMs, 2), unit: 'ms' },
    { name: 'events lost', value: lost, unit: 'count', atMost: 0 },
    { name: 'events repeated', value: repeated, unit: 'count', atMost: 0 },
  ];
}
