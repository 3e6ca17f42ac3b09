import test from 'ava';
import { Client } from 'pg';
import { openTestDatabase } from '../support/postgres.js';

test('two test databases do not see each other, so that tests can run side by side', async (t) => {
  const [one, two] = await Promise.all([openTestDatabase(t), openTestDatabase(t)]);
  const first = new Client({ connectionString: one.url });
  const second = new Client({ connectionString: two.url });
  await Promise.all([first.connect(), second.connect()]);
  t.teardown(() => Promise.all([first.end(), second.end()]).then(() => undefined));
  await first.query('create table only_here (id int)');
  const found = await second.query(`select to_regclass('only_here') as it`);
  t.is(found.rows[0].it, null);
  const settings = await first.query(
    `select current_setting('synchronous_commit') c, datcollate, encoding from pg_database where datname = current_database()`,
  );
  t.like(settings.rows[0], { c: 'on', datcollate: 'C', encoding: 6 });
});
