/**
 * The server process of a cluster: start, adopt, stop. It outlives a killed service, and the next one adopts it. Its own `postmaster.pid` is the only record of it, so that nothing of ours can
 * contradict it.
 *
 * Two starts at once: Postgres lets one server onto a cluster. The other one's ends, and it adopts.
 */
import { spawn } from 'node:child_process';
import { open, readFile, rm, stat, truncate } from 'node:fs/promises';
import { kill } from 'node:process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { deadline } from '../../deadline.js';
import { freePort } from '../free-port.js';
import { onCluster } from './cluster.js';
import { isAlive, isPostmaster, isPostmasterSync, readPidFile, readPidFileSync } from './pid-file.js';
import type { Cluster } from './cluster.js';

export interface Server {
  readonly pid: number;
  /** On 127.0.0.1. */
  readonly port: number;
  /** It ran already. */
  readonly adopted: boolean;
}

/** Between two looks at `postmaster.pid`, in ms. A start takes about 30 ms. */
const LOOK_MS = 10;
/** A server that ends while it starts is tried again so often: its port was taken, or a dead one's children lingered. */
const TRIES = 6;
/** Recovery after a crash reads up to `max_wal_size` of log: seconds, on a slow disk minutes. */
const READY_MS = 180_000;
/** The log is cut at a start when it is larger than this, in bytes. Normally Postgres writes nothing but its start. */
const LOG_BYTES = 8 * 2 ** 20;
/** A fast stop rolls back and writes a checkpoint; then it has to quit, which costs the next start a recovery. */
const STOP_MS = 20_000;
const QUIT_MS = 5000;

/** Settings that differ from Postgres's own, with the reason. */
const settings = (major: number): Readonly<Record<string, string | number>> => ({
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '.', // In the cluster, which no other user can enter: a fifth cheaper for each question than TCP.
  max_connections: 100,
  shared_buffers: '128MB', // The service keeps current objects itself; this serves the log's tail and indexes.
  synchronous_commit: 'on', // What was acknowledged is committed (I2).
  max_wal_size: '1GB', // Fewer checkpoints under a burst of writes; bounds recovery to some seconds.
  wal_buffers: '16MB',
  wal_init_zero: 'off', // Filling each new 16 MB of log with zeros first held all commits up for 50 ms, twice a second.
  jit: 'off', // No query here is long enough to win by it.
  max_parallel_workers_per_gather: 0,
  autovacuum_naptime: '15s', // Queue and effect tables turn over quickly.
  autovacuum_vacuum_cost_limit: 1000,
  log_min_messages: 'fatal', // A refused unique key is an answer here, not an event.
  log_checkpoints: 'off',
  log_timezone: 'UTC',
  timezone: 'UTC',
  ...(major >= 18 ? { io_method: 'sync' } : {}), // Saves three idle processes.
});

/**
 * `extra` overrides settings of the server, by their Postgres names. Without a `port` there the one that the server had
 * last is tried first, so that processes which share it find it again; then any free one.
 */
export const startServer = async (
  cluster: Cluster,
  logFile: string,
  signal: AbortSignal,
  extra: Readonly<Record<string, string | number>> = {},
): Promise<Server> => {
  const ready = deadline(READY_MS, signal);
  let failure = '';
  try {
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const running = await runningServer(cluster, ready.signal);
      if (running !== undefined) return { ...running, adopted: true };
      const port =
        extra['port'] ?? (attempt === 0 ? await lastPort(cluster.directory) : undefined) ?? (await freePort());
      const outcome = await launch(cluster, logFile, ready.signal, { ...extra, port });
      if (outcome.outcome === 'Ready') return { ...outcome.server, adopted: false };
      failure = outcome.said;
      await delay(100 * 2 ** attempt, undefined, { signal: ready.signal });
    }
  } finally {
    ready.clear();
  }
  throw new Error(`Postgres does not start on ${cluster.directory}: ${failure}`);
};

