/**
 * Measures Sandboxes as an agent uses them, over HTTP alone: how soon the first command has answered, one after another and a hundred
 * at once; commands, files and a terminal in one that runs; coming back from a stop; and what idle ones cost.
 */
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { z } from 'zod';
import type { Figure, Part, PartContext } from '../figure.js';
import { call, connectFor, unexpected } from '../load.js';
import { bareIsolate, bareIsolates, isolatesByItself, longestForcedWrite } from '../machine.js';
import { round, Sample } from '../numbers.js';
import { sandboxBody } from '../objects.js';
import type { Service } from '../service.js';
import { transfer } from '../transfer.js';

const ONE_BY_ONE = 100;
const AT_ONCE = 100;
/** Crowds one after another: the first finds all boxes ready that there may be, the later ones those that were made meanwhile. */
const CROWDS = 3;
/** Before each of them, in which boxes are made ready (ms). */
const BREATH_MS = 3_000;
const COMMANDS = 500;
const KEYS = 300;
/** Transfers each way, of which the median counts. */
const TRANSFERS = 5;
const FILE_BYTES = 200 * 1024 * 1024;
const WORKSPACE_BYTES = 50 * 1024 * 1024;
const RESUMES = 8;
const IDLE = 500;
/** Seconds over which idle ones are watched. */
const WATCHED = 10;
/** Destroyed and made again for so long (s), so many at a time; after a warm-up that does not count (s). */
const CYCLES_SECONDS = 10;
const CYCLES_WARM_UP = 3;
const CYCLES_AT_ONCE = 16;
/** Before and after them, bare isolates are made for so long (s). */
const BARE_SECONDS = 1;
/** Nothing here takes longer than this (ms) unless it has failed. */
const MOST_MS = 120_000;

const answer = z.looseObject({ exitCode: z.number(), stdout: z.string() });
const deletion = z.looseObject({ object: z.looseObject({ metadata: z.looseObject({ name: z.string() }) }) });
const sandbox = z.looseObject({ status: z.looseObject({ phase: z.string().optional() }).optional() });

export const sandboxes: Part = {
  name: 'sandboxes',
  about: 'POST of a Sandbox to the answer of its first command; commands, files, a terminal, resumes; idle ones',
  async run(context) {
    // Hundreds at rest need more room on paper than the machine has.
    const service = await context.fresh({
      env: { TROUPE_NODE_CPU: '2000', TROUPE_NODE_MEMORY: '100Gi', TROUPE_NODE_DISK: '10Ti' },
    });
    const figures: Figure[] = [];
    await cycle(service, 'warm-up');
    // Before the crowds, whose traces in the heap and the spare boxes cost a transfer up to a third; what they cost is measured too.
    figures.push(...(await running(context, service)));
    figures.push(...(await firstCommands(context, service)));
    figures.push(...(await transfersAfterwards(context, service)));
    figures.push(...(await resumes(context, service)));
    figures.push(...(await idle(context, service)));
    return figures;
  },
};

