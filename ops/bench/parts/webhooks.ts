/**
 * Measures deliveries to a receiver in a second process, over https with a certificate of an authority of its own: how soon the
 * first attempt comes at a steady rate of events, and how many a second go out when more is asked for.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { API_GROUP } from '../../../src/brand.js';
import { makeAuthority, makeServer } from '../../../src/app/tls/make-certificates.js';
import { openConnection, type Connection } from '../client.js';
import type { Figure, Part, PartContext } from '../figure.js';
import { ask, unexpected } from '../load.js';
import { round, Sample } from '../numbers.js';
import { SUSPENDED_JOB } from '../objects.js';
import type { Service } from '../service.js';
import type { Answer } from '../webhook-receiver.js';
import { fill, nameOf } from './plain.js';

const RECEIVER = fileURLToPath(new URL('../webhook-receiver.js', import.meta.url));
const EVENTS_PER_SECOND = 500;
/** Endpoints of the second measurement: each event is delivered to all of them. */
const ENDPOINTS = 8;
/** Events of the second measurement, a second: more than their deliveries can go out. */
const MOST_EVENTS_PER_SECOND = 2_000;
const WRITERS = 16;
const LAST_MS = 60_000;

const made = z.looseObject({ status: z.looseObject({ signingSecret: z.string() }) });

export const webhooks: Part = {
  name: 'webhooks',
  about: `signed deliveries: first attempts at ${EVENTS_PER_SECOND} events a second, and as many as go out`,
  async run(context) {
    const receiver = await openReceiver();
    try {
      const service = await context.fresh({
        env: { TROUPE_WEBHOOK_CA: receiver.caFile, TROUPE_WEBHOOK_ALLOW: '127.0.0.0/8', TROUPE_COMPUTE: 'off' },
      });
      const events = EVENTS_PER_SECOND * context.seconds;
      await fill(service, SUSPENDED_JOB, events * 2);
      await addEndpoint(service, receiver, 0);
      return [...(await steady(service, receiver, events)), ...(await most(context, service, receiver, events))];
    } finally {
      await receiver.close();
    }
  },
};

async function steady(service: Service, receiver: Receiver, events: number): Promise<Figure[]> {
  const before = await receiver.ask();
  await cancel(service, 0, events, EVENTS_PER_SECOND);
  const seen = await receiver.until(before.count + events, before.count);
  const lags = new Sample();
  for (const lag of seen.lags) lags.add(lag);
  const [p50 = Number.NaN, p99 = Number.NaN] = lags.quantiles(0.5, 0.99);
  return [
    { name: `first attempt at ${EVENTS_PER_SECOND} events/s, p50`, value: round(p50), unit: 'ms' },
    {
      name: `first attempt at ${EVENTS_PER_SECOND} events/s, p99`,
      value: round(p99),
      unit: 'ms',
      atMost: 1_000,
    },
  ];
}

async function most(context: PartContext, service: Service, receiver: Receiver, events: number): Promise<Figure[]> {
  for (let n = 1; n < ENDPOINTS; n += 1) await addEndpoint(service, receiver, n);
  const before = await receiver.ask();
  context.log('the first attempts are measured');
  const usedBefore = await service.processorSeconds();
  await cancel(service, events, events, MOST_EVENTS_PER_SECOND);
  const expected = before.count + events * ENDPOINTS;
  const seen = await receiver.until(expected, before.count);
  const used = await service.processorSeconds();
  const seconds = ((seen.times.at(-1) ?? 0) - (seen.times[0] ?? 0)) / 1_000;
  const each = (part: 'service' | 'postgres'): number =>
    round(((used[part] - usedBefore[part]) * 1e6) / seen.times.length, 0);
  return [
    { name: 'deliveries', value: round(seen.times.length / seconds, 0), unit: 'per second', atLeast: 1_500 },
    { name: 'deliveries, processor time each, with their share of the event', value: each('service'), unit: 'µs' },
    { name: 'deliveries, that of Postgres', value: each('postgres'), unit: 'µs' },
    { name: 'deliveries lost', value: expected - seen.unique, unit: 'count', atMost: 0 },
    { name: 'deliveries repeated', value: seen.count - seen.unique, unit: 'count' },
    { name: 'deliveries with a bad signature', value: seen.unverified, unit: 'count', atMost: 0 },
  ];
}

