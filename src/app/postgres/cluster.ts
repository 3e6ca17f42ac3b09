/**
 * Makes a Postgres cluster: the files that a server runs on. Starting it is `server.ts`.
 *
 * A cluster is made beside its place and moved there when it is complete. So a crash leaves no half of one, and of two
 * processes that start together one wins and the other takes what the winner made.
 */
import { spawn } from 'node:child_process';
import { chmod, chown, lchown, mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SpawnOptions } from 'node:child_process';
import type { Account } from './account.js';
import type { PostgresPrograms } from './programs.js';

/** Everything that is needed to run Postgres's programs on one cluster. */
export interface Cluster {
  readonly programs: PostgresPrograms;
  readonly account: Account | undefined;
  /** The data directory: absolute. */
  readonly directory: string;
}

/** The superuser of every cluster that we make. */
export const CLUSTER_USER = 'troupe';

/** A directory that every user can enter, for the moment in which initdb reads the password. */
const COMMON_TMP = '/tmp';

/**
 * How the programs name the data directory, and how they are started. Another user may be unable to enter the
 * directories above it (a home of mode 0700), but may use its own working directory, which is set before the user is
 * changed. `/proc/self/cwd` is that directory by a path that asks for no rights above it. (Postgres 15 and older leave
 * their working directory while they start: with those, the account must be able to enter the directory.)
 */
export const onCluster = (cluster: Cluster): { readonly directory: string; readonly options: SpawnOptions } => ({
  directory: cluster.account !== undefined && cluster.programs.major >= 16 ? '/proc/self/cwd' : cluster.directory,
  options: {
    cwd: cluster.directory,
    ...(cluster.account === undefined ? {} : { uid: cluster.account.uid, gid: cluster.account.gid }),
    // Nothing of ours: our environment may hold the master key.
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  },
});

/** Major version of the cluster there; undefined when there is none. */
export const clusterVersion = async (directory: string): Promise<number | undefined> => {
  const text = await readFile(join(directory, 'PG_VERSION'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : Number.parseInt(text, 10);
};

/**
 * Makes the cluster, with UTF-8, the C collation (names sort by their bytes, as the API promises) and a password for
 * every connection. `durable` false leaves out flushing it to disk, for clusters that a test throws away.
 */
export const makeCluster = async (
  cluster: Cluster,
  password: string,
  durable: boolean,
  signal: AbortSignal,
): Promise<void> => {
  await mkdir(dirname(cluster.directory), { recursive: true, mode: 0o700 });
  const draft = await mkdtemp(`${cluster.directory}.making-`);
  const secrets = await mkdtemp(join(COMMON_TMP, 'troupe-initdb-'));
  const passwordFile = join(secrets, 'password');
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    for (const path of cluster.account === undefined ? [] : [draft, passwordFile, secrets]) {
      await chown(path, cluster.account?.uid ?? -1, cluster.account?.gid ?? -1);
    }
    await initdb({ ...cluster, directory: draft }, passwordFile, durable, signal);
    await rename(draft, cluster.directory);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Whoever started at the same time was quicker; a directory is never moved over one that holds files.
    if ((await clusterVersion(cluster.directory)) === undefined) throw error;
  } finally {
    await rm(secrets, { recursive: true, force: true });
  }
};

const initdb = (cluster: Cluster, passwordFile: string, durable: boolean, signal: AbortSignal): Promise<void> => {
  const { directory, options } = onCluster(cluster);
  const args = [
    `--pgdata=${directory}`,
    `--username=${CLUSTER_USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(cluster.programs.initdb, args, { ...options, signal, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-2000);
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else
        reject(new Error(`Postgres could not make its data directory: ${said.trim() || `initdb ended with ${code}`}`));
    });
  });
};

/**
 * Gives a cluster that root owns to the account: it was copied or unpacked by root, and only its owner may run Postgres
 * on it. The data directory is named last, so that a crash half-way is mended by the next start.
 */
export const claimCluster = async ({ account, directory }: Cluster): Promise<void> => {
  if (account === undefined || (await stat(directory)).uid === account.uid) return;
  for (const name of await readdir(directory, { recursive: true })) {
    await lchown(join(directory, name), account.uid, account.gid);
  }
  await chmod(directory, 0o700);
  await chown(directory, account.uid, account.gid);
};
