import test from 'ava';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { migrate, readMigrations, type Migration } from '../../storage/migrate.js';
import { DatabaseNewerError } from '../../storage/schema-newer-error.js';
import { acquireLease } from '../../storage/lease.js';
import { openStore } from '../../storage/open.js';
import { openPostgres, type Postgres } from '../../storage/postgres.js';
import { openEmptyDatabase } from '../support/postgres.js';

/** A process that migrates and does nothing else. */
function migrating(url: string, migrations: readonly Migration[], scope: 'BeforeLease' | 'All'): ChildProcess {
  const module = (name: string): string => JSON.stringify(new URL(`../../storage/${name}.js`, import.meta.url).href);
  const program = `
    const { migrate } = await import(${module('migrate')});
    const { openPostgres } = await import(${module('postgres')});
    await migrate(openPostgres({ url: process.argv[1] }), { migrations: ${JSON.stringify(migrations)}, scope: '${scope}' });`;
  return spawn(process.execPath, ['--input-type=module', '-e', program, url], { stdio: 'ignore' });
}

async function openEmpty(t: { teardown(f: () => Promise<void>): void }): Promise<Postgres> {
  const database = await openEmptyDatabase();
  const postgres = openPostgres({ url: database.url });
  t.teardown(async () => {
    await postgres.close();
    await database.close();
  });
  return postgres;
}

test('two processes that migrate at once apply every file once between them', async (t) => {
  const postgres = await openEmpty(t);
  const all = (await readMigrations()).map(({ name }) => name);
  const applied = await Promise.all([migrate(postgres), migrate(postgres), migrate(postgres)]);
  t.deepEqual(
    applied.flat().toSorted((a, b) => (a < b ? -1 : 1)),
    all,
  );
  t.is(applied.filter((names) => names.length > 0).length, 1);
  t.deepEqual(await migrate(postgres), [], 'a later start has nothing to do');
});

test('a database that is newer than the program refuses the start in one clear line', async (t) => {
  const postgres = await openEmpty(t);
  await migrate(postgres);
  await postgres.write({
    name: 'newer',
    text: `INSERT INTO schema_versions (number, name) VALUES (9001, '9001_later')`,
  });
  const error = await t.throwsAsync(migrate(postgres), { instanceOf: DatabaseNewerError });
  t.regex(error?.message ?? '', /has migration 9001.*newer|has migration 9001/);
  t.false(error?.message.includes('\n'));
});

test('a migration that fails leaves nothing of itself, and those before it stay', async (t) => {
  const postgres = await openEmpty(t);
  const good = { number: 1, name: '0001_good', apply: 'BeforeLease', sql: 'CREATE TABLE good (a int)' } as const;
  const bad = {
    number: 2,
    name: '0002_bad',
    apply: 'WithLease',
    sql: 'CREATE TABLE half (a int); SELECT 1/0',
  } as const;
  await t.throwsAsync(migrate(postgres, { migrations: [good, bad] }), { message: /division by zero/ });
  const tables = await postgres.readRows<[string]>({
    name: 'tables',
    text: `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`,
  });
  t.deepEqual(tables.flat(), ['good', 'schema_versions']);
  const mended = [good, { ...bad, sql: 'CREATE TABLE half (a int)' }];
  t.deepEqual(await migrate(postgres, { migrations: mended }), ['0002_bad']);
});

test('a starting standby adds beside the active process, waits for no lock of its commits, and leaves the rest for the lease', async (t) => {
  const postgres = await openEmpty(t);
  const migrations: Migration[] = [
    { number: 1, name: '0001_table', apply: 'BeforeLease', sql: 'CREATE TABLE held (a int)' },
    { number: 2, name: '0002_column', apply: 'BeforeLease', sql: 'ALTER TABLE held ADD COLUMN b int' },
    { number: 3, name: '0003_rewrite', apply: 'WithLease', sql: 'ALTER TABLE held ALTER COLUMN a TYPE bigint' },
    { number: 4, name: '0004_later', apply: 'BeforeLease', sql: 'CREATE TABLE later (a int)' },
  ];
  await migrate(postgres, { migrations: migrations.slice(0, 1) });
  const commit = await postgres.connect('commit');
  t.teardown(() => commit.end());
  await commit.query('BEGIN; INSERT INTO held VALUES (1)');
  t.deepEqual(await migrate(postgres, { migrations, scope: 'BeforeLease' }), [], 'the table was busy all the time');
  await commit.query('COMMIT');
  t.deepEqual(await migrate(postgres, { migrations, scope: 'BeforeLease' }), ['0002_column']);
  t.deepEqual(await migrate(postgres, { migrations }), ['0003_rewrite', '0004_later']);
});