async function firstCommands(context: PartContext, service: Service): Promise<Figure[]> {
  const isolates = await isolatesByItself();
  if (!isolates)
    context.log('this machine makes no bare isolates with bwrap: what is measured against them is left out');
  // Turn by turn, so that what else the machine does falls on both.
  const ours = new Sample();
  const bare = new Sample();
  // What transfers have put off is made ready.
  await sleep(BREATH_MS);
  const oneByOne = async (): Promise<void> => {
    for (let n = 0; n < ONE_BY_ONE; n += 1) {
      ours.add(await cycle(service, `one-${n}`));
      if (isolates) bare.add(await bareIsolate());
      // The pool is refilled meanwhile, as between two requests of a person or an agent.
      await sleep(50);
    }
  };
  const done = oneByOne();
  const longestWrite = await longestForcedWrite(service.dir, done);
  await done;
  context.log('one after another is measured');
  await connectFor(service, AT_ONCE);
  await sleep(BREATH_MS);
  const crowds: Sample[] = [];
  for (let turn = 0; turn < CROWDS; turn += 1) {
    const crowd = new Sample();
    const names = Array.from({ length: AT_ONCE }, (_, n) => `crowd-${turn}-${n}`);
    await Promise.all(names.map(async (name) => crowd.add(await first(service, name))));
    await Promise.all(names.map((name) => remove(service, name)));
    crowds.push(crowd);
    await sleep(BREATH_MS);
  }
  context.log('a hundred at once are measured');
  const bareBefore = isolates ? await bareIsolates(CYCLES_AT_ONCE, BARE_SECONDS) : 0;
  let cycles = 0;
  const began = performance.now() + CYCLES_WARM_UP * 1_000;
  const until = began + CYCLES_SECONDS * 1_000;
  const worker = async (id: number): Promise<void> => {
    for (let n = 0; performance.now() < until; n += 1) {
      await cycle(service, `turn-${id}-${n}`);
      if (performance.now() >= began) cycles += 1;
    }
  };
  await Promise.all(Array.from({ length: CYCLES_AT_ONCE }, (_, id) => worker(id)));
  const perSecond = cycles / ((performance.now() - began) / 1_000);
  const [p50 = Number.NaN, p99 = Number.NaN] = ours.quantiles(0.5, 0.99);
  const bareAfter = isolates ? await bareIsolates(CYCLES_AT_ONCE, BARE_SECONDS) : 0;
  const bareEach = (bareBefore + bareAfter) / 2;
  const [bareP50 = Number.NaN] = bare.quantiles(0.5);
  const [, newP99 = Number.NaN] = crowds[0]?.quantiles(0.5, 0.99) ?? [];
  const [crowdP50 = Number.NaN, crowdP99 = Number.NaN] = crowds.at(-1)?.quantiles(0.5, 0.99) ?? [];
  return [
    { name: 'create to first command, p50', value: round(p50), unit: 'ms', atMost: 25 },
    { name: 'create to first command, p99', value: round(p99), unit: 'ms', atMost: 150 },
    { name: 'the longest that 8 KiB forced to the disk took meanwhile', value: round(longestWrite), unit: 'ms' },
    ...onlyIf(isolates, [
      { name: '`bwrap … true` by itself, p50', value: round(bareP50), unit: 'ms' },
      { name: 'create to first command over `bwrap … true`', value: round(p50 / bareP50, 2), unit: 'ratio' },
    ]),
    { name: 'the first 100 at once to first command, p99', value: round(newP99), unit: 'ms', atMost: 750 },
    { name: '100 at once to first command, p50', value: round(crowdP50), unit: 'ms' },
    { name: '100 at once to first command, p99', value: round(crowdP99), unit: 'ms', atMost: 750 },
    { name: 'created, used and deleted', value: round(perSecond), unit: 'per second', atLeast: 60 },
    ...onlyIf(isolates, [
      { name: '`bwrap … true`, as many at once', value: round(bareEach), unit: 'per second' },
      { name: 'created, used and deleted over that', value: round(perSecond / bareEach, 2), unit: 'ratio' },
    ]),
  ];
}

function onlyIf(measured: boolean, figures: readonly Figure[]): readonly Figure[] {
  return measured ? figures : [];
}

async function running(context: PartContext, service: Service): Promise<Figure[]> {
  await first(service, 'busy');
  const took = new Sample();
  for (let n = 0; n < COMMANDS; n += 1) {
    const start = performance.now();
    await command(service, 'busy', ['true']);
    took.add(performance.now() - start);
  }
  const [p50 = Number.NaN, p99 = Number.NaN] = took.quantiles(0.5, 0.99);
  context.log('commands are measured');
  const { up, down } = await transfers(service, 'busy');
  context.log('files are measured');
  const echo = await echoes(service, 'busy');
  await remove(service, 'busy');
  const [echoP50 = Number.NaN, echoP99 = Number.NaN] = echo.quantiles(0.5, 0.99);
  return [
    { name: 'command `true` in one that runs, p50', value: round(p50), unit: 'ms', atMost: 10 },
    { name: 'command `true` in one that runs, p99', value: round(p99), unit: 'ms' },
    { name: 'upload of 200 MB, p50', value: up, unit: 'MB/s', atLeast: 300 },
    { name: 'download of 200 MB, p50', value: down, unit: 'MB/s', atLeast: 300 },
    { name: 'echo of a key in a terminal, p50', value: round(echoP50, 2), unit: 'ms', atMost: 5 },
    { name: 'echo of a key in a terminal, p99', value: round(echoP99, 2), unit: 'ms' },
  ];
}

