/**
 * Makes a stopped service's data look as an older program would have left it: rows in the first formats, a runner that
 * speaks the previous protocol, a journal in the previous form. And, the other way, as a newer one would.
 */
import { PROTOCOL_VERSIONS } from '../../src/runner/protocol/messages.js';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { z } from 'zod';
import { placeRunner, startRunner } from '../../src/engines/compute/embedded/start-runner.js';
import { runnerSettings } from '../../src/runner/settings.js';
import { migrate } from '../../storage/migrate.js';
import { openPostgres } from '../../storage/postgres.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

/** Runs with a connection of its own to the service's database. */
export async function withDatabase<T>(service: Running, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Before the first start of the service: the runner that it will find speaks the previous version and nothing newer. */
export async function startOlderRunner(service: Running): Promise<void> {
  const postgres = openPostgres({ url: service.databaseUrl });
  await migrate(postgres);
  await postgres.close();
  const { rows } = await withDatabase(service, (client) =>
    client.query<{ cluster_id: string }>('SELECT cluster_id FROM clock'),
  );
  const settings = runnerSettings
    .omit({ runnerDir: true, runtimeDir: true, runnerId: true })
    .parse({ protocol: PROTOCOL_VERSIONS.slice(1), hidden: [service.dataDir] });
  const place = placeRunner(join(service.dataDir, 'runner'), rows[0]?.cluster_id ?? '', settings);
  startRunner(place, () => undefined);
}

/** Effects that are done stay stored, as if each had been carried out a moment before the crash. */
export async function keepDoneEffects(service: Running): Promise<void> {
  await withDatabase(service, (client) =>
    client.query(`
CREATE FUNCTION keep_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep_done BEFORE DELETE ON effects FOR EACH ROW EXECUTE FUNCTION keep_row();`),
  );
}

export interface Rewritten {
  readonly effects: number;
  readonly timers: number;
  readonly private: number;
  readonly slots: number;
}

/** What a killed process has sent to Postgres is carried out all the same; a row that it writes must not be put back. */
async function untilNobodyWrites(client: Client): Promise<void> {
  await until(
    'Postgres has ended the sessions of the killed service',
    async () => {
      const others = await client.query(
        'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = $1',
        ['client backend'],
      );
      return others.rowCount === 0;
    },
    60_000,
  );
}

/** All rows of a killed service into format 0 (`storage/formats.ts`); answers how many there were of each. */
export async function rewriteRows(service: Running): Promise<Rewritten> {
  return withDatabase(service, async (client) => {
    await untilNobodyWrites(client);
    await client.query('DROP TRIGGER IF EXISTS keep_done ON effects');
    const { rows } = await client.query<{ version: string; body: string }>('SELECT version, body FROM effects');
    for (const { version, body } of rows) {
      const older = z
        .array(z.looseObject({ type: z.string() }))
        .parse(JSON.parse(body))
        .map(olderEffect);
      await client.query('UPDATE effects SET format = 0, body = $2 WHERE version = $1', [
        version,
        JSON.stringify(older),
      ]);
    }
    const states = await client.query<{ uid: string; private: string }>(
      'SELECT uid, private FROM objects WHERE private IS NOT NULL',
    );
    for (const { uid, private: state } of states.rows) {
      const older = state
        .replaceAll('"transition":', '"turning":')
        .replaceAll('"reported":', '"told":')
        .replaceAll('"acknowledged":', '"heard":');
      await client.query('UPDATE objects SET private_format = 0, private = $2 WHERE uid = $1', [uid, older]);
    }
    const count = async (sql: string): Promise<number> => (await client.query(sql)).rowCount ?? 0;
    return {
      effects: rows.length,
      timers: await count('UPDATE timers SET format = 0'),
      private: states.rows.length,
      slots: await count('UPDATE slots SET format = 0'),
    };
  });
}

/** What is stored of the Job and its Attempts, and of what they wait for: to be read when the Job does not end. */
export async function storedOfJob(service: Running, name: string): Promise<string> {
  const queries = {
    objects: `SELECT kind, name, uid, version, active, private_format, private, substring(body FROM '"status":.*$') AS status FROM objects
WHERE (kind = 'Job' AND name = $1) OR (kind = 'Attempt' AND name LIKE $1 || '-%') OR kind = 'Node' ORDER BY kind, name`,
    slots: `SELECT s.index, s.epoch, s.phase, s.failures, s.format, s.detail FROM slots s JOIN objects o USING (uid)
WHERE o.kind = 'Job' AND o.name = $1`,
    timers: 'SELECT kind, name, timer, generation, due_at, format, now() FROM timers ORDER BY kind, name, timer',
    effects: 'SELECT version, time, kind, name, uid, format, body FROM effects ORDER BY version LIMIT 100',
  };
  return withDatabase(service, async (client) => {
    const found: Record<string, unknown> = {};
    for (const [what, sql] of Object.entries(queries))
      found[what] = (await client.query(sql, sql.includes('$1') ? [name] : [])).rows;
    return JSON.stringify(found, null, 1);
  });
}

function olderEffect({ answer, message, ...effect }: Readonly<Record<string, unknown>>): object {
  const told = z.looseObject({ type: z.string() }).optional().parse(message);
  return {
    ...effect,
    // No owner waited for an answer then; one that does now keeps it.
    ...(answer === true && { answer }),
    ...(told !== undefined && { letter: { letter: told.type, ...omitType(told) } }),
  };
}

function omitType({ type: _type, ...rest }: Readonly<Record<string, unknown>>): object {
  return rest;
}

function journalOf(service: Running): string {
  return join(service.dataDir, 'runner', 'journal.jsonl');
}

const record = z.looseObject({
  r: z.string(),
  id: z.string().optional(),
  state: z.looseObject({ id: z.string() }).optional(),
});

export async function readJournal(service: Running): Promise<readonly z.infer<typeof record>[]> {
  const lines = (await readFile(journalOf(service), 'utf8')).split('\n').filter((line) => line.endsWith('}'));
  return lines.map((line) => record.parse(JSON.parse(line)));
}

/** The journal of a runner that is gone into format 1: an end has the fields of its state beside `r`. */
export async function rewriteJournal(service: Running): Promise<void> {
  const older = (await readJournal(service)).map((line) => {
    if (line.r === 'format') return { r: 'format', format: 1 };
    return line.r === 'end' ? { r: 'end', ...line.state } : line;
  });
  await writeFile(journalOf(service), older.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
}

/** The journal of a runner of later times. */
export async function writeLaterJournal(service: Running): Promise<void> {
  await writeFile(journalOf(service), '{"r":"format","format":99}\n', { mode: 0o600 });
}
