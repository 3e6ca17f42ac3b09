/** The sender over real rows and a real receiver: more than fits into memory, storage that fails, a stop in the middle. */
import { setMaxListeners } from 'node:events';
import test from 'ava';
import { openEndpointStatus } from '../../../actors/delivery/endpoint-status.js';
import { openSender, type SenderDeps } from '../../../actors/delivery/sender.js';
import { openDeliveryResults } from '../../../actors/delivery/delivery-results.js';
import type { Endpoint } from '../../../actors/delivery/endpoints.js';
import { openDialer } from '../../../src/engines/dialer/dialer.js';
import { openDeliveries, type Deliveries } from '../../../storage/webhooks/deliveries.js';
import { openFixture, type Fixture } from '../../storage/fixtures.js';
import { until } from '../../e2e/until.js';
import { missing, openServer } from '../../engines/dialer/server.js';

const run = missing === undefined ? test : test.skip;

/** So many pending ones of one endpoint. */
async function fill(f: Fixture, endpoint: string, count: number): Promise<void> {
  await f.store.postgres.write(
    {
      name: 'fill',
      text: `
INSERT INTO deliveries (id, org, endpoint, version, event, time, due_at, body)
SELECT $1 || '-' || n, 'o-1', $1, 1, 'job.x', now(), now() - interval '1 minute', '{}' FROM generate_series(1, $2::int) n`,
    },
    [endpoint, count],
  );
}

async function phases(f: Fixture): Promise<Record<string, number>> {
  const rows = await f.store.postgres.readRows<[string, number]>({
    name: 'phases',
    text: 'SELECT phase, count(*) FROM deliveries GROUP BY phase',
  });
  return Object.fromEntries(rows);
}

interface SenderFixture {
  readonly sender: ReturnType<typeof openSender>;
  readonly counts: Map<string, number>;
  stop(): Promise<void>;
}

async function openSenderFixture(
  t: Parameters<typeof openFixture>[0],
  f: Fixture,
  more: Partial<SenderDeps> & { readonly recordResults?: Deliveries['recordResults']; readonly slowMs?: number } = {},
): Promise<SenderFixture> {
  const counts = new Map<string, number>();
  const server = await openServer(t, (request, response) => {
    const id = String(request.headers['webhook-id']);
    counts.set(id, (counts.get(id) ?? 0) + 1);
    request.resume();
    setTimeout(() => response.writeHead(204).end(), more.slowMs ?? 0);
  });
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const deliveries = openDeliveries(f.store.postgres);
  const onProblem = (): void => {};
  const results = openDeliveryResults({
    write: more.recordResults ?? deliveries.recordResults,
    onProblem,
    stopping: stopping.signal,
  });
  const dialer = openDialer({ ca: [server.ca], allow: ['127.0.0.1'] });
  const endpoint = (uid: string): Endpoint => ({
    address: { org: 'o-1', kind: 'WebhookEndpoint', project: '', name: uid },
    uid,
    url: `https://127.0.0.1:${server.port}/`,
    open: uid !== 'paused',
    openSince: 0,
    previousUntil: undefined,
    counts: false,
    matches: () => true,
  });
  const sender = openSender({
    deliveries,
    endpoints: { get: (uid) => (uid === 'gone' ? undefined : endpoint(uid)) },
    keys: { of: () => Promise.resolve([Buffer.from('k')]) },
    results,
    dialer,
    now: f.store.clock,
    chance: () => 0,
    onAttempt: () => {},
    onProblem,
    stopping: stopping.signal,
    ...more,
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await sender.ended();
    await results.close();
    dialer.close();
  };
  t.teardown(stop);
  return { sender, counts, stop };
}

run('what does not fit into memory is sent as well, each once, beside what is given up', async (t) => {
  const f = await openFixture(t);
  await fill(f, 'many', 1_500);
  await fill(f, 'few', 10);
  await fill(f, 'paused', 20);
  await fill(f, 'gone', 20);
  const { counts } = await openSenderFixture(t, f);
  await until('all are settled', async () => (await phases(f))['Pending'] === undefined, 60_000);
  t.deepEqual(await phases(f), { Succeeded: 1_510, Abandoned: 40 });
  t.is(counts.size, 1_510);
  t.deepEqual(
    [...counts.values()].filter((count) => count !== 1),
    [],
  );
});

run('what storage could not note for a while is noted later, and sent no second time meanwhile', async (t) => {
  const f = await openFixture(t);
  await fill(f, 'one', 50);
  const deliveries = openDeliveries(f.store.postgres);
  let away = 4;
  const { counts } = await openSenderFixture(t, f, {
    recordResults: (results) => (away-- > 0 ? Promise.reject(new Error('away')) : deliveries.recordResults(results)),
  });
  await until('all are settled', async () => (await phases(f))['Succeeded'] === 50, 30_000);
  t.deepEqual(
    [...counts.values()].filter((count) => count !== 1),
    [],
  );
});

run('a drain lets attempts in hand end and begins no others; what was not begun stays pending', async (t) => {
  const f = await openFixture(t);
  await fill(f, 'one', 100);
  const { sender, counts, stop } = await openSenderFixture(t, f, { slowMs: 100 });
  await until('some are in hand', () => counts.size >= 8);
  await sender.drain(5_000);
  await stop();
  const sent = counts.size;
  t.true(sent < 100);
  t.deepEqual(await phases(f), { Succeeded: sent, Pending: 100 - sent });
});

run('an endpoint is told about once per round how it stands, and again when it could not be told', async (t) => {
  const f = await openFixture(t);
  await fill(f, 'one', 2);
  const deliveries = openDeliveries(f.store.postgres);
  const attempt = { at: f.store.clock(), status: 500, durationMs: 1 };
  await deliveries.recordResults([{ id: 'one-1', before: 0, phase: 'Failed', attempt }]);
  const stopping = new AbortController();
  const told: unknown[] = [];
  let refusals = 1;
  const address = { org: 'o-1', kind: 'WebhookEndpoint', project: '', name: 'one' };
  const endpoint = { address, uid: 'one', url: '', open: true, openSince: 0, previousUntil: undefined, counts: false };
  const one: Endpoint = { ...endpoint, matches: () => true };
  const reports = openEndpointStatus({
    deliveries,
    endpoints: { get: () => one, all: () => [one] },
    tell(_, message) {
      told.push(message);
      return Promise.resolve(refusals-- <= 0);
    },
    onProblem: (message) => t.fail(message),
    stopping: stopping.signal,
    everyMs: 20,
  });
  const last = { attempt: 1, event: 'job.x', status: 500, time: attempt.at };
  reports.note('one', { ...last, time: attempt.at - 1_000 });
  reports.note('one', last);
  await until('it is told twice', () => told.length >= 2);
  stopping.abort();
  await reports.ended;
  const recent = [{ succeeded: false, time: attempt.at }];
  t.deepEqual(told, [told[1], { type: 'DeliveriesSeen', recent, succeeded: 0, failed: 1, last }]);
});
