/** Postgres restarted and killed under load: requests wait or get 503 with Retry-After, and the service goes on by itself. */
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/app/free-port.js';
import { postgresAccount } from '../../src/app/postgres/account.js';
import { CLUSTER_USER, makeCluster, type Cluster } from '../../src/app/postgres/cluster.js';
import { embeddedPrograms, systemPrograms } from '../../src/app/postgres/programs.js';
import { startServer, stopServer, type Server } from '../../src/app/postgres/server.js';
import { startLoad } from '../crash/load.js';
import { oneAfterAnother, type Scope } from '../crash/one-after-another.js';
import { COLLECTION } from '../crash/writers.js';
import { path, type Answer } from '../e2e/client.js';
import { flaws, openWatcher } from '../e2e/watcher.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openRelay } from './relay.js';

const PASSWORD = 'for-this-test-only';
const WRITERS = 8;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

interface OwnPostgres {
  readonly url: string;
  restart(how: 'stop' | 'kill'): Promise<void>;
  /** What is connected breaks, and nothing new gets through. */
  shut(): void;
  open(): void;
}

/** A Postgres of this file's own, behind a relay with a fixed port, since a restarted server takes another one. */
async function ownPostgres(t: Scope): Promise<OwnPostgres> {
  const home = await mkdtemp(join(tmpdir(), 'troupe-faults-postgres-'));
  const directory = join(home, 'cluster');
  const signal = AbortSignal.timeout(600_000);
  const account = await postgresAccount(directory, signal);
  if (account !== undefined) await chown(home, account.uid, account.gid);
  const programs = (await systemPrograms(15)) ?? (await embeddedPrograms(account));
  const cluster: Cluster = { programs, account, directory };
  await makeCluster(cluster, PASSWORD, true, signal);
  const start = (): Promise<Server> => startServer(cluster, join(home, 'log'), signal);
  let server = await start();
  const nowhere = await freePort();
  let isOpen = true;
  const relay = await openRelay(() => (isOpen ? server.port : nowhere));
  t.teardown(async () => {
    await relay.close();
    await stopServer(directory);
    await rm(home, { recursive: true, force: true });
  });
  return {
    url: `postgres://${CLUSTER_USER}:${PASSWORD}@127.0.0.1:${relay.port}/postgres`,
    async restart(how) {
      if (how === 'kill') {
        process.kill(server.pid, 'SIGQUIT');
        // Until it is gone its file says that it is ready, and a start would take it for a server that runs.
        await until('the killed server is gone', () => !isAlive(server.pid));
      } else await stopServer(directory);
      server = await start();
    },
    shut() {
      isOpen = false;
      relay.breakAll();
    },
    open() {
      isOpen = true;
    },
  };
}

const onPostgres = oneAfterAnother(async (scope) => {
  const postgres = await ownPostgres(scope);
  const service = await startRunning(scope, { databaseUrl: postgres.url, env: { TROUPE_COMPUTE: 'off' } });
  return { postgres, service };
});

onPostgres(
  'Postgres restarted and killed under load loses nothing that was acknowledged, and the service goes on by itself',
  async (t, { postgres, service }) => {
    t.timeout(240_000);
    const pid = service.pid();
    const watcher = await openWatcher(() => service.client(), COLLECTION);
    const load = startLoad(WRITERS, () => service.client());
    for (const how of ['stop', 'kill', 'stop', 'kill'] as const) {
      await load.more(100);
      await postgres.restart(how);
    }
    await load.more(100);
    await load.end();

    t.is(service.pid(), pid, 'the process is the same');
    t.true(service.alive());
    await load.check(t, service.client());
    const versions = load.acknowledged().map(({ version }) => version);
    const last = Math.max(...versions.filter((version) => !Number.isNaN(version)));
    await until('the watcher is up to date', () => watcher.version() >= last || watcher.failure() !== undefined);
    await watcher.stop();
    t.is(watcher.failure(), undefined);
    t.deepEqual(flaws(watcher, new Set(['default'])), []);
    const seen = new Set(watcher.seen.map(({ version }) => version));
    t.deepEqual(
      versions.filter((version) => !Number.isNaN(version) && !seen.has(version)),
      [],
    );
  },
);

onPostgres(
  'while Postgres is away, a write is answered 503 with Retry-After, and /readyz says what is missing',
  async (t, { postgres, service }) => {
    t.is(
      (
        await service
          .client()
          .post(COLLECTION, { apiVersion: 'svc.dev/v1', kind: 'ServiceAccount', metadata: { name: 'a' }, spec: {} })
      ).status,
      201,
    );
    const upload = async (): Promise<Answer> => service.client().post(path('blobs', 'default'), { any: 'bytes' });
    t.is((await upload()).status, 201);
    postgres.shut();
    const refused = await service.client().merge(`${COLLECTION}/a`, { spec: { description: 'x' } });
    t.is(refused.status, 503, refused.text);
    t.truthy(refused.headers.get('retry-after'));
    const unstored = await upload();
    t.is(unstored.status, 503, unstored.text);
    t.truthy(unstored.headers.get('retry-after'));
    await until('/readyz says so', async () => {
      const ready = await fetch(new URL('/readyz', service.url));
      return ready.status === 503 && (await ready.text()).includes('Postgres does not answer');
    });
    postgres.open();
    await until(
      'it is ready again by itself',
      async () => (await service.client().merge(`${COLLECTION}/a`, { spec: { description: 'y' } })).status === 200,
      60_000,
    );
    t.pass();
  },
);
