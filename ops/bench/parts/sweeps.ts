/**
 * Measures what a Sweep costs over the Jobs of its cells: the same Jobs are made by a client that keeps as many open, in turns with the
 * Sweep on the same service, and a watch of all Jobs is read in both cases. Then how soon a change of its state is at its cells.
 */
import { get } from 'node:http';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { API_GROUP } from '../../../src/brand.js';
import { freePort } from '../../../src/app/free-port.js';
import type { Figure, Part, PartContext } from '../figure.js';
import { inspected, liveMiB } from '../live-heap.js';
import { call, unexpected } from '../load.js';
import { round } from '../numbers.js';
import { peakOf } from '../peak.js';
import type { Service } from '../service.js';

/** Cells that run at once. */
const WINDOW = 64;
const FEW = 1_000;
const MANY = 10_000;
/** Cells that are suspended at once: as many as a Sweep may run. */
const SUSPENDED = 256;
const REPETITIONS = 50;
const LOOK_MS = 50;
/** A run that takes longer has failed (ms per cell, and at least a minute). */
const MOST_MS_PER_CELL = 100;
const MOST_MS = 60_000;
/** For the runs whose memory is looked at, so that they end: passivation, its sweep, and a collection of garbage (s). */
const PASSIVATION_SECONDS = 5;
const SETTLE_SECONDS = 25;

const ENDS = new Set(['Succeeded', 'Failed', 'Cancelled']);

const job = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ state: z.string() }),
  status: z.looseObject({ phase: z.string().optional() }).optional(),
});
const event = z.looseObject({ object: job });
const listed = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) });
const sweep = z.looseObject({
  metadata: z.looseObject({ uid: z.string() }),
  status: z.looseObject({ phase: z.string().optional(), succeeded: z.number().optional() }).optional(),
});

export const sweeps: Part = {
  name: 'sweeps',
  about: `Sweeps of ${FEW} and ${MANY} cells of \`true\` beside as many Jobs, ${WINDOW} at once; ${SUSPENDED} cells suspended`,
  async run(context) {
    const few = await compare(context);
    const alone = await settled(context, async (service) =>
      jobsAlone(service, 'alone', MANY, await cellMetadata(service)),
    );
    context.log(`${MANY} Jobs alone: ${Math.round(alone.ms / 1_000)} s`);
    const swept = await settled(context, (service) => sweepOf(service, 'many', MANY));
    context.log(`a Sweep of ${MANY}: ${Math.round(swept.ms / 1_000)} s`);
    const largest = await largestStatus(context);
    return [
      ...few.figures,
      { name: 'time of 10,000 cells over 1,000', value: round(swept.ms / few.sweepMs, 2), unit: 'ratio', atMost: 11 },
      { name: '10,000 cells over 10,000 Jobs alone', value: round(swept.ms / alone.ms, 2), unit: 'ratio' },
      { name: 'memory with 10,000 Jobs alone, at their end', value: round(alone.live), unit: 'MiB' },
      { name: 'memory over that with a Sweep', value: round(swept.live - alone.live), unit: 'MiB', atMost: 10 },
      { name: 'memory with 10,000 Jobs alone, idle', value: round(alone.idle), unit: 'MiB' },
      { name: 'memory over that with a Sweep, idle', value: round(swept.idle - alone.idle), unit: 'MiB', atMost: 10 },
      { name: 'resident at most, Jobs alone', value: round(alone.peak), unit: 'MiB' },
      { name: 'resident at most, Sweep', value: round(swept.peak), unit: 'MiB' },
      { name: 'status of a Sweep of 10,000, the largest seen', value: largest, unit: 'bytes', atMost: 64 * 1024 },
      ...(await suspension(context)),
    ];
  },
};

interface Spent {
  readonly ms: number;
  /** Processor time of the service and Postgres (ms). */
  readonly processorMs: number;
}

/** Jobs, Sweep, Sweep, Jobs: what grows from run to run is the same for both. */
async function compare(context: PartContext): Promise<{ figures: readonly Figure[]; sweepMs: number }> {
  const service = await context.fresh();
  await jobsAlone(service, 'warm-up', FEW / 5);
  const alone: Spent[] = [];
  const swept: Spent[] = [];
  for (const [turn, isSweep] of [false, true, true, false].entries()) {
    const run = isSweep ? sweepOf : jobsAlone;
    const spent = await spentIn(service, () => run(service, `few-${turn}`, FEW));
    (isSweep ? swept : alone).push(spent);
    context.log(`${isSweep ? 'a Sweep of' : 'Jobs alone:'} ${FEW}: ${Math.round(spent.ms)} ms`);
  }
  await service.stop();
  const each = (runs: readonly Spent[], of: keyof Spent): number =>
    runs.reduce((sum, spent) => sum + spent[of], 0) / runs.length / FEW;
  const over = (of: keyof Spent): number => round(each(swept, of) - each(alone, of), 2);
  return {
    sweepMs: each(swept, 'ms') * FEW,
    figures: [
      { name: 'a Job alone, of 1,000', value: round(each(alone, 'ms'), 2), unit: 'ms' },
      { name: 'a cell, of 1,000', value: round(each(swept, 'ms'), 2), unit: 'ms' },
      { name: 'a cell over its Job', value: over('ms'), unit: 'ms', atMost: 5 },
      { name: 'a cell over its Job, processor time', value: over('processorMs'), unit: 'ms' },
    ],
  };
}

