/**
 * A real network between two processes of the service and Postgres loses packets: all of the active one's, some of
 * everybody's, and with more rounds all of everybody's. The kernel's TCP is the one that finds out, or does not.
 *
 * `SILENCE_ROUNDS` (1): each round silences the process that is then active, so that the lease goes to and fro.
 */
import test, { type ExecutionContext } from 'ava';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client as Database } from 'pg';
import { startLoad } from '../crash/load.js';
import { COLLECTION } from '../crash/writers.js';
import { type Answer, type Ask, client, type Client, objectOf, parsed, path, textAt } from '../e2e/client.js';
import { openRunning, startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { missingForNetwork, openLossyNetwork, type LossyNetwork, type Path } from './lossy-network.js';

const ROUNDS = Number(process.env['SILENCE_ROUNDS'] ?? 1);
const WRITERS = 4;
/** More than the lease, and much less than the hours after which a kernel gives up. */
const BOUND_MS = 30_000;
/** Longest wait for an answer: a read that was under way when the packets went has 33 s. */
const ANSWER_MS = 45_000;
/** Longest wait until all is well again: every part has a limit of its own, and TCP's own pauses double while packets are lost. */
const HEALED_MS = 90_000;
const SOME = 0.3;
/** How long some packets are lost. */
const LOSSY_MS = 6_000;
const SERVER = fileURLToPath(new URL('../support/postgres-server.js', import.meta.url));

/** Name of the account that is created only where nothing may be written. */
const REFUSED = 'refused';
const WAITING_COMMITS =
  "SELECT 1 FROM pg_stat_activity WHERE application_name = 'troupe commit' AND wait_event = 'SyncRep'";

const missing = missingForNetwork();
const title =
  'a service whose packets to Postgres vanish gives the lease away, answers meanwhile, and loses and doubles nothing';

/** A Postgres in the network's namespace; answers its URL by the first address. */
async function postgresIn(t: ExecutionContext, network: LossyNetwork): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'troupe-faults-network-'));
  const announcement = join(home, 'server.json');
  const [command, ...args] = [...network.enter, process.execPath, SERVER];
  const server = spawn(command, [...args, String(process.pid), announcement, network.addresses[0]], {
    stdio: 'inherit',
  });
  const ended = once(server, 'exit');
  t.teardown(async () => {
    server.kill('SIGTERM');
    await ended;
    await rm(home, { recursive: true, force: true });
  });
  const text = await until('Postgres runs', () => readFile(announcement, 'utf8'), BOUND_MS);
  return textAt(parsed(text), 'url');
}

async function isReady(service: Running): Promise<boolean> {
  const answer = await fetch(new URL('/readyz', service.url), { signal: AbortSignal.timeout(5_000) });
  await answer.body?.cancel();
  return answer.status === 200;
}

/**
 * Does this while a COMMIT of the service waits in Postgres, which for a moment has it wait for a replica that is not there.
 * It is carried out afterwards.
 */
async function withCommitUnderWay(url: string, act: () => void): Promise<void> {
  const database = new Database({ connectionString: url });
  await database.connect();
  try {
    await database.query("ALTER SYSTEM SET synchronous_standby_names = 'none'");
    await database.query('SELECT pg_reload_conf()');
    await until('a COMMIT waits', async () => (await database.query(WAITING_COMMITS)).rowCount !== 0);
    act();
  } finally {
    await database.query('ALTER SYSTEM RESET synchronous_standby_names');
    await database.query('SELECT pg_reload_conf()');
    await database.end();
  }
}

/**
 * Each way to ask is answered in bounded time: with what is known, or with a refusal. `certain`: the service knows that it may
 * not write, so the creates are refused; otherwise they may have been carried out.
 */
async function answersInTime(t: ExecutionContext, { ask: send }: Client, certain: boolean): Promise<void> {
  const account = objectOf('ServiceAccount', certain ? REFUSED : 'in-doubt', {});
  const began = performance.now();
  const signal = AbortSignal.timeout(2 * ANSWER_MS);
  const ask = async (method: string, to: string, options: Ask = {}): Promise<Answer> => {
    const answer = await send(method, to, { ...options, signal });
    const took = Math.round(performance.now() - began);
    t.true(took < ANSWER_MS, `${method} ${to}: ${answer.status} after ${took} ms`);
    t.true([200, 201, 404, 409, 503].includes(answer.status), `${method} ${to}: ${answer.status} ${answer.text}`);
    return answer;
  };
  const writes = [
    ask('POST', COLLECTION, { body: account }),
    ask('POST', COLLECTION, { body: account, headers: { 'idempotency-key': `certain-${certain}` } }),
  ];
  const rest = [
    ask('DELETE', `${COLLECTION}/none`),
    ask('GET', COLLECTION),
    ask('GET', `${COLLECTION}/none`),
    ask('GET', path('events', 'default')),
  ];
  for (const answer of await Promise.all(writes)) if (certain) t.is(answer.status, 503, answer.text);
  await Promise.all(rest);
}

