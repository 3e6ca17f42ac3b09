/**
 * Owns the shape of the database: numbered SQL files, each applied once, in order, in one transaction of its own. Numbers
 * rise and may leave gaps, so that parts of the room can number their own.
 * Two processes that start together are kept apart by an advisory lock. A database that is newer than this program
 * refuses the start: an old program would read rows that it does not understand.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { DatabaseNewerError } from './newer.js';
import type { Postgres } from './postgres.js';

/** Any number that nobody else takes: "troupe" on a telephone's keys. */
const LOCK = 876_873;
/** Longest wait for another process's migrations (ms). */
const LOCK_WAIT = 120_000;
/** Longest wait for the answer to one statement (ms): an index on a large table takes its time. */
const ANSWER_WITHIN = 3_600_000;

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** The SQL files lie beside the sources, not in dist/: found from the package's root. */
export async function readMigrations(): Promise<Migration[]> {
  const folder = path.join(packageRoot(), 'storage', 'migrations');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).toSorted();
  return Promise.all(
    files.map(async (file, i) => {
      const number = Number(file.slice(0, 4));
      if (!/^\d{4}_/.test(file) || file.slice(0, 4) === files[i - 1]?.slice(0, 4))
        throw new Error(`migration ${file} needs a number of its own`);
      return { number, name: file.slice(0, -'.sql'.length), sql: await readFile(path.join(folder, file), 'utf8') };
    }),
  );
}

/** Applies what is missing; returns the names of what it applied. */
export async function migrate(postgres: Postgres, given?: readonly Migration[]): Promise<string[]> {
  const migrations = given ?? (await readMigrations());
  const client = await postgres.connect(
    'migrations',
    { lock_timeout: `${LOCK_WAIT}ms` },
    { answerWithin: ANSWER_WITHIN },
  );
  try {
    // The lock belongs to the session, so it ends with the connection whatever happens.
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
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
      await client.query('BEGIN');
      await client.query(migration.sql);
      await client.query('INSERT INTO schema_versions (number, name) VALUES ($1, $2)', [
        migration.number,
        migration.name,
      ]);
      await client.query('COMMIT');
      applied.push(migration.name);
    }
    return applied;
  } finally {
    await client.end().catch(() => {});
  }
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
