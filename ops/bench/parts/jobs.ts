/** Measures Jobs that really run: how soon a program speaks, and how many short ones get through. */
import { request as httpRequest } from 'node:http';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Part, PartContext } from '../figure.js';
import { ask, unexpected } from '../load.js';
import { round, Sample } from '../numbers.js';
import { jobBody } from '../objects.js';
import type { ProcessorSeconds, Service } from '../service.js';

const FIRST_BYTES = 40;
const PARALLELISM = 64;
/** A Job that takes longer has failed (ms per index, and at least a minute). */
const MOST_MS_PER_INDEX = 60;
const MOST_MS = 60_000;

const job = z.looseObject({
  status: z.looseObject({ phase: z.string().optional(), succeeded: z.number().optional() }).optional(),
});

export const jobs: Part = {
  name: 'jobs',
  about: 'POST to the first byte of a log; Jobs of 2,000 and 10,000 indexes of `true` at parallelism 64',
  async run(context) {
    const service = await context.fresh();
    await firstByte(service, 'warm-up');
    const took = new Sample();
    for (let n = 0; n < FIRST_BYTES; n += 1) took.add(await firstByte(service, `say-${n}`));
    const [p50 = Number.NaN, p99 = Number.NaN] = took.quantiles(0.5, 0.99);
    context.log('first bytes are measured');
    const before = await service.processorSeconds();
    const small = await indexes(context, service, 2_000);
    const after = await service.processorSeconds();
    const each = (part: keyof ProcessorSeconds): number => round(((after[part] - before[part]) / 2_000) * 1_000, 2);
    const large = await indexes(context, service, 10_000);
    return [
      { name: 'POST to first log byte, p50', value: round(p50), unit: 'ms', atMost: 80 },
      { name: 'POST to first log byte, p99', value: round(p99), unit: 'ms' },
      // 100 before each index held its money and was charged; that may cost a tenth.
      { name: 'indexes of a Job of 2,000', value: round(2_000_000 / small), unit: 'per second', atLeast: 90 },
      { name: 'processor time of an index: the service', value: each('service'), unit: 'ms' },
      { name: 'processor time of an index: Postgres', value: each('postgres'), unit: 'ms' },
      { name: 'processor time of an index: runner and work', value: each('work'), unit: 'ms' },
      { name: 'indexes of a Job of 10,000', value: round(10_000_000 / large), unit: 'per second' },
      { name: 'time of 10,000 indexes over 2,000', value: round(large / small, 2), unit: 'ratio', atMost: 5.5 },
    ];
  },
};

/** ms from sending the Job to the first byte of its log, which is asked for as soon as the Job is there. */
async function firstByte(service: Service, name: string): Promise<number> {
  const path = service.path('jobs');
  const start = performance.now();
  const { status, body } = await ask(
    service,
    service.request('POST', path, jobBody(name, ['echo', 'hello'], { completions: 1, parallelism: 1, cpu: '1' })),
  );
  if (status !== 201) throw unexpected(status, body, 201);
  const until = start + MOST_MS;
  while (performance.now() < until) {
    if (await logSpeaks(service, `${path}/${name}/logs?follow=true`)) return performance.now() - start;
    await sleep(2);
  }
  throw new Error(`the log of ${name} said nothing within ${MOST_MS} ms`);
}

/** Resolves with true at the first byte; with false when there is no log yet. */
function logSpeaks(service: Service, path: string): Promise<boolean> {
  const head = service.request('GET', path).toString('latin1');
  const authorization = /Authorization: (.*)\r\n/.exec(head)?.[1] ?? '';
  return new Promise((done) => {
    const request = httpRequest({
      port: service.port,
      host: '127.0.0.1',
      path,
      headers: { authorization },
      agent: false,
    });
    const end = (spoke: boolean): void => {
      done(spoke);
      request.destroy();
    };
    request.setTimeout(MOST_MS, () => end(false));
    request.once('error', () => end(false));
    request.once('response', (response) => {
      if (response.statusCode !== 200) return end(false);
      response.once('data', () => end(true));
      response.once('end', () => end(false));
      response.on('error', () => end(false));
    });
    request.end();
  });
}

/** ms from sending the Job to its success. */
async function indexes(context: PartContext, service: Service, count: number): Promise<number> {
  const path = service.path('jobs');
  const name = `many-${count}`;
  // As much as 64 at once can have here: with less they are throttled, with more they are not 64.
  const place = `${Math.floor((availableParallelism() * 1_000) / PARALLELISM)}m`;
  const start = performance.now();
  const post = service.request(
    'POST',
    path,
    jobBody(name, ['true'], { completions: count, parallelism: PARALLELISM, cpu: place }),
  );
  const created = await ask(service, post);
  if (created.status !== 201) throw unexpected(created.status, created.body, 201);
  const until = start + Math.max(MOST_MS, count * MOST_MS_PER_INDEX);
  let told = start;
  while (performance.now() < until) {
    const { body } = await ask(service, service.request('GET', `${path}/${name}`));
    const { status } = job.parse(JSON.parse(body.toString('utf8')));
    if (status?.phase === 'Succeeded') return performance.now() - start;
    if (status?.phase === 'Failed') throw new Error(`${name} failed: ${JSON.stringify(status).slice(0, 1_000)}`);
    if (performance.now() - told > 10_000) {
      told = performance.now();
      context.log(`${name}: ${status?.succeeded ?? 0} of ${count} after ${Math.round((told - start) / 1_000)} s`);
    }
    await sleep(50);
  }
  throw new Error(`${name} was not through in time`);
}
