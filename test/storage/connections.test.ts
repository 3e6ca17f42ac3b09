/** Connections that end while they are in use: the error goes to the caller that waits, and to no other. */
import test from 'ava';
import { openPostgres } from '../../storage/postgres.js';
import { RefusalError } from '../../src/api/refusal.js';
import { openTestDatabase } from '../support/postgres.js';

const PID = { name: 'pid', text: 'SELECT pg_backend_pid()' };
const KILL = { name: 'kill', text: 'SELECT pg_terminate_backend($1)' };

test('a connection that Postgres ends while it is checked out, idle or in a statement, ends no process', async (t) => {
  const { url } = await openTestDatabase(t);
  const postgres = openPostgres({ url, readers: 2 });
  const other = openPostgres({ url, readers: 1 });
  t.teardown(() => Promise.all([postgres.close(), other.close()]));
  const uncaught: unknown[] = [];
  const seen = (error: unknown): void => void uncaught.push(error);
  process.on('uncaughtException', seen);
  t.teardown(() => process.off('uncaughtException', seen));
  const terminate = async (pid: unknown): Promise<void> => void (await other.readRows(KILL, [pid]));

  const held = await postgres.pool.connect();
  const { rows } = await held.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const ended = new Promise((resolve) => held.once('end', resolve));
  await terminate(rows[0]?.pid);
  await ended;
  held.release(true);

  const own = await postgres.connect('test');
  const answer = await own.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const ownEnded = new Promise((resolve) => own.once('end', resolve));
  await terminate(answer.rows[0]?.pid);
  await ownEnded;

  const running = postgres.readRows({ name: 'sleep', text: "SELECT pg_sleep(20), 'a statement that is ended'" });
  const refused = t.throwsAsync(running, { instanceOf: RefusalError });
  const find = {
    name: 'find',
    text: "SELECT pid FROM pg_stat_activity WHERE query LIKE '%a statement that is ended%' AND pid <> pg_backend_pid()",
  };
  let found: [number][] = [];
  while (found.length === 0) found = await other.readRows<[number]>(find);
  await terminate(found[0]?.[0]);
  await refused;
  t.is((await postgres.readRows(PID)).length, 1, 'the pool goes on');
  t.deepEqual(uncaught, []);
});
