/**
 * Starts and stops the service under measurement: the real program in a process of its own, on a data directory that is thrown
 * away, with everything on that is on by default (authentication, effects, events, metrics, embedded Postgres).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { API_GROUP } from '../../src/brand.js';
import { freePort } from '../../src/app/free-port.js';
import { CLUSTER_USER } from '../../src/app/postgres/cluster.js';
import { isAlive, readPidFile } from '../../src/app/postgres/pid-file.js';

const MAIN = fileURLToPath(new URL('../../src/app/main.js', import.meta.url));
/** A start that takes longer has failed (ms). */
const START_MS = 120_000;
const STOP_MS = 40_000;
const KEY_MS = 5_000;

export interface Service {
  readonly port: number;
  /** Its data directory. */
  readonly dir: string;
  /** From the creation of the process to the first 200 of /readyz (ms). */
  readonly startMs: number;
  /** Path of a collection in project `default`. */
  path(plural: string): string;
  /** Bytes of one request, with the key and, for a body, its length. */
  request(method: string, path: string, body?: string, headers?: Readonly<Record<string, string>>): Buffer;
  /** The same service, asked with another key. */
  as(key: string): Service;
  /** Whose change means that something was started again: the processes, and the epoch of the lease. */
  lives(): Promise<Readonly<Record<'service' | 'runner' | 'proxy' | 'lease', string>>>;
  /** MiB resident in the service's process, and in Postgres (proportional share). */
  memory(): Promise<{ service: number; postgres: number }>;
  /** Processor time used so far (s). */
  processorSeconds(): Promise<ProcessorSeconds>;
  stop(): Promise<void>;
}

export interface ProcessorSeconds {
  /** The service's own process. */
  readonly service: number;
  readonly postgres: number;
  /** The runner with the work that it has ended. */
  readonly work: number;
}

export interface ServiceOptions {
  readonly dir: string;
  /** Write a CPU profile of the run into this directory. */
  readonly profileDir?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export function newDataDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'troupe-bench-'));
}

export function removeDataDir(dir: string): Promise<void> {
  // A runner that has just lost its service still tidies up there.
  return rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const port = await freePort();
  const profile = options.profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profileDir}`];
  const began = performance.now();
  const child = spawn(process.execPath, [...profile, MAIN], {
    env: {
      ...process.env,
      TROUPE_DATA_DIR: options.dir,
      HOST: '127.0.0.1',
      PORT: String(port),
      TROUPE_TLS_PORT: '0',
      TROUPE_SSH_PORT: '0',
      TROUPE_LOG_LEVEL: 'warn',
      // One key sends it all: the limits count as always, and are never reached.
      TROUPE_KEY_REQUESTS_PER_SECOND: '1000000',
      TROUPE_ORG_REQUESTS_PER_SECOND: '1000000',
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A bench that ends early leaves no service behind.
  const orphan = (): void => void child.kill('SIGTERM');
  process.once('exit', orphan);
  child.once('exit', () => process.off('exit', orphan));
  const output = tail(child);
  let startMs: number;
  let owner: string;
  try {
    await untilReady(child, port, output);
    startMs = performance.now() - began;
    owner = await adminKey(options.dir);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }

  const withKey = (key: string): Service => ({
    port,
    dir: options.dir,
    startMs,
    as: withKey,
    lives: () => livesOf(child.pid ?? 0, options.dir),
    path: (plural) => `/apis/${API_GROUP}/v1/namespaces/default/${plural}`,
    request(method, path, body, headers = {}) {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      const type = body === undefined || 'Content-Type' in headers ? '' : 'Content-Type: application/json\r\n';
      const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
      const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n`;
      return Buffer.from(`${head}${type}${length}${lines.join('')}\r\n${body ?? ''}`);
    },
    async memory() {
      const children = await Promise.all((await descendants(child.pid ?? 0)).map(postgresMiB));
      return { service: await residentMiB(child.pid ?? 0), postgres: children.reduce((sum, mib) => sum + mib, 0) };
    },
    processorSeconds: () => processorSeconds(child.pid ?? 0),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = new Promise<void>((done) => child.once('exit', () => done()));
      const runners = await runnersOf(child.pid ?? 0);
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(timer);
      await Promise.all(runners.map(end));
    },
  });
  return withKey(owner);
}

