/**
 * Chooses the system user that Postgres runs as. Postgres refuses to run as root, so root needs another
 * user for it; every other user runs it as itself. The user is chosen once: an existing cluster keeps its owner.
 */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Made when root starts Postgres on a machine that has no user for it. Not `postgres`: that name is the distribution's. */
const OWN_USER = 'troupe-postgres';

/** Time for `useradd`, which waits for a lock on the user table when another one runs. */
const USERADD_MS = 20_000;

const run = promisify(execFile);

const accounts = async (): Promise<Account[]> => {
  const passwd = await readFile('/etc/passwd', 'utf8');
  return passwd
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter((account) => account.name !== '' && account.uid > 0);
};

/**
 * The user to run Postgres as; undefined: as we are. `cluster` is the directory that holds (or will hold) its data.
 * Order: the owner of an existing cluster, `postgres`, our own system user, a new one of that name, `nobody`.
 */
export const postgresAccount = async (cluster: string, signal: AbortSignal): Promise<Account | undefined> => {
  if (process.getuid?.() !== 0) return undefined;
  if (process.platform !== 'linux') {
    throw new Error('Postgres does not run as root: start as another user, or set DATABASE_URL');
  }
  const existing = await accounts();
  const owner = await stat(cluster).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) {
    const named = existing.find((account) => account.uid === owner.uid);
    return { name: named?.name ?? String(owner.uid), uid: owner.uid, gid: owner.gid };
  }
  const ready = existing.find(({ name }) => name === 'postgres') ?? existing.find(({ name }) => name === OWN_USER);
  if (ready !== undefined) return ready;

  await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', OWN_USER], {
    signal,
    timeout: USERADD_MS,
  }).catch(() => undefined); // A machine without useradd, or with a read-only /etc, still has `nobody`.
  const made = await accounts();
  const account = made.find(({ name }) => name === OWN_USER) ?? made.find(({ name }) => name === 'nobody');
  if (account === undefined) {
    throw new Error('Postgres does not run as root, and no other user exists or can be made: set DATABASE_URL');
  }
  return account;
};
