/**
 * Makes the databases of tests, each a fresh one on a real Postgres.
 *
 * The server is the one at `TEST_DATABASE_URL` (`npm test` sets it), else one that the first test to ask starts for
 * the whole run (all test files of one `ava` process share it); it ends with that process.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { Client } from 'pg';
import { z } from 'zod';
import { processStart } from '../../src/process-start.js';

/** A cluster is made and started in about a second; more when all test files start at once. */
const SERVER_MS = 60_000;

export interface TestDatabase {
  /** Of a superuser of that server. */
  readonly url: string;
  /** Drops it, also when connections are still open. */
  close(): Promise<void>;
}

interface Teardown {
  teardown(release: () => Promise<void>): void;
}

/** What `postgres-server.ts` makes once: a template with all migrations. */
export const MIGRATED = 'migrated';

/**
 * A new database without objects. Where the server has one to copy the migrations are in it already: applying them takes five times the
 * processor time. With `t`, it is dropped when that test ends.
 */
export const openTestDatabase = async (t?: Teardown): Promise<TestDatabase> => {
  if (!(await canCopy())) return openDatabase('template0', t);
  const database = await openDatabase(`${MIGRATED} ${COPY}`, t);
  // By this one services tell their databases apart.
  await statement(database.url, 'update clock set cluster_id = gen_random_uuid()');
  return database;
};

/** A new database with nothing in it, for tests of what makes its tables. With `t`, it is dropped when that test ends. */
export const openEmptyDatabase = async (t?: Teardown): Promise<TestDatabase> =>
  openDatabase((await canCopy()) ? `template0 ${COPY}` : 'template0', t);

/** Half the processor time of the other way, which writes all pages to the log. Postgres 15 and newer know it. */
const COPY = 'strategy file_copy';

let migratedThere: Promise<boolean> | undefined;

const canCopy = (): Promise<boolean> => {
  migratedThere ??= serverUrl().then(async (server) => {
    const found = await statement(server, `select from pg_database where datname = '${MIGRATED}' and datistemplate`);
    return found === 1;
  });
  return migratedThere;
};

const openDatabase = async (template: string, t?: Teardown): Promise<TestDatabase> => {
  const server = await serverUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await statement(server, `create database ${name} template ${template}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const database = {
    url: url.href,
    close: async () => void (await statement(server, `drop database if exists ${name} with (force)`)),
  };
  t?.teardown(database.close);
  return database;
};

/** How many rows it found or touched. */
const statement = async (url: string, sql: string): Promise<number> => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 20_000 });
  await client.connect();
  try {
    return (await client.query(sql)).rowCount ?? 0;
  } finally {
    await client.end();
  }
};

const announced = z.object({ url: z.string() });

let started: Promise<string> | undefined;

/** URL of the server's `postgres` database. */
export const serverUrl = (): Promise<string> => {
  const given = process.env['TEST_DATABASE_URL'];
  if (given !== undefined && given !== '') return Promise.resolve(given);
  started ??= startShared();
  return started;
};

/** The process that runs all test files: ours when they are threads of it, else our parent. */
const runOwner = isMainThread ? process.ppid : process.pid;

const startShared = async (): Promise<string> => {
  const directory = join(tmpdir(), `troupe-tests-${userInfo().uid}`);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const announcement = join(directory, `${runOwner}-${processStart(runOwner)}.json`);
  let until = performance.now() + SERVER_MS;
  const lock = await open(`${announcement}.lock`, 'wx').catch(() => undefined);
  if (lock !== undefined) {
    await lock.close();
    const program = fileURLToPath(new URL('postgres-server.js', import.meta.url));
    // Not our own stderr: the runner waits until everyone has closed it.
    const log = await open(`${announcement}.log`, 'w', 0o600);
    const child = spawn(process.execPath, [program, String(runOwner), announcement], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    await log.close();
    child.unref();
    child.once('exit', () => {
      until = 0;
    });
  }
  while (performance.now() < until) {
    const text = await readFile(announcement, 'utf8').catch(() => '');
    if (text !== '') return announced.parse(JSON.parse(text)).url;
    await delay(20);
  }
  const said = await readFile(`${announcement}.log`, 'utf8').catch(() => '');
  throw new Error(`No Postgres for tests came up (or set TEST_DATABASE_URL to one): ${said.slice(-1000)}`);
};
