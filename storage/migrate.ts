/**
 * The shape of the database: numbered SQL files, each applied once, in order, in one transaction of its own. Numbers rise
 * and may leave gaps, so that parts of storage can number their own.
 *
 * The first line of a file says when it is applied.
 * - `-- apply: before the lease`: by any process at its start, while a process of an older version may be the active one. It
 *   must be additive: new tables, new columns that the older version can ignore, indexes of new tables. It waits for locks
 *   for a moment only, and runs for a moment only, because commits and renewals queue behind it. When that is not enough,
 *   the file is left for the process that has the lease.
 * - `-- apply: with the lease`: by the process that has just taken the lease. Everything else belongs here: what rewrites rows,
 *   removes something, or builds an index of a large table. Such a file must not lock the row of the lease for long.
 *
 * Order is kept: a file waits for those before it. A standby reads credentials and service keys, so files that change their
 * tables have to be additive.
 *
 * Two processes that migrate together are kept apart by an advisory lock. One that hangs (it was stopped, or its machine) is ended by
 * Postgres after a moment in which it asked for nothing, and its locks with it: what it had not committed is as if it never began.
 *
 * A database that is newer than this program is refused: an old program would read rows that it does not understand.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import { classify } from './errors.js';
import { MigrationUnderWayError } from './migration-under-way-error.js';
import { DatabaseNewerError } from './schema-newer-error.js';
import type { Postgres } from './postgres.js';

/** Any number that no other program takes: "troupe" on a telephone's keys. */
const LOCK = 876_873;
/** See `MigrateOptions.lockWait`. */
const LOCK_WAIT = 120_000;
/** Before the lease: longest wait for the lock of a table, which holds up the commits behind it (ms). */
const TABLE_WAIT = 500;
/** Before the lease: longest time that a statement runs, and so holds its locks (ms). */
const STATEMENT_TIME = 2_000;
/** Before the lease: longest time between two statements of a file, whose locks hold up commits (ms). */
const IDLE_BESIDE = 2_000;
/** The same with the lease, and of both between two files, where only other migrations wait: more than the longest pause (ms). */
const IDLE = 5_000;
/** Before the lease: how often a file is tried, with pauses between that double (ms). */
const TRIES = 5;
const PAUSE = 100;
/** Longest wait for the answer to one statement (ms): an index on a large table takes its time. */
const ANSWER_WITHIN = 3_600_000;

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly apply: 'BeforeLease' | 'WithLease';
  readonly sql: string;
}

export interface MigrateOptions {
  /** Default: the files in `storage/migrations`. */
  readonly migrations?: readonly Migration[] | undefined;
  /** `BeforeLease`: only what may be applied beside an active process. Default: all. */
  readonly scope?: 'BeforeLease' | 'All' | undefined;
  /** Longest wait for another process's migrations (ms). Default 120 s. */
  readonly lockWait?: number | undefined;
}

const MARKS: Readonly<Record<string, Migration['apply']>> = {
  '-- apply: before the lease': 'BeforeLease',
  '-- apply: with the lease': 'WithLease',
};

/** The SQL files lie beside the sources, not in dist/: found from the package's root. */
export async function readMigrations(): Promise<Migration[]> {
  const folder = path.join(packageRoot(), 'storage', 'migrations');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).toSorted();
  return Promise.all(
    files.map(async (file, i) => {
      const number = Number(file.slice(0, 4));
      if (!/^\d{4}_/.test(file) || file.slice(0, 4) === files[i - 1]?.slice(0, 4))
        throw new Error(`migration ${file} needs a number of its own`);
      const sql = await readFile(path.join(folder, file), 'utf8');
      const apply = MARKS[sql.split('\n', 1)[0] ?? ''];
      if (apply === undefined)
        throw new Error(`migration ${file} has to begin with one of the lines ${Object.keys(MARKS).join(' | ')}`);
      return { number, name: file.slice(0, -'.sql'.length), apply, sql };
    }),
  );
}

/** Applies what is missing; returns the names of what it applied. */
export async function migrate(postgres: Postgres, options: MigrateOptions = {}): Promise<string[]> {
  const migrations = options.migrations ?? (await readMigrations());
  const beside = options.scope === 'BeforeLease';
  const lockWait = options.lockWait ?? LOCK_WAIT;
  const client = await postgres.connect(
    'migrations',
    {
      lock_timeout: `${lockWait}ms`,
      idle_in_transaction_session_timeout: `${beside ? IDLE_BESIDE : IDLE}ms`,
      idle_session_timeout: `${IDLE}ms`,
    },
    { answerWithin: ANSWER_WITHIN },
  );
  try {
    // The lock belongs to the session, so it ends with the connection whatever happens.
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]).catch((error: unknown) => {
      throw classify(error) === 'TryAgain' ? new MigrationUnderWayError(lockWait / 1_000) : error;
    });
    await client.query(
      'CREATE TABLE IF NOT EXISTS schema_versions (number int PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())',
    );
    const { rows } = await client.query<{ number: number }>('SELECT number FROM schema_versions ORDER BY number');
    const there = new Set(rows.map(({ number }) => number));
    const known = new Set(migrations.map(({ number }) => number));
    for (const number of there)
      if (!known.has(number))
        throw new DatabaseNewerError(`migration ${number}`, `migrations up to ${migrations.at(-1)?.number ?? 0}`);
    const applied: string[] = [];
    for (const migration of migrations) {
      if (there.has(migration.number)) continue;
      if (!beside) await applyOne(client, migration);
      else if (migration.apply === 'WithLease' || !(await applyBeside(client, migration))) break;
      applied.push(migration.name);
    }
    return applied;
  } finally {
    await client.end().catch(() => {});
  }
}

async function applyOne(client: Client, { sql, number, name }: Migration, limits?: string): Promise<void> {
  await client.query('BEGIN');
  if (limits !== undefined) await client.query(limits);
  await client.query(sql);
  await client.query('INSERT INTO schema_versions (number, name) VALUES ($1, $2)', [number, name]);
  await client.query('COMMIT');
}

/** False: the tables were busy each time, and the file is left for the process that has the lease. */
async function applyBeside(client: Client, migration: Migration): Promise<boolean> {
  const limits = `SET LOCAL lock_timeout = '${TABLE_WAIT}ms'; SET LOCAL statement_timeout = '${STATEMENT_TIME}ms'`;
  for (let tried = 0; tried < TRIES; tried++) {
    if (tried > 0) await sleep(PAUSE * 2 ** tried);
    try {
      await applyOne(client, migration, limits);
      return true;
    } catch (error) {
      if (classify(error) !== 'TryAgain') throw error;
      await client.query('ROLLBACK');
    }
  }
  return false;
}

function packageRoot(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  while (!existsSync(path.join(folder, 'package.json'))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error('no package.json above this program');
    folder = parent;
  }
  return folder;
}