async function spentIn(service: Service, run: () => Promise<void>): Promise<Spent> {
  const before = await service.processorSeconds();
  const start = performance.now();
  await run();
  const ms = performance.now() - start;
  const after = await service.processorSeconds();
  const seconds = after.service - before.service + (after.postgres - before.postgres);
  return { ms, processorMs: seconds * 1_000 };
}

interface Settled {
  readonly ms: number;
  /** MiB in use at the end, and once nothing is used any more. */
  readonly live: number;
  readonly idle: number;
  /** MiB resident at most. */
  readonly peak: number;
}

async function settled(context: PartContext, run: (service: Service) => Promise<void>): Promise<Settled> {
  const inspector = await freePort();
  const service = await context.fresh({
    env: { TROUPE_PASSIVATION_SECONDS: String(PASSIVATION_SECONDS), ...inspected(inspector) },
  });
  const start = performance.now();
  let ms = Number.NaN;
  const running = run(service).then(() => (ms = performance.now() - start));
  const peak = await peakOf(service, running);
  const live = await liveMiB(inspector);
  await sleep(SETTLE_SECONDS * 1_000);
  const idle = await liveMiB(inspector);
  await service.stop();
  return { ms, live, idle, peak };
}

/** As many as `WINDOW` can have at once of this machine. */
function spec(command: readonly string[], window: number): object {
  const cpu = `${Math.floor((availableParallelism() * 1_000) / window)}m`;
  return { image: 'svc/agent-tools', command, resources: { cpu, memory: '16Mi', disk: '16Mi' } };
}

async function post(
  service: Service,
  kind: 'Job' | 'Sweep',
  name: string,
  fields: object,
  metadata: object = {},
): Promise<void> {
  const body = JSON.stringify({ apiVersion: `${API_GROUP}/v1`, kind, metadata: { name, ...metadata }, spec: fields });
  const answer = await call(service, service.request('POST', service.path(`${kind.toLowerCase()}s`), body));
  if (answer.status !== 201) throw unexpected(answer.status, answer.body, 201);
}

/** Of the n-th Job: as long as that of a cell, so that memory is compared with the same Jobs. Their owner is none that waits for them. */
async function cellMetadata(service: Service): Promise<(n: number) => object> {
  await post(service, 'Sweep', 'owner', { state: 'Suspended', template: { spec: spec(['true'], WINDOW) } });
  const { uid } = (await read(service, 'owner')).metadata;
  const owner = { apiVersion: `${API_GROUP}/v1`, kind: 'Sweep', name: 'owner', uid, blockOwnerDeletion: true };
  return (n) => ({
    name: `alone-${n}-${String(n).padStart(6, '0')}`,
    labels: { [`${API_GROUP}/sweep`]: 'alone', [`${API_GROUP}/cell`]: String(n) },
    annotations: { [`${API_GROUP}/params`]: JSON.stringify({ N: String(n) }) },
    ownerReferences: [owner],
  });
}

/** A client that makes the next Job when one has ended. */
async function jobsAlone(
  service: Service,
  prefix: string,
  count: number,
  metadata: (n: number) => object = (n) => ({ name: `${prefix}-${n}` }),
): Promise<void> {
  const fields = spec(['true'], WINDOW);
  let made = 0;
  const open = new Set<string>();
  const failures: unknown[] = [];
  const next = (): void => {
    if (made >= count) return;
    const given: { readonly name?: string } = metadata(made);
    const { name = '' } = given;
    made += 1;
    open.add(name);
    post(service, 'Job', name, fields, given).catch((error: unknown) => failures.push(error));
  };
  const watch = await watchJobs(service, ({ metadata: { name }, status }) => {
    if (!ENDS.has(status?.phase ?? '') || !open.delete(name)) return;
    if (status?.phase !== 'Succeeded') failures.push(new Error(`${name} is ${status?.phase}`));
    next();
  });
  try {
    for (let n = 0; n < WINDOW; n += 1) next();
    await until(
      () => {
        if (failures.length > 0) throw failures[0];
        return open.size === 0;
      },
      `${count} Jobs are over`,
      count,
    );
  } finally {
    watch.stop();
  }
}

/** Resolves when it has succeeded. A watch of the Jobs goes along, as it does with Jobs alone. */
async function sweepOf(service: Service, name: string, count: number): Promise<void> {
  const watch = await watchJobs(service, () => undefined);
  try {
    await post(service, 'Sweep', name, {
      matrix: { params: { N: Array.from({ length: count / REPETITIONS }, (_, n) => String(n)) } },
      repetitions: REPETITIONS,
      maxParallel: WINDOW,
      template: { spec: spec(['true'], WINDOW) },
    });
    await until(async () => (await phaseOf(service, name)) === 'Succeeded', `Sweep ${name} succeeds`, count);
  } finally {
    watch.stop();
  }
}