/** The server that is on the cluster already, once it is ready; undefined when there is none. */
const runningServer = async (
  cluster: Cluster,
  signal: AbortSignal,
): Promise<{ pid: number; port: number } | undefined> => {
  for (;;) {
    const found = await readPidFile(cluster.directory);
    if (found === undefined) return undefined;
    if (!(await isPostmaster(found.pid, cluster.directory))) {
      // Postgres clears it away itself, unless the number lives on in another process of the same user.
      if (isAlive(found.pid)) await rm(join(cluster.directory, 'postmaster.pid'), { force: true });
      return undefined;
    }
    if (found.phase === 'Ready') return { pid: found.pid, port: found.port };
    await delay(LOOK_MS, undefined, { signal });
  }
};

type Launch =
  | { readonly outcome: 'Ready'; readonly server: { readonly pid: number; readonly port: number } }
  | { readonly outcome: 'Ended'; readonly said: string };

const launch = async (
  cluster: Cluster,
  logFile: string,
  signal: AbortSignal,
  extra: Readonly<Record<string, string | number>>,
): Promise<Launch> => {
  const { directory, options } = onCluster(cluster);
  const args = Object.entries({ ...settings(cluster.programs.major), ...extra }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  if (((await stat(logFile).catch(() => undefined))?.size ?? 0) > LOG_BYTES) await truncate(logFile);
  const log = await open(logFile, 'a', 0o600);
  try {
    const from = (await log.stat()).size;
    // Detached: an interrupt typed at the terminal is for the service, which stops Postgres last.
    const child = spawn(cluster.programs.postgres, ['-D', directory, ...args], {
      ...options,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    child.unref();
    let ended: string | undefined;
    child.once('error', (error) => {
      ended = error.message;
    });
    child.once('exit', (code, by) => {
      ended ??= `it ended with ${by ?? code}`;
    });
    for (;;) {
      if (ended !== undefined) return { outcome: 'Ended', said: (await tail(logFile, from)) || ended };
      const found = await readPidFile(cluster.directory);
      if (found?.pid === child.pid && found?.phase === 'Ready') {
        return { outcome: 'Ready', server: { pid: found.pid, port: found.port } };
      }
      await delay(LOOK_MS, undefined, { signal }).catch((error: unknown) => {
        child.kill('SIGINT');
        throw error;
      });
    }
  } finally {
    await log.close();
  }
};

/** Port of the latest server on this cluster: Postgres keeps its command line in a file. */
const lastPort = async (directory: string): Promise<number | undefined> => {
  const text = await readFile(join(directory, 'postmaster.opts'), 'utf8').catch(() => '');
  const port = /"port=(\d+)"/.exec(text)?.[1];
  return port === undefined ? undefined : Number(port);
};

/** What the server wrote since, in one line. */
const tail = async (logFile: string, from: number): Promise<string> => {
  const text = (await readFile(logFile)).subarray(from).toString();
  return text
    .split('\n')
    .map((line) => line.replace(/^.*?(FATAL|ERROR|LOG|HINT|DETAIL):\s*/, ''))
    .filter((line) => line !== '')
    .join('; ')
    .slice(-600);
};

/** Ends the server of the cluster, if one runs; resolves when it is gone. Says false when it would not go. */
export const stopServer = async (directory: string): Promise<boolean> => {
  const found = await readPidFile(directory);
  if (found === undefined || !(await isPostmaster(found.pid, directory))) return true;
  return (await end(found.pid, 'SIGINT', STOP_MS)) || end(found.pid, 'SIGQUIT', QUIT_MS);
};

/**
 * For the last moment of a process, in which nothing can be waited for: tells the server to stop fast, and it goes on
 * stopping by itself.
 */
export const stopServerSoon = (directory: string): void => {
  const found = readPidFileSync(directory);
  if (found === undefined || !isPostmasterSync(found.pid, directory)) return;
  try {
    kill(found.pid, 'SIGINT');
  } catch {
    // Gone already.
  }
};

const end = async (pid: number, by: NodeJS.Signals, patience: number): Promise<boolean> => {
  const until = performance.now() + patience;
  try {
    kill(pid, by);
  } catch {
    return true;
  }
  while (isAlive(pid)) {
    if (performance.now() > until) return false;
    await delay(LOOK_MS);
  }
  return true;
};
