/**
 * What one org's attack costs another org: reads of a cached object and commands in an own Sandbox, first beside a program that
 * takes half a core and does nothing with it, then beside an attacker with half a core. So what differs is what the attack does, and not
 * that the machine is shared. Nothing may have to be started again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { z } from 'zod';
import { API_GROUP } from '../../../src/brand.js';
import { floodAttemptApi, floodProxy, IDLE_BURNING } from '../attacks/in-box.js';
import type { Order, AttackReport } from '../attacks/order.js';
import { openConnection, type Connection } from '../client.js';
import type { Figure, Part, PartContext } from '../figure.js';
import { HALF_CORE_MILLI, openHalfCore, type HalfCore } from '../half-core.js';
import { ask, unexpected } from '../load.js';
import { round, Sample } from '../numbers.js';
import { SERVICE_ACCOUNT, SUSPENDED_JOB } from '../objects.js';
import type { Service } from '../service.js';
import { fill, nameOf } from './plain.js';
import { openReceiver, type Receiver } from './webhooks.js';

const MOST_GET_MS = 50;
const MOST_EXEC_RATIO = 5;
const MOST_DELIVERY_MS = 10_000;
/** Of the bystander, in each phase. */
const COMMANDS = 300;
const PAUSE_MS = 5;
/** A phase ends after so long, however few commands there were. */
const PHASE_MS = 20_000;
/** A request that takes longer counts as refused, with this time. */
const PATIENCE_MS = 15_000;
/** For an attack to come to its full size. */
const FUSE_MS = 1_500;
/** Of the attacker: what selectors are asked of, and what patches are of. */
const OBJECTS = 1_000;
const ENDPOINTS = 500;
const EVENTS_PER_SECOND = 10;
const ATTACKER = new URL('../attacks/attacker.js', import.meta.url);

const madeOrg = z.looseObject({ key: z.string() });

interface Ground {
  readonly context: PartContext;
  readonly service: Service;
  readonly attacker: Service;
  readonly bystander: Service;
  readonly receiver: Receiver;
  readonly half: HalfCore;
  /** Accepts, and never says a word. */
  readonly silentPort: number;
}

interface Attack {
  readonly name: string;
  /** Where it comes from: what it is compared with comes from there, too. */
  readonly from: 'box' | 'network';
  /** Answers how it is ended, and what it has done so far. */
  begin(ground: Ground): Promise<Running>;
}

interface Running {
  told(): Promise<string>;
  end(): Promise<void>;
}

const ATTACKS: readonly Attack[] = [
  {
    name: 'requests sent ahead to the egress proxy',
    from: 'box',
    begin: (ground) => inBox(ground, 'Open', floodProxy(ground.silentPort)),
  },
  { name: 'a flood of the attempt API', from: 'box', begin: (ground) => inBox(ground, 'Deny', floodAttemptApi()) },
  { name: 'requests sent ahead without a key', from: 'network', begin: (g) => fromNetwork(g, 'pipelining') },
  { name: 'patches of large maps', from: 'network', begin: (g) => fromNetwork(g, 'patches', largePatch(g.attacker)) },
  { name: 'YAML of 128 KB', from: 'network', begin: (g) => fromNetwork(g, 'yaml', largeYaml(g.attacker)) },
  { name: 'long selectors', from: 'network', begin: (g) => fromNetwork(g, 'selectors', longSelector(g.attacker)) },
  {
    name: '2,000 half-sent bodies',
    from: 'network',
    begin: (g) => fromNetwork(g, 'half-sent bodies', smallBody(g.attacker)),
  },
  { name: 'made-up keys on 200 connections', from: 'network', begin: (g) => fromNetwork(g, 'made-up keys') },
  { name: `${ENDPOINTS} hostile receivers`, from: 'network', begin: (g) => receivers(g) },
];

