import test from 'ava';
import { keepHouse } from '../../storage/housekeeping.js';
import { insert, openFixture } from './fixtures.js';

test('each round compacts the log, forgets expired keys and old events, and goes on after a failure', async (t) => {
  const f = await openFixture(t);
  const event = { event: 'job.x', reason: 'X', message: '', status: '{}' };
  const idempotency = {
    holder: 'h',
    key: 'k',
    fingerprint: 'f',
    status: 201,
    response: Buffer.from('{}'),
    headers: {},
  };
  for (const name of ['a', 'b', 'c'])
    await f.committer.commit(insert(name, { events: [event], idempotency: { ...idempotency, key: name } }), undefined);
  await f.store.postgres.write({
    name: 'age changes',
    text: `UPDATE changes SET time = now() - interval '2 hours' WHERE version <= 2`,
  });
  await f.store.postgres.write({ name: 'age keys', text: `UPDATE idempotency SET expires = now() WHERE key = 'a'` });
  await f.store.postgres.write({
    name: 'age events',
    text: `UPDATE events SET last_time = now() - interval '31 days' WHERE name = 'a'`,
  });
  const stop = new AbortController();
  const problems: unknown[] = [];
  let failures = 1;
  let floor = 0;
  const house = keepHouse(
    {
      postgres: f.store.postgres,
      responses: f.store.responses,
      changes: {
        ...f.store.changes,
        compact: () => (failures-- > 0 ? Promise.reject(new Error('once')) : f.store.changes.compact()),
      },
      every: 10,
      now: f.store.clock,
      onFloor(reached) {
        floor = reached;
      },
      onProblem: (error) => problems.push(error),
    },
    stop.signal,
  );
  const left = async () => {
    const [row] = await f.store.postgres.readRows<[number, number, number]>({
      name: 'left',
      text: `SELECT (SELECT count(*) FROM changes), (SELECT count(*) FROM idempotency), (SELECT count(*) FROM events)`,
    });
    return row?.join(' ');
  };
  const deadline = performance.now() + 10_000;
  while ((await left()) !== '1 2 2' && performance.now() < deadline) await new Promise(setImmediate);
  t.is(await left(), '1 2 2');
  t.is(floor, 2);
  t.is(problems.length, 1);
  stop.abort();
  await house;
});

test('an answer that is no object is given back as it was', async (t) => {
  const f = await openFixture(t);
  const response = Buffer.from('{"token":"once"}');
  await f.committer.commit(
    insert('a', { idempotency: { holder: 'h', key: 'k', fingerprint: 'f', status: 200, headers: {}, response } }),
    undefined,
  );
  t.deepEqual((await f.store.responses.find('o-1', 'h', 'k'))?.response, response);
});
