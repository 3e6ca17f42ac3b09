/** The two real backends under test: a fresh Postgres database, and a Redis server of its own that can be killed. */
import type { ExecutionContext } from 'ava';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { freePort } from '../../src/app/free-port.js';
import type { QueueBackend } from '../../storage/queues/queue.js';
import { openTestDatabase } from '../support/postgres.js';

export interface BackendUnderTest {
  readonly backend: QueueBackend;
  /** Cuts every connection; what was stored stays. */
  cut(): Promise<void>;
  /** Everything stored is gone, and so are the connections where the backend can be restarted. */
  wipe(): Promise<void>;
  /** Connections stay, but no job is given, until `allow`. */
  refuse(): Promise<void>;
  allow(): Promise<void>;
}

export interface Driver {
  readonly name: string;
  /** Undefined when it can run here; else what is missing. */
  readonly missing: string | undefined;
  open(t: ExecutionContext): Promise<BackendUnderTest>;
}

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

export const REDIS: Driver = {
  name: 'Redis',
  missing: hasRedis ? undefined : 'redis-server is not installed',
  open: openRedis,
};
export const DRIVERS: readonly Driver[] = [{ name: 'Postgres', missing: undefined, open: openPostgres }, REDIS];

async function openPostgres(t: ExecutionContext): Promise<BackendUnderTest> {
  const database = await openTestDatabase(t);
  const admin = async (sql: string): Promise<void> => {
    const client = new Client(database.url);
    client.on('error', () => {});
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  const cut = (): Promise<void> =>
    admin(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
  return {
    backend: { backend: 'postgres', url: database.url },
    cut,
    async wipe() {
      await admin('TRUNCATE bullmq.job CASCADE');
      await cut();
    },
    refuse: () => admin('ALTER TABLE bullmq.job RENAME TO job_away'),
    allow: () => admin('ALTER TABLE bullmq.job_away RENAME TO job'),
  };
}

async function openRedis(t: ExecutionContext): Promise<BackendUnderTest> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-redis-'));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server = await startRedis(port, dir);
  const stop = async (): Promise<void> => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL');
      await ended;
    }
  };
  t.teardown(async () => {
    await stop();
    await rm(dir, { recursive: true });
  });
  return {
    backend: { backend: 'redis', url },
    cut: async () => void (await askRedis(url, 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')),
    async wipe() {
      // Nothing is persisted (`--save ''`), so the new server is an empty one.
      await stop();
      server = await startRedis(port, dir);
    },
    refuse: async () => void (await askRedis(url, 'ACL', 'SETUSER', 'default', '-eval', '-evalsha')),
    allow: async () => void (await askRedis(url, 'ACL', 'SETUSER', 'default', '+eval', '+evalsha')),
  };
}

export async function askRedis(url: string, command: string, ...args: string[]): Promise<unknown> {
  const redis = new Redis(url, { enableReadyCheck: false });
  try {
    return await redis.call(command, ...args);
  } finally {
    redis.disconnect();
  }
}

async function startRedis(port: number, dir: string): Promise<ChildProcess> {
  const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', dir], {
    stdio: 'ignore',
  });
  await until(() => canConnect(port), 'Redis listens');
  return server;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });
}

/** Waits for a condition, and says which one when it does not come true in time. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  deadlineMs = 20_000,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await sleep(10);
  }
}