export const bystander: Part = {
  name: 'bystander',
  about: 'reads and commands of one org while another one attacks with half a core',
  async run(context) {
    const half = await openHalfCore();
    const receiver = await openReceiver();
    const silent = await silentServer();
    try {
      const service = await context.fresh({
        env: {
          TROUPE_WEBHOOK_CA: receiver.caFile,
          TROUPE_WEBHOOK_ALLOW: '127.0.0.0/8',
          TROUPE_EGRESS_ALLOW: '127.0.0.1/32',
          // More than an org has by itself: what they take is to be measured, not the refusal.
          TROUPE_QUOTA_WEBHOOK_ENDPOINTS: String(ENDPOINTS + 1),
          // Those of the service, not of the bench: they are part of what is measured.
          TROUPE_KEY_REQUESTS_PER_SECOND: '',
          TROUPE_ORG_REQUESTS_PER_SECOND: '',
        },
      });
      const ground = {
        context,
        service,
        half,
        receiver,
        attacker: service.as(await makeOrg(service, 'attacker')),
        bystander: service.as(await makeOrg(service, 'bystander')),
        silentPort: (silent.address() as AddressInfo).port,
      };
      await prepare(ground);
      const before = await service.lives();
      const figures: Figure[] = [];
      for (const attack of ATTACKS) figures.push(...(await measureBeside(ground, attack)));
      const after = await service.lives();
      const changed = Object.keys(before).filter((life) => before[life as never] !== after[life as never]);
      if (changed.length > 0) context.log(`changed: ${changed.join(', ')} (${JSON.stringify([before, after])})`);
      return [...figures, { name: 'started again: processes, lease', value: changed.length, unit: 'count', atMost: 0 }];
    } finally {
      silent.close();
      await receiver.close();
      await half.close();
    }
  },
};