test('a process that is stopped in the middle of its migrations holds up neither commits nor the next migration for long', async (t) => {
  const { url } = await openEmptyDatabase(t);
  const postgres = openPostgres({ url });
  t.teardown(() => postgres.close());
  const migrations: Migration[] = [
    { number: 1, name: '0001_table', apply: 'BeforeLease', sql: 'CREATE TABLE held (a int)' },
    { number: 2, name: '0002_held', apply: 'BeforeLease', sql: 'LOCK TABLE held; SELECT pg_sleep(1)' },
  ];
  await migrate(postgres, { migrations: migrations.slice(0, 1) });
  const other = await postgres.connect('commit', { statement_timeout: '20s' });
  t.teardown(() => other.end());
  const stopWhen = async (child: ChildProcess, event: string): Promise<void> => {
    t.teardown(async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    const deadline = Date.now() + 20_000;
    for (;;) {
      const { rows } = await other.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'troupe migrations' AND wait_event = '${event}'`,
      );
      if (rows.length > 0) break;
      if (Date.now() > deadline) throw new Error(`no migration waits for ${event}`);
      await delay(10);
    }
    child.kill('SIGSTOP');
  };

  // In a transaction, with the lock of a table: Postgres is done with the statement, and nothing follows.
  await stopWhen(migrating(url, migrations, 'BeforeLease'), 'PgSleep');
  await t.notThrowsAsync(other.query('INSERT INTO held VALUES (1)'));
  // Between two files, with the lock of migrations alone.
  await other.query('SELECT pg_advisory_lock(876873)');
  const said = { name: 'MigrationUnderWayError', message: /another process has been migrating this database/ };
  await t.throwsAsync(migrate(postgres, { migrations, lockWait: 50 }), said, 'Postgres answers well');
  await stopWhen(migrating(url, migrations, 'All'), 'advisory');
  await other.query('SELECT pg_advisory_unlock(876873)');
  t.deepEqual(await migrate(postgres, { migrations }), ['0002_held']);
});

test('Attempts that an older version left without an owner are opened at the next start', async (t) => {
  const postgres = await openEmpty(t);
  await migrate(postgres);
  const write = (name: string, text: string) => postgres.write({ name, text });
  for (const [kind, name] of [
    ['Attempt', 'owned'],
    ['Attempt', 'left'],
    ['Secret', 'other'],
  ] as const) {
    await write(
      name,
      `INSERT INTO objects (org, kind, project, name, uid, version, active, private_format, body)
       VALUES ('o', '${kind}', 'p', '${name}', '${name}', 1, false, 0, '{}')`,
    );
  }
  await write(
    'child',
    `INSERT INTO children (org, owner_uid, kind, project, name) VALUES ('o', 'u', 'Attempt', 'p', 'owned')`,
  );
  const found = (await readMigrations()).find(({ name }) => name === '0153_attempts_without_owners');
  await write('again', found?.sql ?? '');
  const active = await postgres.readRows<[string]>({ name: 'active', text: 'SELECT name FROM objects WHERE active' });
  t.deepEqual(active, [['left']]);
});

test('a project that was under deletion before projects were woken is woken at the next start, and no other', async (t) => {
  const postgres = await openEmpty(t);
  await migrate(postgres);
  const text = `INSERT INTO objects (org, kind, project, name, uid, version, active, private_format, body)
    SELECT 'o', kind, '', name, name, 1, false, 0, body FROM (VALUES
      ('Namespace', 'going', '{"metadata":{"deletionTimestamp":"2026-01-02T00:00:00Z"}}'),
      ('Namespace', 'stays', '{"metadata":{}}'),
      ('Member', 'other', '{"metadata":{"deletionTimestamp":"2026-01-02T00:00:00Z"}}')) AS v (kind, name, body)`;
  await postgres.write({ name: 'objects', text });
  const found = (await readMigrations()).find(({ name }) => name === '0162_projects_under_deletion');
  await postgres.write({ name: 'again', text: found?.sql ?? '' });
  const active = await postgres.readRows<[string]>({ name: 'active', text: 'SELECT name FROM objects WHERE active' });
  t.deepEqual(active, [['going']]);
});

test('a process that takes the lease from a newer one gives it up at once and says so', async (t) => {
  const { url } = await openEmptyDatabase(t);
  const openOne = async () => {
    const store = await openStore({ url, seal: (_, plain) => plain, open: (_, sealed) => sealed });
    t.teardown(() => store.close());
    return store;
  };
  const old = await openOne();
  const formats = async () => (await old.postgres.readRows(FORMATS)).length;
  t.is(await formats(), 0, 'who only waits claims no format: the older active process may have to start again');
  const first = await old.acquire({ holder: 'old' }, AbortSignal.timeout(20_000));
  t.true((await formats()) > 0);
  await first.release();

  for (const newer of [
    `UPDATE formats SET highest = 9001 WHERE what = 'slots'`,
    `INSERT INTO schema_versions (number, name) VALUES (9001, '9001_later')`,
  ]) {
    await old.postgres.write({ name: newer.slice(0, 20), text: newer });
    const taken = old.acquire({ holder: 'old', ttl: 300_000 }, AbortSignal.timeout(20_000));
    await t.throwsAsync(taken, { instanceOf: DatabaseNewerError });
    // Free for the newer one, and not only after the time of the lease.
    const newest = await acquireLease({ postgres: old.postgres, holder: 'newer' }, AbortSignal.timeout(20_000));
    await newest.release();
    await old.postgres.write({ name: 'back', text: `UPDATE formats SET highest = 1 WHERE what = 'slots'` });
  }
  await t.throwsAsync(openOne(), { instanceOf: DatabaseNewerError });
});

const FORMATS = { name: 'formats', text: 'SELECT what FROM formats' };
