/** No secret is in any line that the service, its runner or its Postgres write, nor in anything that they answer. */
import test from 'ava';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Client as Database } from 'pg';
import { textAt } from '../e2e/client.js';
import { openRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { leaks, make, newValue, openTour, readAll, SECRETS, stumble, work, type Known } from './tour.js';

/** Where secrets belong, below the data directory. */
const HOMES = [/^admin\.key$/, /^master\.key$/, /^kubeconfig$/, /^tls\//, /^postgres\/(password|cluster\/)/];

test.serial(
  'no secret is in any log, file, event or answer after a tour that hands out every one of them',
  async (t) => {
    t.timeout(240_000);
    const masterKey = randomBytes(32).toString('base64');
    const known: Known = new Map([
      ['text', newValue('text')],
      ['lines', `${newValue('first')}\n${newValue('second')}\t"quoted"`],
      ['bytes', newValue('bytes')],
      ['master key', masterKey],
    ]);
    let output = '';
    const service = await openRunning(t, {
      databaseUrl: 'embedded',
      env: { TROUPE_LOG_LEVEL: 'trace', TROUPE_MASTER_KEY: masterKey },
      hear: (text) => (output += text),
    });
    await service.start();
    known.set('first key', service.client().key);
    known.set('password of Postgres', (await readFile(join(service.dataDir, 'postgres', 'password'), 'utf8')).trim());

    const tour = openTour(() => service.client(), known);
    await make(tour);
    await work(tour);
    await stumble(tour);
    await readAll(tour, service);
    await t.notThrowsAsync(crash(service, tour));
    await readAll(tour, service);
    t.deepEqual(tour.found, [], 'answers');

    service.signal('SIGTERM');
    await until('it has ended', () => !service.alive());
    t.regex(output, /an actor crashed/, 'the log was heard');
    t.deepEqual(leaks(output, known), [], 'the log');
    t.deepEqual(await leakyFiles(service.dataDir, known), [], 'files');
  },
);

/** A state that no program could have written, so that whoever reads it fails, with a value in hand. */
async function crash(service: Running, tour: ReturnType<typeof openTour>): Promise<void> {
  await service.kill();
  const port = (await readFile(join(service.dataDir, 'postgres/cluster/postmaster.pid'), 'utf8')).split('\n')[3];
  const password = tour.known.get('password of Postgres');
  const database = new Database({ connectionString: `postgres://troupe:${password}@127.0.0.1:${port}/troupe` });
  await database.connect();
  await database.query("update objects set private = 'no JSON' where kind = 'Secret' and name = 'mounted'");
  await database.end();
  await service.start();
  await until('it is parked', async () => {
    const answer = await tour.ask('PATCH', `${SECRETS}/mounted`, {
      body: { spec: { stringData: { FIRST: tour.known.get('text') } } },
      contentType: 'application/merge-patch+json',
    });
    return answer.status === 503 && textAt(answer.body, 'message').includes('parked');
  });
}

async function leakyFiles(directory: string, known: Known): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const name = relative(directory, file);
    if (!entry.isFile() || HOMES.some((home) => home.test(name))) continue;
    for (const what of leaks(await readFile(file, 'latin1').catch(() => ''), known)) found.push(`${name}: ${what}`);
  }
  return found;
}

test.serial('a start that is refused tells no password and no key', async (t) => {
  t.timeout(120_000);
  const known: Known = new Map([
    ['password', newValue('password')],
    ['key', newValue('key')],
  ]);
  const password = known.get('password');
  const unreachable = {
    REDIS_URL: `redis://:${password}@127.0.0.1:1`,
    DATABASE_URL: `postgres://me:${password}@127.0.0.1:1/none`,
  };
  const unfit = {
    DATABASE_URL: `mysql://me:${password}@127.0.0.1:1/none`,
    REDIS_URL: `http://:${password}@127.0.0.1:1`,
    TROUPE_MASTER_KEY: known.get('key') ?? '',
    TROUPE_UNKNOWN: known.get('key') ?? '',
  };
  const settings = [
    { env: unreachable, refused: ['DATABASE_URL'] },
    // All at once, in a line each.
    { env: unfit, refused: Object.keys(unfit) },
  ];
  const starts = settings.map(async ({ env, refused }) => {
    let output = '';
    const service = await openRunning(t, {
      databaseUrl: 'postgres://127.0.0.1:1/none',
      env: { TROUPE_LOG_LEVEL: 'trace', ...env },
      hear: (text) => (output += text),
    });
    service.launch();
    await until('it has ended', () => !service.alive(), 60_000);
    for (const name of refused) t.true(output.includes(name), `${name}: ${output}`);
    t.deepEqual(leaks(output, known), [], `${Object.keys(env).join()}: ${output}`);
  });
  await Promise.all(starts);
});
