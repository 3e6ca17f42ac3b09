/**
 * A program that runs one throw-away Postgres for as long as another process lives:
 * `node postgres-server.js <pid> <file>` writes `{"url", "pid"}` to the file when it is ready, and ends, with all it
 * made, when the process is gone (or at SIGTERM). So a test run that is killed leaves nothing behind. With an address as a third
 * argument the server listens on all addresses and lets in who comes to it with the password; the URL then names that one. Without one it
 * holds a database with all migrations, of which `openTestDatabase` makes copies: most of what a fresh database takes is its migrations.
 *
 * It is the system's Postgres where there is one (an older version than the embedded one: both are covered then),
 * else the embedded one. Its files go away at the end, so it does not wait for a disk, nor does it log what only a machine that loses
 * its power would need: a Postgres or a backend that is killed loses nothing by that.
 */
import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, readFile, rm, writeFile, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgresAccount } from '../../src/app/postgres/account.js';
import { CLUSTER_USER, makeCluster } from '../../src/app/postgres/cluster.js';
import { embeddedPrograms, systemPrograms } from '../../src/app/postgres/programs.js';
import { startServer, stopServer } from '../../src/app/postgres/server.js';
import { processEnd } from '../../src/process-start.js';
import { migrate } from '../../storage/migrate.js';
import { openPostgres } from '../../storage/postgres.js';
import { MIGRATED } from './postgres.js';

const LEAST_MAJOR = 15;
/** Test files run side by side, each with services that hold their own connections. */
const CONNECTIONS = 500;

const owner = Number(process.argv[2]);
const announcement = process.argv[3];
const address = process.argv[4];

const makeTemplate = async (url: string): Promise<void> => {
  const admin = openPostgres({ url });
  const copied = new URL(url);
  copied.pathname = `/${MIGRATED}`;
  const postgres = openPostgres({ url: copied.href });
  try {
    await admin.pool.query(`create database ${MIGRATED} template template0`);
    await migrate(postgres);
    await postgres.close();
    await admin.pool.query(`alter database ${MIGRATED} is_template true allow_connections false`);
  } finally {
    await admin.close();
  }
};

/** A run makes thousands of connections: with the method that a service has, a third of the processor time of each was its password. */
const shortenLogins = async (url: string, password: string): Promise<void> => {
  const admin = openPostgres({ url });
  try {
    await admin.pool.query(
      `begin; set local password_encryption = 'md5'; alter role current_user password '${password}'; commit`,
    );
  } finally {
    await admin.close();
  }
};

if (!Number.isSafeInteger(owner) || announcement === undefined)
  throw new Error('usage: postgres-server PID FILE [ADDRESS]');

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.once('SIGINT', () => stop.abort());

const home = await mkdtemp(join(tmpdir(), 'troupe-test-postgres-'));
const directory = join(home, 'cluster');
try {
  const account = await postgresAccount(directory, stop.signal);
  if (account !== undefined) await chown(home, account.uid, account.gid);
  const system = process.env['TEST_POSTGRES'] === 'embedded' ? undefined : await systemPrograms(LEAST_MAJOR);
  const cluster = { programs: system ?? (await embeddedPrograms(account)), account, directory };
  const password = randomBytes(12).toString('base64url');
  await makeCluster(cluster, password, false, stop.signal);
  const whoMayEnter = join(directory, 'pg_hba.conf');
  const lines = await readFile(whoMayEnter, 'utf8');
  const more = address === undefined ? '' : 'host all all all md5\n';
  await writeFile(whoMayEnter, lines.replaceAll('scram-sha-256', 'md5') + more);
  const server = await startServer(cluster, join(home, 'log'), stop.signal, {
    max_connections: CONNECTIONS,
    fsync: 'off',
    full_page_writes: 'off',
    // Of the databases few live as long, and each look at one is a process.
    autovacuum_naptime: '10min',
    ...(address === undefined ? {} : { listen_addresses: '*' }),
  });
  const url = `postgres://${CLUSTER_USER}:${password}@${address ?? '127.0.0.1'}:${server.port}/postgres`;
  await shortenLogins(url, password);
  if (address === undefined) await makeTemplate(url);
  const draft = `${announcement}.${process.pid}`;
  await writeFile(draft, JSON.stringify({ url, pid: process.pid, major: cluster.programs.major }), { mode: 0o600 });
  await rename(draft, announcement);

  await processEnd(owner, stop.signal);
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error);
    process.exitCode = 1;
  }
} finally {
  await rm(announcement, { force: true });
  await rm(`${announcement}.lock`, { force: true });
  // After a failure the log stays: whoever waits reads in it why.
  if (process.exitCode !== 1) await rm(`${announcement}.log`, { force: true });
  await stopServer(directory);
  await rm(home, { recursive: true, force: true });
}
