/**
 * The embedded Postgres of a data directory: made at the first start, started or adopted at every one, started again
 * when it ends (`keep-running.ts`), stopped by the last process that uses it, however that one ends. A process that is killed
 * leaves it for the next. It listens on loopback and on a socket in its directory only, and asks for a random password
 * (0600 in the data directory). Everything of it is below `<data>/postgres`: `cluster`, `password`, `log`, `users/`.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseError } from 'pg';
import { ErrorSafeClient } from '../../../storage/error-safe-client.js';
import { privateOnce } from '../private-file.js';
import { postgresAccount } from './account.js';
import { CLUSTER_USER, claimCluster, clusterVersion, makeCluster } from './cluster.js';
import { embeddedPrograms } from './programs.js';
import { keepRunning } from './keep-running.js';
import { startServer, stopServer, stopServerSoon } from './server.js';
import { deregister, register } from './users.js';

export interface EmbeddedPostgres {
  readonly url: string;
  /** Process id of the server; another one after it was started again. */
  pid(): number;
  /** Ends it, unless another process uses it too. */
  close(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** Gets one line for each step that takes noticeable time. */
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

const DATABASE = 'troupe';

/** The kernel's bound (`sun_path`), with its last zero. macOS has a little less. */
const SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** SQLSTATEs of a database that another process made at the same time. */
const ALREADY_THERE = new Set(['42P04', '23505']);

export const openEmbeddedPostgres = async ({
  dataDir,
  log,
  signal,
}: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const home = join(dataDir, 'postgres');
  const directory = join(home, 'cluster');
  const users = join(home, 'users');
  await mkdir(home, { recursive: true, mode: 0o700 });

  const account = await postgresAccount(directory, signal);
  const programs = await embeddedPrograms(account);
  const cluster = { programs, account, directory };
  const version = await clusterVersion(directory);
  if (version !== undefined && version !== programs.major) {
    throw new Error(
      `${directory} was made by Postgres ${version}, and this version of Troupe brings Postgres ${programs.major}: ` +
        `move the data with pg_dump and pg_restore, or set DATABASE_URL to a Postgres ${version}`,
    );
  }
  const password = await privateOnce(join(home, 'password'), () => randomBytes(24).toString('base64url'));
  if (version === undefined) {
    const began = performance.now();
    await makeCluster(cluster, password, true, signal);
    log(`made a Postgres ${programs.major} cluster in ${directory} (${seconds(began)})`);
  }

  await claimCluster(cluster);

  await register(users);
  // A second signal, an exception, a refused start: this process ends at once, and nothing would stop the server.
  const atExit = (): void => {
    if (deregister(users)) stopServerSoon(directory);
  };
  process.once('exit', atExit);
  const release = async (): Promise<void> => {
    process.off('exit', atExit);
    if (deregister(users) && !(await stopServer(directory))) log('Postgres does not stop');
  };
  const began = performance.now();
  const logFile = join(home, 'log');
  try {
    const server = await startServer(cluster, logFile, signal);
    const socket = await socketHome(directory, server.port);
    const host = encodeURIComponent(socket ?? '127.0.0.1');
    const url = (database: string): string =>
      `postgres://${CLUSTER_USER}:${password}@${host}:${server.port}/${database}`;
    await makeDatabase(url('postgres'));
    log(
      `${server.adopted ? 'adopted the running' : 'started'} Postgres (pid ${server.pid}, port ${server.port}` +
        `${account === undefined ? '' : `, user ${account.name}`}; ${seconds(began)})`,
    );
    const kept = keepRunning({ cluster, logFile, server, hasSocket: socket !== undefined, log });
    return {
      url: url(DATABASE),
      pid: kept.pid,
      close: async () => {
        await kept.close();
        await release();
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
};

/** Where its socket lies. Undefined: the path is too long for one, or the server was begun by a version that had none. */
const socketHome = async (cluster: string, port: number): Promise<string | undefined> => {
  const home = resolve(cluster);
  const socket = join(home, `.s.PGSQL.${port}`);
  if (Buffer.byteLength(socket) > SOCKET_PATH_BYTES) return undefined;
  return (await stat(socket).catch(() => undefined))?.isSocket() === true ? home : undefined;
};

const makeDatabase = async (url: string): Promise<void> => {
  const client = new ErrorSafeClient({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`create database ${DATABASE}`);
  } catch (error) {
    if (!(error instanceof DatabaseError && ALREADY_THERE.has(error.code ?? ''))) throw error;
  } finally {
    await client.end();
  }
};

const seconds = (began: number): string => `${((performance.now() - began) / 1000).toFixed(2)} s`;
