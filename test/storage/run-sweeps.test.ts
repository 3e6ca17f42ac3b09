import test from 'ava';
import { RefusalError } from '../../src/api/refusal.js';
import { runSweeps, storedSweeps } from '../../storage/run-sweeps.js';
import { openResponses } from '../../storage/responses.js';
import { address, insert, open, openFixture } from './fixtures.js';

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
  const sweeps = storedSweeps({
    ...{ postgres: f.store.postgres, responses: f.store.responses, every: 10, now: f.store.clock },
    changes: {
      ...f.store.changes,
      compact: () => (failures-- > 0 ? Promise.reject(new Error('once')) : f.store.changes.compact()),
    },
    onFloor(reached) {
      floor = reached;
    },
  });
  const overdue = new Map<string, number>();
  const reports = {
    onOverdue: (sweep: string, ms: number) => void overdue.set(sweep, ms),
    onProblem: (sweep: string, error: unknown) => void problems.push([sweep, error]),
  };
  const sweeping = runSweeps(sweeps, reports, stop.signal);
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
  t.deepEqual(problems, [['changes', new Error('once')]]);
  while (overdue.size < 5 && performance.now() < deadline) await new Promise(setImmediate);
  t.deepEqual([...overdue.values()], [0, 0, 0, 0, 0]);
  stop.abort();
  await sweeping;
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

test('a sweep that fails for good holds up no other, and it is reported how long its rows have been overdue', async (t) => {
  const f = await openFixture(t);
  const event = { event: 'job.x', reason: 'X', message: '', status: '{}' };
  for (let i = 0; i < 12; i += 1) {
    const of = address(`e${i}`, { org: `o-${i % 3}` });
    await f.committer.commit(insert(`e${i}`, { address: of, events: [event] }), undefined);
  }
  const age = (names: string): Promise<number> =>
    f.store.postgres.write({
      name: 'age some events',
      text: `UPDATE events SET last_time = now() - interval '31 days' WHERE name IN (${names})`,
    });
  await age(`'e0', 'e1', 'e3', 'e6'`);
  await f.store.postgres.write({
    name: 'a credential',
    text: `INSERT INTO credentials (sha256, org, kind, project, name, uid, expires, detail)
           VALUES ('x', 'o-1', 'APIKey', '', 'k', 'u', now() - interval '2 hours', '{}')`,
  });
  const stop = new AbortController();
  const overdue = new Map<string, number>();
  const failed = new Set<string>();
  const refused = (): Promise<never> => Promise.reject(new Error('the disk is full'));
  const sweeps = storedSweeps({
    ...{ postgres: f.store.postgres, every: 10, now: f.store.clock, onFloor: () => undefined },
    responses: f.store.responses,
    changes: { ...f.store.changes, compact: refused },
  }).map((sweep) => (sweep.name === 'credentials' ? { ...sweep, run: refused } : sweep));
  const sweeping = runSweeps(
    sweeps,
    {
      onOverdue: (sweep, ms) => void overdue.set(sweep, ms),
      onProblem: (sweep) => void failed.add(sweep),
    },
    stop.signal,
  );
  const left = async (): Promise<string> => {
    const rows = await f.store.postgres.readRows<[string]>({
      name: 'events left',
      text: 'SELECT name FROM events ORDER BY sequence',
    });
    return rows.join(' ');
  };
  const deadline = performance.now() + 10_000;
  const wanted = 'e2 e4 e5 e7 e8 e9 e10 e11';
  while (((await left()) !== wanted || !overdue.has('credentials')) && performance.now() < deadline)
    await new Promise(setImmediate);
  t.is(await left(), wanted);
  t.deepEqual([...failed].toSorted(), ['changes', 'credentials']);
  t.true((overdue.get('credentials') ?? 0) > 7_000_000, `${overdue.get('credentials')}`);
  stop.abort();
  await sweeping;
});

test('bodies kept for Idempotency-Keys are bounded by bytes: the oldest are forgotten, and their keys are not', async (t) => {
  const f = await openFixture(t);
  const keep = (org: string, key: string) =>
    f.committer.commit(
      insert(`${org}-${key}`, {
        address: address(`${org}-${key}`, { org }),
        idempotency: {
          holder: 'h',
          key,
          fingerprint: 'f',
          status: 200,
          headers: {},
          response: Buffer.alloc(1_000, 'x'),
        },
      }),
      undefined,
    );
  await keep('o-2', 'only');
  for (const key of ['1', '2', '3', '4']) await keep('o-1', key);
  const bounds = { bytes: 4_500, bytesPerOrg: 2_500 };
  const responses = openResponses(f.store.postgres, open, bounds);
  await responses.sweepAnswers();
  const found = async (org: string, key: string): Promise<number | string> => {
    try {
      return (await responses.find(org, 'h', key))?.response.length ?? 'free';
    } catch (error) {
      return error instanceof RefusalError ? error.refusal.code : 'thrown';
    }
  };
  t.is(await found('o-2', 'only'), 1_000, 'one org pushes out no other');
  t.deepEqual(await Promise.all(['1', '2', '3', '4'].map((key) => found('o-1', key))), [
    'Expired',
    'Expired',
    1_000,
    1_000,
  ]);
  t.is((await keep('o-1', '1')).outcome, 'KeyUsed', 'what was carried out is not carried out twice');
});