/** Cancels Jobs from the given one on, each when it is due. */
async function cancel(service: Service, from: number, count: number, perSecond: number): Promise<void> {
  const began = performance.now();
  let next = 0;
  const drive = async (): Promise<void> => {
    const connection = await openConnection(service.port);
    try {
      for (let n = next++; n < count; n = next++) {
        const early = began + (n * 1_000) / perSecond - performance.now();
        if (early > 1) await sleep(early);
        await cancelOne(service, connection, nameOf(from + n));
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, drive));
}

function cancelOne(service: Service, connection: Connection, name: string): Promise<void> {
  const headers = { 'Content-Type': 'application/merge-patch+json' };
  const path = `${service.path(SUSPENDED_JOB.plural)}/${name}`;
  const request = service.request('PATCH', path, '{"spec":{"state":"Cancelled"}}', headers);
  return new Promise((done, fail) => {
    connection.send(request, (status, body) => (status === 200 ? done() : fail(unexpected(status, body, 200))), fail);
  });
}

async function addEndpoint(service: Service, receiver: Receiver, n: number): Promise<void> {
  const path = `/hook-${n}`;
  const body = JSON.stringify({
    apiVersion: `${API_GROUP}/v1`,
    kind: 'WebhookEndpoint',
    metadata: { name: `hook-${n}` },
    spec: { url: `https://127.0.0.1:${receiver.port}${path}`, eventTypes: ['job.cancelled'] },
  });
  const { count } = await receiver.ask();
  const reply = await ask(service, service.request('POST', `/apis/${API_GROUP}/v1/webhookendpoints`, body));
  if (reply.status !== 201) throw unexpected(reply.status, reply.body, 201);
  const { signingSecret: secret } = made.parse(JSON.parse(reply.body.toString('utf8'))).status;
  receiver.tell({ path, secret });
  await receiver.until(count + 1, count);
}

// ── the receiver's process ──

type Seen = Exclude<Answer, { readonly port: number }>;

export interface Receiver {
  readonly caFile: string;
  /** Of that authority, for 127.0.0.1. */
  readonly certificate: { readonly key: string; readonly cert: string };
  readonly port: number;
  tell(message: object): void;
  /** What has come from the given one on. */
  ask(from?: number): Promise<Seen>;
  /** Once so many have come; what is there after a while, when they do not. */
  until(count: number, from: number): Promise<Seen>;
  close(): Promise<void>;
}

export async function openReceiver(): Promise<Receiver> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-bench-receiver-'));
  const now = new Date();
  const authority = await makeAuthority(now);
  const { key, cert } = await makeServer(authority, ['127.0.0.1'], now);
  const caFile = join(dir, 'ca.pem');
  await writeFile(caFile, authority.cert);
  const child = fork(RECEIVER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.send({ key, cert });
  const opened = await answerOf(child);
  if (!('port' in opened)) throw new Error('the receiver does not say its port');

  const seenSoFar = async (from = Number.MAX_SAFE_INTEGER): Promise<Seen> => {
    child.send({ ask: true, from });
    const answer = await answerOf(child);
    if ('port' in answer) throw new Error('the receiver was opened twice');
    return answer;
  };
  return {
    caFile,
    certificate: { key, cert },
    port: opened.port,
    tell: (message) => void child.send(message),
    ask: seenSoFar,
    async until(count, from) {
      const deadline = performance.now() + LAST_MS;
      while ((await seenSoFar()).count < count && performance.now() < deadline) await sleep(50);
      return seenSoFar(from);
    },
    async close() {
      child.disconnect();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function answerOf(child: ChildProcess): Promise<Answer> {
  return new Promise((done, fail) => {
    const ended = (): void => fail(new Error('the receiver has ended'));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      done(message as Answer);
    });
  });
}