/** Medians of both ways, in MB/s. */
async function transfers(service: Service, name: string): Promise<{ up: number; down: number }> {
  const [ups, downs] = [new Sample(), new Sample()];
  // Once each way to warm up.
  await upload(service, name, FILE_BYTES);
  await download(service, name);
  for (let n = 0; n < TRANSFERS; n += 1) {
    ups.add(await upload(service, name, FILE_BYTES));
    downs.add(await download(service, name));
  }
  const [up = Number.NaN] = ups.quantiles(0.5);
  const [down = Number.NaN] = downs.quantiles(0.5);
  return { up: Math.round(up), down: Math.round(down) };
}

async function transfersAfterwards(context: PartContext, service: Service): Promise<Figure[]> {
  await first(service, 'afterwards');
  const { up, down } = await transfers(service, 'afterwards');
  await remove(service, 'afterwards');
  context.log('files are measured again');
  return [
    { name: 'upload of 200 MB right after all those, p50', value: up, unit: 'MB/s' },
    { name: 'download of 200 MB right after all those, p50', value: down, unit: 'MB/s' },
  ];
}

/** From asking for the start until a command has read what was there before the stop. */
async function resumes(context: PartContext, service: Service): Promise<Figure[]> {
  await first(service, 'back');
  await upload(service, 'back', WORKSPACE_BYTES);
  const took = new Sample();
  for (let n = 0; n < RESUMES; n += 1) {
    await patch(service, 'back', { spec: { state: 'Stopped' } });
    await phase(service, 'back', 'Stopped');
    const start = performance.now();
    await patch(service, 'back', { spec: { state: 'Running' } });
    await command(service, 'back', ['test', '-s', '/workspace/large']);
    took.add(performance.now() - start);
  }
  await remove(service, 'back');
  context.log('resumes are measured');
  const [p50 = Number.NaN] = took.quantiles(0.5);
  return [{ name: 'resume with 50 MB in /workspace, p50', value: round(p50), unit: 'ms', atMost: 400 }];
}

async function idle(context: PartContext, service: Service): Promise<Figure[]> {
  const names = Array.from({ length: IDLE }, (_, n) => `idle-${n}`);
  const before = await service.memory();
  for (let from = 0; from < IDLE; from += 25) {
    await Promise.all(names.slice(from, from + 25).map((name) => first(service, name)));
  }
  await sleep(5_000);
  const after = await service.memory();
  const usedBefore = await service.processorSeconds();
  await sleep(WATCHED * 1_000);
  const usedAfter = await service.processorSeconds();
  const used = usedAfter.service - usedBefore.service + usedAfter.work - usedBefore.work;
  context.log('idle ones are measured');
  for (let from = 0; from < IDLE; from += 25) {
    await Promise.all(names.slice(from, from + 25).map((name) => remove(service, name)));
  }
  return [
    {
      name: `memory of the service for each of ${IDLE} idle`,
      value: round((after.service - before.service) / IDLE, 2),
      unit: 'MiB',
      atMost: 1.43,
    },
    { name: `processor that ${IDLE} idle take, with the runner`, value: round((used / WATCHED) * 100), unit: '%' },
  ];
}

/** ms until its first command has answered; then it is deleted. */
async function cycle(service: Service, name: string): Promise<number> {
  const took = await first(service, name);
  await remove(service, name);
  return took;
}

/** ms from sending the Sandbox to the answer of its first command. */
async function first(service: Service, name: string): Promise<number> {
  const start = performance.now();
  const created = await call(service, service.request('POST', service.path('sandboxes'), sandboxBody(name)));
  if (created.status !== 201) throw unexpected(created.status, created.body, 201);
  await command(service, name, ['true']);
  return performance.now() - start;
}

async function command(service: Service, name: string, words: readonly string[]): Promise<void> {
  const path = `${service.path('sandboxes')}/${name}/exec?wait=60s`;
  const { status, body } = await call(service, service.request('POST', path, JSON.stringify({ command: words })));
  if (status !== 200) throw unexpected(status, body, 200);
  const { exitCode } = answer.parse(JSON.parse(body.toString('utf8')));
  if (exitCode !== 0) throw new Error(`${words.join(' ')} in ${name} ended with ${exitCode}`);
}

