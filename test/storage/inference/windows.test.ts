/** Rows of what endpoints have used: replaced whole, by the holder of the lease alone, and never by an earlier write. */
import test, { type ExecutionContext } from 'ava';
import { openWindowRows, type WindowBody, type WindowRows } from '../../../storage/inference/windows.js';
import { migrate } from '../../../storage/migrate.js';
import { openPostgres, type Postgres } from '../../../storage/postgres.js';
import { openTestDatabase } from '../../support/postgres.js';

async function open(t: ExecutionContext): Promise<{ postgres: Postgres; rows: WindowRows }> {
  const database = await openTestDatabase();
  const postgres = openPostgres({ url: database.url });
  t.teardown(async () => {
    await postgres.close();
    await database.close();
  });
  await migrate(postgres);
  return { postgres, rows: openWindowRows(postgres) };
}

const lead = (postgres: Postgres, epoch: number): Promise<number> =>
  postgres.write({ name: 'lead', text: 'UPDATE clock SET epoch = $1' }, [epoch]);

const body = (used: number): WindowBody => ({
  requests: [[100, used]],
  tokens: [],
  answering: { requests: 0, tokens: 0 },
  ahead: { requests: 1, tokens: 2 },
});
const write = (uid: string, sequence: number, used: number) => ({ org: 'o-1', uid, sequence, body: body(used) });

test('what is written is read, of the endpoints that are asked for, with the time of the write', async (t) => {
  const { postgres, rows } = await open(t);
  await lead(postgres, 3);
  t.is(await rows.write(3, [write('b', 1, 1), write('a', 2, 2)]), 'Written');
  t.deepEqual(await rows.load([{ org: 'o-2', uid: 'a' }]), [], 'of another org');
  const [found, ...more] = await rows.load([
    { org: 'o-1', uid: 'a' },
    { org: 'o-1', uid: 'none' },
  ]);
  t.deepEqual(more, []);
  t.like(found, { org: 'o-1', uid: 'a', epoch: 3, body: body(2) });
  const [row] = await postgres.readRows<[number]>({
    name: 'now',
    text: 'SELECT (extract(epoch FROM now()) * 1000)::float8',
  });
  t.true(Math.abs((found?.writtenAt ?? 0) - (row?.[0] ?? 0)) < 60_000);
});

test('a write without the lease writes nothing, and none replaces a newer one', async (t) => {
  const { postgres, rows } = await open(t);
  const used = async (): Promise<unknown> => (await rows.load([{ org: 'o-1', uid: 'a' }]))[0]?.body.requests[0]?.[1];
  await lead(postgres, 2);
  t.is(await rows.write(1, [write('a', 9, 9)]), 'Fenced');
  t.is(await used(), undefined);
  t.is(await rows.write(2, [write('a', 5, 5)]), 'Written');
  t.is(await rows.write(2, [write('a', 4, 4)]), 'Fenced', 'one that was given up and comes late');
  t.is(await used(), 5);
  await lead(postgres, 3);
  t.is(await rows.write(2, [write('a', 6, 6)]), 'Fenced');
  t.is(await rows.write(3, [write('a', 1, 1)]), 'Written', 'each process counts its own writes');
  t.is(await used(), 1);
  // Whatever the clock says, as while the lease changes hands.
  await lead(postgres, 2);
  t.is(await rows.write(2, [write('a', 7, 7)]), 'Fenced');
  t.is(await used(), 1);
});

test('old rows go, at most as many as asked for, and by the holder of the lease alone', async (t) => {
  const { postgres, rows } = await open(t);
  await lead(postgres, 1);
  await rows.write(
    1,
    ['a', 'b', 'c', 'd'].map((uid, i) => write(uid, i + 1, 1)),
  );
  const age = `UPDATE inference_windows SET written_at = now() - interval '3 minutes' WHERE uid <> 'd'`;
  await postgres.write({ name: 'age', text: age });
  t.is(await rows.forget(2, 120_000, 10), 0);
  t.is(await rows.forget(1, 240_000, 10), 0);
  t.is(await rows.forget(1, 120_000, 2), 2);
  t.is(await rows.forget(1, 120_000, 2), 1);
  t.is((await rows.load(['a', 'b', 'c', 'd'].map((uid) => ({ org: 'o-1', uid })))).length, 1);
});