async function measureBeside(ground: Ground, attack: Attack): Promise<Figure[]> {
  const control = await phase(ground, () =>
    attack.from === 'box' ? inBox(ground, 'Deny', IDLE_BURNING) : fromNetwork(ground, 'nothing'),
  );
  const beside = await phase(ground, () => attack.begin(ground));
  const ratio = beside.exec.p99 / control.exec.p99;
  ground.context.log(
    `${attack.name}: GET ${both(beside.get)} ms (control ${both(control.get)}), exec ${both(beside.exec)} ms (control ${both(control.exec)}), ratio ${round(ratio, 2)}; refused ${beside.refused} (control ${control.refused}) of ${beside.requests}; ${beside.told}`,
  );
  const named = (what: string): string => `beside ${attack.name}: ${what}`;
  return [
    { name: named('get, p50'), value: round(beside.get.p50, 2), unit: 'ms' },
    { name: named('get, p99'), value: round(beside.get.p99, 2), unit: 'ms', atMost: MOST_GET_MS },
    { name: named('command, p50'), value: round(beside.exec.p50, 2), unit: 'ms' },
    { name: named('command, p99'), value: round(beside.exec.p99, 2), unit: 'ms' },
    {
      name: named('its p99 by that beside half a core of nothing'),
      value: round(ratio, 2),
      unit: 'ratio',
      atMost: MOST_EXEC_RATIO,
    },
    {
      name: named('delivery of an event, longest'),
      value: round(beside.deliveryMs, 0),
      unit: 'ms',
      atMost: MOST_DELIVERY_MS,
    },
    { name: named('refused or lost'), value: beside.refused, unit: 'count', atMost: 0 },
  ];
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

interface Phase {
  readonly get: Quantiles;
  readonly exec: Quantiles;
  readonly requests: number;
  readonly refused: number;
  /** The longest from an event to its delivery. */
  readonly deliveryMs: number;
  readonly told: string;
}

async function phase(ground: Ground, begin: () => Promise<Running>): Promise<Phase> {
  const running = await begin();
  try {
    await sleep(FUSE_MS);
    const { bystander: own } = ground;
    const exec = client(own, own.request('POST', `${own.path('sandboxes')}/own/exec`, '{"command":["true"]}'), 200);
    const get = client(own, own.request('GET', `${own.path(SERVICE_ACCOUNT.plural)}/${nameOf(0)}`), 200);
    const until = performance.now() + PHASE_MS;
    let over = false;
    const commands = (async () => {
      while (exec.sample.count < COMMANDS && performance.now() < until) {
        await exec.call();
        await sleep(PAUSE_MS);
      }
      over = true;
    })();
    const reads = (async () => {
      while (!over) {
        await get.call();
        await sleep(PAUSE_MS);
      }
    })();
    const events = deliveries(ground, () => over);
    await Promise.all([commands, reads]);
    const delivered = await events;
    exec.close();
    get.close();
    return {
      get: quantilesOf(get.sample),
      exec: quantilesOf(exec.sample),
      requests: exec.sample.count + get.sample.count,
      refused: exec.refused() + get.refused(),
      deliveryMs: delivered,
      told: await running.told(),
    };
  } finally {
    await running.end();
  }
}

interface Client {
  readonly sample: Sample;
  call(): Promise<void>;
  refused(): number;
  close(): void;
}

/** One request again and again, on a connection that is kept while it is good. */
function client(service: Service, request: Buffer, expected: number): Client {
  const sample = new Sample();
  let refused = 0;
  let connection: Connection | undefined;
  const answered = async (signal: AbortSignal): Promise<boolean> => {
    if (connection?.isOpen() !== true) connection = await openConnection(service.port);
    const open = connection;
    return new Promise((done) => {
      signal.addEventListener('abort', () => {
        open.close();
        done(false);
      });
      open.send(
        request,
        (status) => done(status === expected),
        () => done(false),
      );
    });
  };
  return {
    sample,
    async call() {
      const start = performance.now();
      if (!(await answered(AbortSignal.timeout(PATIENCE_MS)).catch(() => false))) refused += 1;
      sample.add(performance.now() - start);
    },
    refused: () => refused,
    close: () => connection?.close(),
  };
}

/** How often an event of the bystander's is made while a phase goes on. */
const EVENT_EVERY_MS = 500;
let events = 0;

/** The longest from an event to its delivery (ms); what did not come at all counts as a minute. */
async function deliveries(ground: Ground, over: () => boolean): Promise<number> {
  const { receiver, bystander: own } = ground;
  const { count } = await receiver.ask();
  let made = 0;
  while (!over()) {
    await cancel(own, events++).catch(() => undefined);
    made += 1;
    await sleep(EVENT_EVERY_MS);
  }
  const seen = await receiver.until(count + made, count);
  return seen.lags.length < made ? 60_000 : Math.max(...seen.lags);
}

async function cancel(service: Service, n: number): Promise<void> {
  const path = `${service.path(SUSPENDED_JOB.plural)}/${nameOf(n)}`;
  const headers = { 'Content-Type': 'application/merge-patch+json' };
  const reply = await ask(service, service.request('PATCH', path, '{"spec":{"state":"Cancelled"}}', headers));
  if (reply.status !== 200) throw unexpected(reply.status, reply.body, 200);
}

function quantilesOf(sample: Sample): Quantiles {
  const [p50 = Number.NaN, p99 = Number.NaN] = sample.quantiles(0.5, 0.99);
  return { p50, p99 };
}

function both({ p50, p99 }: Quantiles): string {
  return `p50 ${round(p50, 2)}, p99 ${round(p99, 2)}`;
}

// ── the attacks ──

let boxes = 0;

async function inBox({ attacker }: Ground, policy: 'Open' | 'Deny', command: readonly string[]): Promise<Running> {
  const name = `attacker-${(boxes += 1)}`;
  await makeSandbox(attacker, name, { egress: { policy } });
  const path = `${attacker.path('sandboxes')}/${name}`;
  const made = await expect(attacker, 'POST', `${path}/processes`, { command }, 201);
  const { id } = z.looseObject({ id: z.string() }).parse(made);
  return {
    async told() {
      const request = attacker.request('GET', `${path}/processes/${encodeURIComponent(id)}/output`);
      const reply = await ask(attacker, request);
      return (
        reply.body
          .toString('utf8')
          .match(/\d+ connections, \d+ bytes/g)
          ?.at(-1) ?? ''
      );
    },
    async end() {
      await expect(attacker, 'DELETE', path, undefined, 200);
      while ((await ask(attacker, attacker.request('GET', path))).status !== 404) await sleep(10);
    },
  };
}

interface FromNetwork extends Running {
  /** Of its receivers. */
  readonly port: Promise<number>;
}

async function fromNetwork(ground: Ground, attack: Order['attack'], request?: Buffer): Promise<FromNetwork> {
  const child = ground.half.start(ATTACKER);
  let told = '';
  const port = new Promise<number>((done) => {
    child.on('message', (message: AttackReport) => {
      if ('port' in message) done(message.port);
      else told = JSON.stringify(message);
    });
  });
  const order: Order = {
    attack,
    port: ground.service.port,
    request: request?.toString('base64') ?? '',
    certificate: ground.receiver.certificate,
  };
  child.send(order);
  return {
    port,
    told: () => Promise.resolve(told),
    async end() {
      const exited = new Promise((done) => child.once('exit', done));
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Endpoints of one org that take no delivery, and events for all of them. */
async function receivers(ground: Ground): Promise<Running> {
  const { attacker } = ground;
  const running = await fromNetwork(ground, 'receivers');
  const port = await running.port;
  for (let n = 0; n < ENDPOINTS; n += 1) await addEndpoint(attacker, `hostile-${n}`, `https://127.0.0.1:${port}/${n}`);
  let next = 0;
  const timer = setInterval(() => void cancel(attacker, next++).catch(() => undefined), 1_000 / EVENTS_PER_SECOND);
  return {
    told: running.told,
    async end() {
      clearInterval(timer);
      await running.end();
    },
  };
}

const JSON_PATCH = { 'Content-Type': 'application/json-patch+json' };

/** A map of as many members as a body may have, then an addition to it in each further operation. */
function largePatch(service: Service): Buffer {
  const members = Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`key-${n}`, '']));
  const operations = [
    { op: 'add', path: '/metadata/annotations', value: members },
    ...Array.from({ length: 999 }, (_, n) => ({ op: 'add', path: `/metadata/annotations/more-${n}`, value: '' })),
  ];
  const path = `${service.path(SERVICE_ACCOUNT.plural)}/${nameOf(0)}`;
  return service.request('PATCH', path, JSON.stringify(operations), JSON_PATCH);
}

function largeYaml(service: Service): Buffer {
  const head = `apiVersion: ${API_GROUP}/v1\nkind: ServiceAccount\nmetadata:\n  name: of-yaml\nspec:\n  unknown:\n`;
  const lines = Array.from({ length: 100_000 }, (_, n) => `    - {a: [${n}], b: "${n}"}\n`);
  let body = head;
  for (const line of lines) if (body.length + line.length < 128 * 1024) body += line;
  return service.request('POST', service.path(SERVICE_ACCOUNT.plural), body, { 'Content-Type': 'application/yaml' });
}

function longSelector(service: Service): Buffer {
  const values = (n: number): string => Array.from({ length: 40 }, (_, m) => `v${n}x${m}`).join(',');
  const requirements = Array.from({ length: 90 }, (_, n) => `app%20notin%20(${values(n)})`);
  return service.request('GET', `${service.path(SERVICE_ACCOUNT.plural)}?labelSelector=${requirements.join(',')}`);
}

function smallBody(service: Service): Buffer {
  return service.request('POST', service.path(SERVICE_ACCOUNT.plural), SERVICE_ACCOUNT.body('half'));
}

// ── what there is before ──

async function prepare({ attacker, bystander: own, receiver }: Ground): Promise<void> {
  await fill(attacker, SERVICE_ACCOUNT, OBJECTS);
  await fill(attacker, SUSPENDED_JOB, OBJECTS);
  await fill(own, SERVICE_ACCOUNT, 1);
  await fill(own, SUSPENDED_JOB, OBJECTS);
  const { count } = await receiver.ask();
  await addEndpoint(own, 'own', `https://127.0.0.1:${receiver.port}/own`);
  await receiver.until(count + 1, count);
  await makeSandbox(own, 'own', {});
}

async function makeOrg(service: Service, name: string): Promise<string> {
  const body = await expect(service, 'POST', '/ops/v1/orgs', { name }, 201);
  return madeOrg.parse(body).key;
}

async function addEndpoint(service: Service, name: string, url: string): Promise<void> {
  const spec = { url, eventTypes: ['job.cancelled'] };
  const body = { apiVersion: `${API_GROUP}/v1`, kind: 'WebhookEndpoint', metadata: { name }, spec };
  await expect(service, 'POST', `/apis/${API_GROUP}/v1/webhookendpoints`, body, 201);
}

/** Resolves when a command has run in it. */
async function makeSandbox(service: Service, name: string, network: object): Promise<void> {
  const resources = { cpu: `${HALF_CORE_MILLI}m`, memory: '512Mi', disk: '1Gi' };
  const spec = { image: 'svc/agent-tools', resources, network };
  const path = service.path('sandboxes');
  await expect(
    service,
    'POST',
    path,
    { apiVersion: `${API_GROUP}/v1`, kind: 'Sandbox', metadata: { name }, spec },
    201,
  );
  await expect(service, 'POST', `${path}/${name}/exec?wait=60s`, { command: ['true'] }, 200);
}

async function expect(
  service: Service,
  method: string,
  path: string,
  content: object | undefined,
  expected: number,
): Promise<unknown> {
  const reply = await ask(service, service.request(method, path, content && JSON.stringify(content)));
  if (reply.status !== expected) throw unexpected(reply.status, reply.body, expected);
  return JSON.parse(reply.body.toString('utf8'));
}

function silentServer(): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => undefined).resume());
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}