async function read(service: Service, name: string): Promise<z.infer<typeof sweep>> {
  const { status, body } = await call(service, service.request('GET', `${service.path('sweeps')}/${name}`));
  if (status !== 200) throw unexpected(status, body, 200);
  return sweep.parse(JSON.parse(body.toString('utf8')));
}

async function phaseOf(service: Service, name: string): Promise<string | undefined> {
  const { phase } = (await read(service, name)).status ?? {};
  if (phase === 'Failed') throw new Error(`Sweep ${name} failed`);
  return phase;
}

async function until(look: () => boolean | Promise<boolean>, what: string, cells: number): Promise<void> {
  const end = performance.now() + Math.max(MOST_MS, cells * MOST_MS_PER_CELL);
  while (performance.now() < end) {
    if (await look()) return;
    await sleep(LOOK_MS);
  }
  throw new Error(`waited in vain until ${what}`);
}

/** Bytes of the status of a Sweep with parameters as long as they may be; cells run, have ended, and wait. */
async function largestStatus(context: PartContext): Promise<number> {
  const service = await context.fresh();
  const long = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${name}${n}-`.padEnd(1_500, 'x'));
  await post(service, 'Sweep', 'long', {
    matrix: { params: { A: long('a', 20), B: long('b', 10) } },
    repetitions: REPETITIONS,
    maxParallel: WINDOW,
    template: { spec: { ...spec(['false'], WINDOW), backoffLimit: 0 } },
  });
  let largest = 0;
  const look = async (): Promise<boolean> => {
    const { status = {} } = await read(service, 'long');
    largest = Math.max(largest, Buffer.byteLength(JSON.stringify(status)));
    return (Number(status['failed']) || 0) >= 2 * WINDOW;
  };
  await until(look, 'some cells have failed', MANY);
  await service.stop();
  return largest;
}

/** From a patch until the spec of every Job that runs says Suspended, and until all phases do. */
async function suspension(context: PartContext): Promise<readonly Figure[]> {
  const service = await context.fresh();
  const states = new Map<string, string>();
  const phases = new Map<string, string | undefined>();
  const watch = await watchJobs(service, ({ metadata: { name }, spec: { state }, status }) => {
    states.set(name, state);
    phases.set(name, status?.phase);
  });
  const count = (of: ReadonlyMap<string, unknown>, wanted: string): number =>
    [...of.values()].filter((value) => value === wanted).length;
  try {
    const fields = spec(['sleep', '3600'], SUSPENDED);
    const whole = { repetitions: 64, matrix: { params: { N: ['0', '1', '2', '3'] } }, maxParallel: SUSPENDED };
    await post(service, 'Sweep', 'rested', { ...whole, template: { spec: fields } });
    await until(() => count(phases, 'Running') === SUSPENDED, `${SUSPENDED} cells run`, SUSPENDED);
    context.log(`${SUSPENDED} cells run`);
    const start = performance.now();
    const body = JSON.stringify({ spec: { state: 'Suspended' } });
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const request = service.request('PATCH', `${service.path('sweeps')}/rested`, body, headers);
    const { status, body: said } = await call(service, request);
    if (status !== 200) throw unexpected(status, said, 200);
    const told = await whenAll(() => count(states, 'Suspended') === SUSPENDED);
    const rested = await whenAll(() => count(phases, 'Suspended') === SUSPENDED);
    return [
      { name: `Suspended at ${SUSPENDED} running cells' Jobs`, value: round(told - start), unit: 'ms', atMost: 2_000 },
      { name: `all ${SUSPENDED} have stopped`, value: round(rested - start), unit: 'ms' },
    ];
  } finally {
    watch.stop();
  }
}

/** The time at which this holds; looked at often, since it is measured. */
async function whenAll(holds: () => boolean): Promise<number> {
  const end = performance.now() + MOST_MS;
  while (!holds()) {
    if (performance.now() > end) throw new Error('not all Jobs were suspended in time');
    await sleep(2);
  }
  return performance.now();
}

interface Watch {
  stop(): void;
}

/** Tells each change of a Job from now on. */
async function watchJobs(service: Service, take: (change: z.infer<typeof job>) => void): Promise<Watch> {
  const list = await call(service, service.request('GET', `${service.path('jobs')}?limit=1`));
  const { resourceVersion } = listed.parse(JSON.parse(list.body.toString('utf8'))).metadata;
  const authorization = /Authorization: (.*)\r\n/.exec(service.request('GET', '/').toString('latin1'))?.[1] ?? '';
  const path = `${service.path('jobs')}?watch=1&resourceVersion=${resourceVersion}`;
  return new Promise((done, failed) => {
    const options = { port: service.port, host: '127.0.0.1', path, headers: { authorization }, agent: false };
    const request = get(options, (response) => {
      if (response.statusCode !== 200) {
        failed(new Error(`a watch answered ${response.statusCode}`));
        return;
      }
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) take(event.parse(JSON.parse(line)).object);
      });
      response.on('error', () => undefined);
      done({ stop: () => request.destroy() });
    });
    request.on('error', failed);
  });
}
