/**
 * Owns the Redis of tests: the one at `TEST_REDIS_URL` (`npm test` sets it), or one of a test's own, which it may empty,
 * stop and kill.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../ops/free-port.js';

/** A free port may be taken a moment later. */
const TRIES = 5;
const READY_MS = 20_000;

export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** Ends the server with all that it held; `start` brings an empty one back on the same port. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A Redis of its own, with nothing on disk. It ticks 100 times a second (`hz`), so that timers are late by some
 * milliseconds only.
 */
export const openTestRedis = async (): Promise<TestRedis> => {
  const home = await mkdtemp(join(tmpdir(), 'troupe-test-redis-'));
  let running: Running | undefined;
  for (let attempt = 0; attempt < TRIES && running === undefined; attempt++) {
    running = await launch(home, await freePort());
  }
  if (running === undefined) {
    await rm(home, { recursive: true, force: true });
    throw new Error('redis-server does not start');
  }
  const { port } = running;
  const kill = async (): Promise<void> => {
    await running?.end('SIGKILL');
    running = undefined;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill,
    start: async () => {
      running ??= await launch(home, port);
      if (running === undefined) throw new Error(`redis-server does not start on port ${port}`);
    },
    close: async () => {
      await kill();
      await rm(home, { recursive: true, force: true });
    },
  };
};

interface Running {
  readonly port: number;
  readonly end: (by: NodeJS.Signals) => Promise<void>;
}

const launch = async (home: string, port: number): Promise<Running | undefined> => {
  const keep = ['--dir', home, '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', ['--bind', '127.0.0.1', '--port', String(port), '--hz', '100', ...keep], {
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const end = async (by: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(by);
    await ended;
  };
  const until = performance.now() + READY_MS;
  while (performance.now() < until && child.pid !== undefined && child.exitCode === null) {
    if (await answers(port)) return { port, end };
    await Promise.race([ended, delay(20)]);
  }
  if (child.pid !== undefined) await end('SIGKILL');
  return undefined;
};

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
