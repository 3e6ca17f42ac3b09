import test from 'ava';
import { migrate, readMigrations } from '../../storage/migrate.js';
import { DatabaseNewerError } from '../../storage/newer.js';
import { openPostgres, type Postgres } from '../../storage/postgres.js';
import { openTestDatabase } from '../support/postgres.js';

async function openEmpty(t: { teardown(f: () => Promise<void>): void }): Promise<Postgres> {
  const database = await openTestDatabase();
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
  const good = { number: 1, name: '0001_good', sql: 'CREATE TABLE good (a int)' };
  const bad = { number: 2, name: '0002_bad', sql: 'CREATE TABLE half (a int); SELECT 1/0' };
  await t.throwsAsync(migrate(postgres, [good, bad]), { message: /division by zero/ });
  const tables = await postgres.readRows<[string]>({
    name: 'tables',
    text: `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`,
  });
  t.deepEqual(tables.flat(), ['good', 'schema_versions']);
  t.deepEqual(await migrate(postgres, [good, { ...bad, sql: 'CREATE TABLE half (a int)' }]), ['0002_bad']);
});