const onNetwork = missing === undefined ? test : test.skip;
onNetwork(missing === undefined ? title : `${title} (${missing})`, async (t) => {
  t.timeout(ROUNDS * 300_000 + 120_000);
  const network = await openLossyNetwork();
  t.teardown(() => network.close());
  const url = await postgresIn(t, network);
  const urlBy = (way: Path): string => {
    const by = new URL(url);
    by.hostname = network.addresses[way];
    return by.href;
  };
  const env = { TROUPE_COMPUTE: 'off' };
  const first = await startRunning(t, { databaseUrl: url, env });
  const second = await openRunning(t, { beside: first, env: { ...env, DATABASE_URL: urlBy(1) } });
  second.launch();
  const services = [first, second] as const;
  await until('the standby lives', async () => (await fetch(new URL('/livez', second.url))).status === 200, BOUND_MS);

  let active: Path = 0;
  const other = (): Path => (active === 0 ? 1 : 0);
  const key = first.client().key;
  const load = startLoad(WRITERS, () => clientOf(services[active], key));

  // Of two looks at one with a look at the other in between: both were ready at that time.
  const over = new AbortController();
  let bothReady = 0;
  const watching = (async () => {
    while (!over.signal.aborted) {
      const looks: boolean[] = [];
      for (const each of [0, 1, 0] as const) looks.push(await isReady(services[each]).catch(() => false));
      if (looks.every(Boolean)) bothReady += 1;
      else if (looks[1] === true) active = 1;
      else if (looks[2] === true) active = 0;
      await delay(50);
    }
  })();
  t.teardown(() => over.abort());
  const someoneServes = (): Promise<unknown> =>
    until('one of them is ready', async () => (await isReady(first)) || (await isReady(second)), HEALED_MS);

  for (let round = 0; round < ROUNDS; round += 1) {
    await load.more(50);
    const silenced = active;
    const successor = other();
    await withCommitUnderWay(urlBy(successor), () => network.lose(1, [silenced], 'answers'));
    const early = answersInTime(t, clientOf(services[silenced], key), false);
    early.catch(() => {});
    await until('it is not ready', async () => !(await isReady(services[silenced])), BOUND_MS);
    network.lose(1, [silenced]);
    if (ROUNDS > 1) await early;
    await answersInTime(t, clientOf(services[silenced], key), true);
    await until('the other one has the lease', () => active === successor && isReady(services[successor]), BOUND_MS);
    await load.more(50, HEALED_MS);
    network.lose(0, []);
    await load.more(50);
    t.false(await isReady(services[silenced]), 'it is the standby now');

    network.lose(SOME, [0, 1]);
    await delay(LOSSY_MS);
    network.lose(0, []);
    await someoneServes();
    await load.more(50, HEALED_MS);

    await early;
    if (ROUNDS === 1) continue;
    network.lose(1, [0, 1]);
    await until('none is ready', async () => !(await isReady(first)) && !(await isReady(second)), BOUND_MS);
    await answersInTime(t, clientOf(services[active], key), true);
    network.lose(0, []);
    await someoneServes();
  }

  await load.more(50, HEALED_MS);
  await load.end();
  over.abort();
  await watching;
  t.is(bothReady, 0, 'never had both of them the lease');
  t.true(first.alive() && second.alive(), 'both processes are still there');
  await load.check(t, clientOf(services[active], key));
  t.is(
    (await clientOf(services[active], key).get(`${COLLECTION}/${REFUSED}`)).status,
    404,
    'what was refused is not there',
  );

  const database = new Database({ connectionString: url });
  await database.connect();
  t.teardown(() => database.end());
  const { rows } = await database.query<{ mark: string; version: string }>(
    `SELECT substring(after from '"description":"([0-9.]+)"') AS mark, version FROM changes
     WHERE type <> 'D' AND after ~ '"description":"[0-9.]+"'
       AND substring(after from '"description":"([0-9.]+)"') IS DISTINCT FROM substring(before from '"description":"([0-9.]+)"')`,
  );
  const written = new Map(rows.map(({ mark, version }) => [mark, Number(version)]));
  t.is(written.size, rows.length, 'no write was carried out twice');
  for (const { mark, version } of load.acknowledged()) if (mark !== undefined) t.is(written.get(mark), version, mark);
});

const clientOf = (service: Running, key: string): Client => client(service.url, key);
