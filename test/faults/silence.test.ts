/**
 * Packets between the service and Postgres vanish and nobody is told: no connection is closed, no statement fails.
 *
 * `SILENCE_ROUNDS` (1): with more, the service is also told to stop while nothing passes, which takes it most of a minute.
 */
import test from 'ava';
import { startLoad } from '../crash/load.js';
import { COLLECTION } from '../crash/writers.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openTestDatabase } from '../support/postgres.js';
import { openRelay } from './relay.js';

const ROUNDS = Number(process.env['SILENCE_ROUNDS'] ?? 1);
const WRITERS = 4;
/** More than the lease, and much less than the hours after which a kernel gives up. */
const BOUND_MS = 30_000;

test('a service that hears nothing of Postgres steps down in bounded time, serves again by itself, and loses nothing acknowledged', async (t) => {
  t.timeout(ROUNDS * 120_000 + 240_000);
  const database = await openTestDatabase(t);
  const url = new URL(database.url);
  const relay = await openRelay(() => Number(url.port));
  t.teardown(() => relay.close());
  const through = new URL(url);
  through.port = String(relay.port);
  const service = await startRunning(t, { databaseUrl: through.href, env: { TROUPE_COMPUTE: 'off' } });
  const pid = service.pid();
  const statusOf = async (route: string): Promise<number> =>
    (await fetch(new URL(route, service.url), { signal: AbortSignal.timeout(5_000) })).status;
  const load = startLoad(WRITERS, () => service.client());

  /** Not only that the time of its lease is over: until it steps down it would go on when it is heard again. */
  const hasSteppedDown = async (): Promise<boolean> => {
    const ready = await fetch(new URL('/readyz', service.url), { signal: AbortSignal.timeout(5_000) });
    return ready.status === 503 && !(await ready.text()).includes('the time of the lease is over');
  };

  const silence = async (): Promise<void> => {
    relay.silence(true);
    await until('it is not ready', async () => (await statusOf('/readyz')) === 503, BOUND_MS);
    await until('it has stepped down', hasSteppedDown, BOUND_MS);
    t.is(await statusOf('/livez'), 200, 'nothing that a restart would mend');
    const refused = await service.client().merge(`${COLLECTION}/none`, { spec: { description: 'x' } });
    t.is(refused.status, 503, refused.text);
  };

  for (let round = 0; round < ROUNDS; round += 1) {
    await load.more(50);
    await silence();
    relay.silence(false);
    await until('it is ready again', async () => (await statusOf('/readyz')) === 200, 60_000);
  }
  await load.more(50);
  await load.end();
  t.is(service.pid(), pid);
  t.true(service.alive(), 'the process is the same');
  await load.check(t, service.client());

  if (ROUNDS === 1) return;
  await silence();
  service.signal('SIGTERM');
  await until('it ends, though Postgres does not say good-bye', () => !service.alive(), 2 * BOUND_MS);
  t.notRegex(service.log(), /something keeps the process/);
  relay.silence(false);
});