async function livesOf(
  pid: number,
  dir: string,
): Promise<Readonly<Record<'service' | 'runner' | 'proxy' | 'lease', string>>> {
  const all = await descendants(pid);
  const commands = await Promise.all(all.map(commandOf));
  const idsOf = (program: RegExp): string => all.filter((_, index) => program.test(commands[index] ?? '')).join(' ');
  return {
    service: isAlive(pid) ? String(pid) : '',
    runner: idsOf(/runner\/main\.js/),
    proxy: idsOf(/proxy\.mjs|egress\/main\.js/),
    lease: await leaseEpoch(dir),
  };
}

async function leaseEpoch(dir: string): Promise<string> {
  const password = await readFile(join(dir, 'postgres', 'password'), 'utf8');
  const port = (await readPidFile(join(dir, 'postgres', 'cluster')))?.port;
  const client = new Client({ host: '127.0.0.1', port, user: CLUSTER_USER, database: 'troupe', password });
  await client.connect();
  try {
    const { rows } = await client.query<{ epoch: string }>('SELECT epoch FROM lease');
    return String(rows[0]?.epoch);
  } finally {
    await client.end();
  }
}

/** It outlives the service by a minute, with all boxes that it keeps ready: what is measured next would be measured beside it. */
async function runnersOf(pid: number): Promise<number[]> {
  const all = await descendants(pid);
  const commands = await Promise.all(all.map(commandOf));
  return all.filter((_, index) => commands[index]?.includes('runner/main.js'));
}

async function end(pid: number): Promise<void> {
  const deadline = performance.now() + STOP_MS;
  try {
    process.kill(pid, 'SIGTERM');
    while (performance.now() < deadline && process.kill(pid, 0)) await sleep(50);
  } catch {
    // It is gone.
  }
}

/** The last lines that the service wrote, for the message of a start that failed. */
function tail(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (text = (text + chunk.toString('utf8')).slice(-4_000)));
  }
  return () => text;
}

async function untilReady(child: ChildProcess, port: number, output: () => string): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the service ended:\n${output()}`);
    if ((await statusOf(port, '/readyz')) === 200) return;
    await sleep(5);
  }
  throw new Error(`the service was not ready within ${START_MS} ms:\n${output()}`);
}

/** Written by the first start about when it is ready. */
async function adminKey(dir: string): Promise<string> {
  const deadline = performance.now() + KEY_MS;
  for (;;) {
    try {
      return (await readFile(join(dir, 'admin.key'), 'utf8')).trim();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(5);
    }
  }
}

function statusOf(port: number, path: string): Promise<number> {
  return new Promise((done) => {
    const request = get({ port, host: '127.0.0.1', path, agent: false }, (response) => {
      response.resume();
      done(response.statusCode ?? 0);
    });
    request.on('error', () => done(0));
  });
}

/** VmRSS of a process. */
export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** Clock ticks of /proc, in one second: fixed at 100 on Linux. */
const TICKS = 100;

async function processorSeconds(pid: number): Promise<ProcessorSeconds> {
  const used = { service: (await secondsOf(pid)).own, postgres: 0, work: 0 };
  for (const child of await descendants(pid)) {
    const { own, ended } = await secondsOf(child);
    used[(await commandOf(child)).includes('postgres') ? 'postgres' : 'work'] += own + ended;
  }
  return used;
}

/** Of a process and everything that it has started, with what has ended of it (s). */
export async function secondsBelow(pid: number): Promise<number> {
  const all = await Promise.all([pid, ...(await descendants(pid))].map(secondsOf));
  return all.reduce((sum, { own, ended }) => sum + own + ended, 0);
}

/** Of the process itself, and of its children that have ended. */
async function secondsOf(pid: number): Promise<{ own: number; ended: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The name before the last bracket may hold blanks; the four times begin with the 12th field after it.
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  return { own: (user + system) / TICKS, ended: (endedUser + endedSystem) / TICKS };
}

/** Empty for a process that is gone. */
function commandOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
}

/** Shared buffers are in every backend's resident size; only a share of them is counted for each. */
async function postgresMiB(pid: number): Promise<number> {
  try {
    if (!(await commandOf(pid)).includes('postgres')) return 0;
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

async function descendants(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const children = text.split(' ').filter(Boolean).map(Number);
  return [...children, ...(await Promise.all(children.map(descendants))).flat()];
}
