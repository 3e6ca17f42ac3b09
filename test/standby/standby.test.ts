/**
 * Two processes on one database: one is active, one waits. The right to write is a lease with an epoch (I3); it passes on
 * when its holder is gone or silent, and a holder that comes back late can write nothing.
 */
import test from 'ava';
import { join } from 'node:path';
import { Client as Database } from 'pg';
import { readListening } from '../../src/app/listening.js';
import { oneAfterAnother } from '../crash/one-after-another.js';
import { type Client, objectOf, path, textAt } from '../e2e/client.js';
import { openRunning, startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const COLLECTION = path('serviceaccounts', 'default');
/** What is promised. */
const TAKE_OVER_MS = 10_000;

const account = (name: string): unknown => objectOf('ServiceAccount', name, { description: name });

async function statusOf(url: string, route: string): Promise<number> {
  const response = await fetch(new URL(route, url), { signal: AbortSignal.timeout(2000) });
  await response.body?.cancel();
  return response.status;
}

/** Two processes: each test begins with one that is active and one that waits. */
interface Pair {
  /** Has the files that both share. */
  readonly first: Running;
  active: Running;
  standby: Running;
}

/** Starts it if it does not run, and waits until it is up and waits. */
async function waits(standby: Running): Promise<void> {
  if (!standby.alive()) standby.launch();
  await until('the standby lives', async () => (await statusOf(standby.url, '/livez')) === 200, 30_000);
  const ready = await statusOf(standby.url, '/readyz');
  if (ready !== 503) throw new Error(`the standby answers ${ready} at /readyz`);
}

const withStandby = oneAfterAnother(async (scope): Promise<Pair> => {
  const first = await startRunning(scope);
  const standby = await openRunning(scope, { beside: first });
  await waits(standby);
  return { first, active: first, standby };
});

/** The standby has taken over: the one that was active waits now. */
async function passOn(pair: Pair): Promise<void> {
  [pair.active, pair.standby] = [pair.standby, pair.active];
  await waits(pair.standby);
}

withStandby(
  'a standby takes over within 10 s when the active process is SIGKILLed, and nothing acknowledged is lost',
  async (t, pair) => {
    const { active, standby } = pair;
    const client: Client = active.client();
    const made: string[] = [];
    for (let each = 0; each < 50; each += 1) {
      const answer = await client.post(COLLECTION, account(`kept-${each}`));
      if (answer.status === 201) made.push(`kept-${each}`);
    }
    t.is(made.length, 50);
    const killed = performance.now();
    await active.kill();
    await standby.ready(TAKE_OVER_MS + 20_000);
    const took = performance.now() - killed;
    t.log(`took over after ${Math.round(took)} ms`);
    t.true(took <= TAKE_OVER_MS, `${Math.round(took)} ms`);
    t.is((await readListening(standby.dataDir))?.pid, standby.pid());
    const after = standby.client();
    for (const name of made) t.is((await after.get(`${COLLECTION}/${name}`)).status, 200, name);
    t.is((await after.post(COLLECTION, account('of-the-second'))).status, 201);
    await passOn(pair);
  },
);

withStandby(
  'a process stopped past its lease is replaced within 10 s; continued, it can write nothing and says so',
  async (t, pair) => {
    const { active, standby } = pair;
    const first = active.client();
    t.is((await first.post(COLLECTION, account('before'))).status, 201);
    const saidBefore = new Set(active.log().split('\n'));

    const stopped = performance.now();
    active.signal('SIGSTOP');
    // Requests that wait in the stopped process's sockets and are read when it goes on.
    const waiting = [0, 1, 2, 3].map((each) =>
      first.post(COLLECTION, account(`late-${each}`)).then(
        (answer) => answer.status,
        () => 0,
      ),
    );
    await standby.ready(TAKE_OVER_MS + 20_000);
    const took = performance.now() - stopped;
    t.log(`took over after ${Math.round(took)} ms`);
    t.true(took <= TAKE_OVER_MS, `${Math.round(took)} ms`);
    const second = standby.client();
    t.is((await second.merge(`${COLLECTION}/before`, { spec: { description: 'of the second' } })).status, 200);

    active.signal('SIGCONT');
    const answers = await Promise.all(waiting);
    t.true(
      answers.every((status) => status === 0 || status === 503),
      answers.join(),
    );
    const later = await first
      .merge(`${COLLECTION}/before`, { spec: { description: 'of the first' } })
      .catch(() => undefined);
    t.true(later === undefined || later.status === 503, later?.text ?? '');
    await until(
      'the first says that it has lost the right to write',
      async () =>
        active
          .log()
          .split('\n')
          .some((line) => !saidBefore.has(line) && /lease|fenced|took over|taken over/i.test(line)) &&
        (!active.alive() || (await statusOf(active.url, '/readyz')) !== 200),
      20_000,
    );
    for (const each of [0, 1, 2, 3]) t.is((await second.get(`${COLLECTION}/late-${each}`)).status, 404);
    const read = await second.get(`${COLLECTION}/before`);
    t.is(textAt(read.body, 'spec', 'description'), 'of the second');
    t.is((await second.post(COLLECTION, account('goes-on'))).status, 201);
    await passOn(pair);
  },
);

withStandby(
  'a standby says what it waits for, refuses writes with 503, and is refused itself where it does not fit',
  async (t, { first, active, standby }) => {
    await until('it says so', async () => {
      const ready = await fetch(new URL('/readyz?verbose', standby.url));
      return /lease|standby|another/i.test(await ready.text());
    });
    const { key } = active.client();
    const answer = await standby.client().ask('POST', COLLECTION, { body: account('here'), key });
    t.is(answer.status, 503, answer.text);
    t.truthy(answer.headers.get('retry-after'));
    t.is(textAt(answer.body, 'kind'), 'Status');

    // Which process is the active one stands in a file that scripts kill by.
    t.is((await readListening(active.dataDir))?.pid, active.pid());
    t.is(await readListening(standby.dataDir), undefined);
    t.is((await readListening(standby.dataDir, 'standby'))?.pid, standby.pid());

    for (const [what, env] of [
      ['the master key', { TROUPE_MASTER_KEY: Buffer.alloc(32, 8).toString('base64') }],
      ['TROUPE_BLOB_DIR', { TROUPE_BLOB_DIR: join(standby.dataDir, 'other-blobs') }],
    ] as const) {
      const other = await openRunning(t, { beside: first, env });
      other.launch();
      await until(`a process with another ${what} has ended`, () => !other.alive(), 30_000);
      t.regex(other.log(), /process ended: 3/);
      t.true(other.log().includes(what), other.log());
    }

    // It is the last test that these two serve. A newer program was here: this standby can take over, and may not.
    const database = new Database({ connectionString: active.databaseUrl });
    await database.connect();
    t.teardown(() => database.end());
    await database.query("INSERT INTO schema_versions (number, name) VALUES (9001, '9001_later')");
    await active.kill();
    await until('the standby has given up', () => !standby.alive(), 30_000);
    t.regex(standby.log(), /has migration 9001.*start a program at least as new/);
    t.regex(standby.log(), /process ended: 3/);
    t.is(await readListening(standby.dataDir, 'standby'), undefined);
  },
);

test.serial('a start on the same data takes over at once, with no wait for the lease of the dead one', async (t) => {
  // So long a lease that waiting for it cannot be taken for a slow machine.
  const leaseSeconds = 120;
  const service = await startRunning(t, { env: { TROUPE_COMPUTE: 'off', TROUPE_LEASE_SECONDS: String(leaseSeconds) } });
  t.is((await service.client().post(COLLECTION, account('kept'))).status, 201);
  await service.kill();
  const took = await service.start();
  t.log(`ready after ${Math.round(took)} ms`);
  t.is((await service.client().get(`${COLLECTION}/kept`)).status, 200);
  t.true(took < (leaseSeconds * 1_000) / 2, `${Math.round(took)} ms`);
});
