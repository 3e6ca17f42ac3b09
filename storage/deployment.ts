/**
 * What all processes on one database have to share beside it: the master key and the directory of blobs. The leader stores
 * which ones they are. A process that has others is refused, at its start and when it takes the lease: it could open no
 * secret and find no blob, and what it wrote could not be read by the others.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MasterKeys } from './envelope/master-key.js';
import { opensServiceKeys } from './service-keys.js';
import type { Postgres, Statement } from './postgres.js';

/** What a process brings along. */
export interface OwnDeployment {
  readonly keys: MasterKeys;
  readonly blobDir: string;
}

/** Says what differs and what to do. Holds ids and paths, no key. */
export class DeploymentMismatchError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DeploymentMismatchError';
  }
}

const blobIdFile = (blobDir: string): string => join(blobDir, 'id');

/** Throws `DeploymentMismatchError` when this process has another master key or other blobs than the database names. */
export async function checkDeployment(postgres: Postgres, own: OwnDeployment): Promise<void> {
  // The table may wait for the lease, behind a file that must not be applied before (`migrate.ts`).
  const [there] = await postgres.readRows<[boolean]>(EXISTS);
  const [row] = there?.[0] === true ? await postgres.readRows<[masterKey: string, blobStore: string]>(READ) : [];
  if (row === undefined) {
    // A database from before this was written down, or a new one.
    if (!(await opensServiceKeys(postgres, own.keys))) throw wrongKey(own.keys.current.id, undefined);
    return;
  }
  const [masterKey, blobStore] = row;
  if (!own.keys.readable.has(masterKey)) throw wrongKey(own.keys.current.id, masterKey);
  const file = blobIdFile(own.blobDir);
  const found = await readFile(file, 'utf8').catch(() => undefined);
  if (found?.trim() === blobStore) return;
  throw new DeploymentMismatchError(
    `this database belongs to the blobs with the id ${blobStore}, and ${own.blobDir} ` +
      `${found === undefined ? 'has no id' : `has the id ${found.trim().slice(0, 64)}`}. Set TROUPE_BLOB_DIR (or TROUPE_DATA_DIR) to the ` +
      `directory that holds them, on storage that all processes share. When those blobs are lost for good, go on ` +
      `without them: echo ${blobStore} > ${file}`,
  );
}

export interface Claimed {
  /** Logs of work that was made before this time (ms) may lie on another machine or in another directory. */
  readonly logsSince: number;
}

/**
 * For the process that has the lease, once per take: checks, and writes down what it has. `idIn` answers what a file holds, and makes
 * it with a new id when there is none. Logs may lie elsewhere: work runs on the machine of the active process.
 */
export async function claimDeployment(
  postgres: Postgres,
  own: OwnDeployment & { readonly runnerDir: string },
  idIn: (file: string) => Promise<string>,
): Promise<Claimed> {
  await checkDeployment(postgres, own);
  // Only now: a process that is refused must leave no id behind that could be taken for the right one.
  const blobStore = (await idIn(blobIdFile(own.blobDir))).trim();
  const logStore = (await idIn(join(own.runnerDir, 'id'))).trim();
  await postgres.write(CLAIM, [own.keys.current.id, blobStore, logStore]);
  const [row] = await postgres.readRows<[number]>(LOGS_SINCE);
  return { logsSince: row?.[0] ?? 0 };
}

function wrongKey(own: string, wanted: string | undefined): DeploymentMismatchError {
  return new DeploymentMismatchError(
    `this database's secrets are sealed with ${wanted === undefined ? 'another master key' : `the master key ${wanted}`}, ` +
      `and this process has ${own}. Copy master.key from the data directory of the process that was active ` +
      `before, or set TROUPE_MASTER_KEY to the same value for all processes`,
  );
}

const EXISTS: Statement = { name: 'deployment there', text: "SELECT to_regclass('deployment') IS NOT NULL" };

const READ: Statement = { name: 'deployment', text: 'SELECT master_key, blob_store FROM deployment' };

const LOGS_SINCE: Statement = {
  name: 'logs since',
  text: 'SELECT greatest(extract(epoch FROM log_store_since), 0)::float8 * 1000 FROM deployment',
};

/**
 * Precondition: the caller holds the lease, and its keys and blobs are those of the row, if there is one. Result: it is as given; the
 * time of the logs is that of the latest change of their directory.
 */
const CLAIM: Statement = {
  name: 'claim deployment',
  text: `
INSERT INTO deployment (master_key, blob_store, log_store, log_store_since) VALUES ($1, $2, $3, '-infinity')
ON CONFLICT (singleton) DO UPDATE SET
  master_key = excluded.master_key, blob_store = excluded.blob_store, log_store = excluded.log_store,
  log_store_since = CASE WHEN deployment.log_store = excluded.log_store THEN deployment.log_store_since ELSE now() END`,
};
