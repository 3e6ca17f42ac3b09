/** Redis emptied and restarted: it holds nothing that Postgres does not, so timers still fire (I6). */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { oneAfterAnother, type Scope } from '../crash/one-after-another.js';
import { objectOf, path, textAt } from '../e2e/client.js';
import { freePort } from '../../src/app/free-port.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const missing =
  spawnSync('redis-server', ['--version']).error === undefined ? undefined : 'redis-server is not installed';
const KEYS = path('apikeys', '');
/** How late a timer may be after a fault, beyond its time: some sweeps. */
const LATE_MS = 30_000;

interface OwnRedis {
  readonly url: string;
  /** How many keys it holds. */
  size(): Promise<number>;
  /** Empties it. */
  flush(): Promise<void>;
  /** Ends it without a word and starts another, empty one. */
  restart(): Promise<void>;
}

async function ownRedis(t: Scope): Promise<OwnRedis> {
  const home = await mkdtemp(join(tmpdir(), 'troupe-faults-redis-'));
  const port = await freePort();
  let child: ChildProcess;
  const start = async (): Promise<void> => {
    const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', home, '--save', '', '--appendonly', 'no'];
    child = spawn('redis-server', [...args, '--hz', '100'], { stdio: 'ignore' });
    await until('redis answers', () => reachable(port));
  };
  const kill = async (): Promise<void> => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const command = async <T>(send: (redis: Redis) => Promise<T>): Promise<T> => {
    const redis = new Redis(port);
    try {
      return await send(redis);
    } finally {
      redis.disconnect();
    }
  };
  await start();
  t.teardown(async () => {
    await kill();
    await rm(home, { recursive: true, force: true });
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    size: () => command((redis) => redis.dbsize()),
    async flush() {
      await command((redis) => redis.flushall());
    },
    async restart() {
      await kill();
      await start();
    },
  };
}

function reachable(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

const withRedis = oneAfterAnother(async (scope) => {
  const redis = await ownRedis(scope);
  const env = { REDIS_URL: redis.url, TROUPE_COMPUTE: 'off' };
  return { redis, service: await startRunning(scope, { env }) };
}, missing);

const faults: readonly [name: string, happen: (redis: OwnRedis) => Promise<void>][] = [
  ['emptied', (redis) => redis.flush()],
  ['restarted, and so emptied', (redis) => redis.restart()],
  ['emptied, then restarted', (redis) => redis.flush().then(() => redis.restart())],
];

for (const [index, [name, happen]] of faults.entries()) {
  withRedis(`with Redis ${name}, timers that were armed before still fire`, async (t, { redis, service }) => {
    t.timeout(120_000);
    const client = service.client();
    const expirationTime = new Date(Math.ceil(Date.now() / 1000) * 1000 + 5000).toISOString().replace('.000Z', 'Z');
    const make = async (key: string): Promise<string> => {
      const made = await client.post(KEYS, objectOf('APIKey', key, { scopes: ['jobs:read'], expirationTime }));
      t.is(made.status, 201, made.text);
      return key;
    };
    const keys: string[] = [];
    for (const key of ['first', 'second', 'third']) keys.push(await make(`${key}-${index}`));
    t.true((await redis.size()) > 0, 'the service uses it');
    await happen(redis);
    keys.push(await make(`later-${index}`));
    for (const key of keys) {
      await until(
        `key ${key} expires`,
        async () => textAt((await client.get(`${KEYS}/${key}`)).body, 'status', 'phase') === 'Expired',
        Date.parse(expirationTime) - Date.now() + LATE_MS,
      );
    }
    t.true(Date.now() >= Date.parse(expirationTime), 'and not before their time');
  });
}
