/** Postgres restarted and killed under load: requests wait or get 503 with Retry-After, and the service goes on by itself. */
import test, { type ExecutionContext } from 'ava';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgresAccount } from '../../src/app/postgres/account.js';
import { CLUSTER_USER, makeCluster, type Cluster } from '../../src/app/postgres/cluster.js';
import { embeddedPrograms, systemPrograms } from '../../src/app/postgres/programs.js';
import { startServer, stopServer, type Server } from '../../src/app/postgres/server.js';
import { startLoad } from '../crash/load.js';
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

/** A Postgres of this test's own, behind a relay with a fixed port, since a restarted server takes another one. */
async function ownPostgres(t: ExecutionContext): Promise<{
  readonly url: string;
  readonly restart: (how: 'stop' | 'kill') => Promise<void>;
}> {
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
  const relay = await openRelay(() => server.port);
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
  };
}

test.serial(
  'Postgres restarted and killed under load loses nothing that was acknowledged, and the service goes on by itself',
  async (t) => {
    t.timeout(240_000);
    const postgres = await ownPostgres(t);
    const service = await startRunning(t, { databaseUrl: postgres.url });
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

test.serial(
  'while Postgres is away, a write is answered 503 with Retry-After, and /readyz says what is missing',
  async (t) => {
    const postgres = await ownPostgres(t);
    const gate = await closedGate(t, new URL(postgres.url));
    const service = await startRunning(t, { databaseUrl: gate.url });
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
    gate.shut();
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
    gate.open();
    await until(
      'it is ready again by itself',
      async () => (await service.client().merge(`${COLLECTION}/a`, { spec: { description: 'y' } })).status === 200,
      60_000,
    );
    t.pass();
  },
);

/** A relay to this server that can be shut: what is connected breaks, and nothing new gets through. */
async function closedGate(
  t: ExecutionContext,
  server: URL,
): Promise<{ readonly url: string; shut(): void; open(): void }> {
  // A port where nobody listens any more.
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  const nowhere = typeof address === 'object' && address !== null ? address.port : 1;
  let isOpen = true;
  const relay = await openRelay(() => (isOpen ? Number(server.port) : nowhere));
  t.teardown(() => relay.close());
  const url = new URL(server.href);
  url.port = String(relay.port);
  return {
    url: url.href,
    shut() {
      isOpen = false;
      relay.breakAll();
    },
    open() {
      isOpen = true;
    },
  };
}