async function patch(service: Service, name: string, change: object): Promise<void> {
  const path = `${service.path('sandboxes')}/${name}`;
  const type = { 'Content-Type': 'application/merge-patch+json' };
  const { status, body } = await call(service, service.request('PATCH', path, JSON.stringify(change), type));
  if (status !== 200) throw unexpected(status, body, 200);
}

async function phase(service: Service, name: string, wanted: string): Promise<void> {
  const until = performance.now() + MOST_MS;
  while (performance.now() < until) {
    const { body } = await call(service, service.request('GET', `${service.path('sandboxes')}/${name}`));
    if (sandbox.parse(JSON.parse(body.toString('utf8'))).status?.phase === wanted) return;
    await sleep(5);
  }
  throw new Error(`${name} was not ${wanted} in time`);
}

/** Resolves when it is gone, with all that it ran: a watch tells, as it tells a client that waits for a deletion. */
async function remove(service: Service, name: string): Promise<void> {
  const gone = goneOf(service);
  const path = `${service.path('sandboxes')}/${name}`;
  const ended = new Promise<true>((done) => gone.set(name, () => done(true)));
  const { status, body } = await call(service, service.request('DELETE', path));
  if (status !== 200) throw unexpected(status, body, 200);
  const inTime = await Promise.race([ended, sleep(MOST_MS, false, { ref: false })]);
  if (!inTime) throw new Error(`${name} was not gone in time`);
}

type Waiting = Map<string, () => void>;

const watches = new WeakMap<Service, Waiting>();

/** Who waits for the deletion of which Sandbox; the first call begins the watch. */
function goneOf(service: Service): Waiting {
  const known = watches.get(service);
  if (known !== undefined) return known;
  const waiting: Waiting = new Map();
  watches.set(service, waiting);
  const path = `${service.path('sandboxes')}?watch=true&timeoutSeconds=3600`;
  const headers = { authorization: authorization(service) };
  const request = httpRequest({ port: service.port, host: '127.0.0.1', path, headers, agent: false }, (response) => {
    let rest = '';
    response.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (!line.startsWith('{"type":"DELETED"')) continue;
        const { object } = deletion.parse(JSON.parse(line));
        waiting.get(object.metadata.name)?.();
        waiting.delete(object.metadata.name);
      }
    });
    // It ends with the service.
    response.on('error', () => undefined);
  });
  request.on('error', () => undefined);
  request.end();
  return waiting;
}

/** MB (10^6 bytes) a second. */
async function upload(service: Service, name: string, bytes: number): Promise<number> {
  const start = performance.now();
  const { status } = await transfer(service, 'PUT', large(service, name), bytes, MOST_MS);
  if (status !== 200 && status !== 201) throw new Error(`PUT answered ${status}`);
  return bytes / 1e3 / (performance.now() - start);
}

async function download(service: Service, name: string): Promise<number> {
  const start = performance.now();
  const { status, bytes } = await transfer(service, 'GET', large(service, name), 0, MOST_MS);
  if (status !== 200 || bytes !== FILE_BYTES) throw new Error(`GET answered ${status}, ${bytes} bytes`);
  return bytes / 1e3 / (performance.now() - start);
}

function large(service: Service, name: string): string {
  return `${service.path('sandboxes')}/${name}/files?path=/workspace/large`;
}

/** ms from sending a key to its echo, of keys one after another. */
async function echoes(service: Service, name: string): Promise<Sample> {
  const url = `ws://127.0.0.1:${service.port}${service.path('sandboxes')}/${name}/terminal?command=cat`;
  const socket = new WebSocket(url, { headers: { authorization: authorization(service) } });
  const heard: (() => void)[] = [];
  socket.on('message', () => heard.shift()?.());
  await new Promise<void>((done, failed) => {
    socket.once('open', () => done());
    socket.once('error', failed);
  });
  const took = new Sample();
  for (let n = 0; n < KEYS; n += 1) {
    const start = performance.now();
    const echoed = new Promise<void>((done) => heard.push(done));
    socket.send(Buffer.from('x'));
    await echoed;
    // The first ones come while the terminal is still being made.
    if (n >= 20) took.add(performance.now() - start);
  }
  socket.terminate();
  return took;
}

function authorization(service: Service): string {
  const head = service.request('GET', '/').toString('latin1');
  return /Authorization: (.*)\r\n/.exec(head)?.[1] ?? '';
}
