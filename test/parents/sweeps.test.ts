/** Sweeps: the cells of a matrix as Jobs, through HTTP. */
import { createHash } from 'node:crypto';
import test from 'ava';
import { listAt, numberAt, objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { findProgram } from '../../src/engines/compute/shared/find-program.js';
import { until } from '../e2e/until.js';
import { openParents, outcomeOf, phasesOf, script, SWEEPS, type Parents } from './parents.js';

const JOBS = path('jobs', 'default');

const curl = findProgram('curl') === undefined ? test.skip : test;

let parents: Parents;
test.before(async () => {
  parents = await openParents();
});
test.after.always(async () => {
  await parents.close();
});

const at = (name: string): string => `${SWEEPS}/${name}`;
const template = (text: string, more: object = {}): object => ({ kind: 'Job', spec: script(text, more) });

test('a Sweep runs one Job for each cell, with its parameters, in the stated order', async (t) => {
  await parents.post('Sweep', 'squares', {
    matrix: { params: { SIZE: ['1', '2'], NAME: ['a', 'b'] } },
    repetitions: 2,
    template: template('echo "$SVC_PARAM_NAME $SVC_PARAM_SIZE $1 $SVC_INDEX"', { args: ['x', '$(SVC_PARAM_SIZE)'] }),
  });
  const sweep = await parents.ended(at('squares'));
  t.is(outcomeOf(sweep), 'Succeeded Completed');
  const cells = listAt(sweep, 'status', 'cells');
  t.deepEqual(
    cells.map((cell) => [numberAt(cell, 'index'), valueAt(cell, 'params'), numberAt(cell, 'repetition')]),
    [
      [0, { NAME: 'a', SIZE: '1' }, 0],
      [1, { NAME: 'a', SIZE: '1' }, 1],
      [2, { NAME: 'a', SIZE: '2' }, 0],
      [3, { NAME: 'a', SIZE: '2' }, 1],
      [4, { NAME: 'b', SIZE: '1' }, 0],
      [5, { NAME: 'b', SIZE: '1' }, 1],
      [6, { NAME: 'b', SIZE: '2' }, 0],
      [7, { NAME: 'b', SIZE: '2' }, 1],
    ],
  );
  for (const cell of cells) {
    const job = textAt(cell, 'object');
    const { NAME, SIZE } = valueAt(cell, 'params') as Record<string, string>;
    t.is((await parents.client().get(`${JOBS}/${job}/logs`)).text, `${NAME} ${SIZE} ${SIZE} 0\n`);
    t.is(textAt(cell, 'phase'), 'Succeeded');
    t.true(numberAt(cell, 'wallSeconds') > 0);
  }
  t.is(numberAt(sweep, 'status', 'succeeded'), 8);
  const jobs = await parents.client().get(`${JOBS}?labelSelector=svc.dev%2Fsweep%3Dsquares`);
  t.is(listAt(jobs.body, 'items').length, 8, 'one Job for each cell');
});

test('each cell says what it has cost in the end, as its Job does, and the cheapest that succeeded is told', async (t) => {
  await parents.post('Sweep', 'costs', {
    matrix: { params: { SECONDS: ['2', '0', '1'] } },
    maxParallel: 3,
    template: template('sleep "$SVC_PARAM_SECONDS"'),
  });
  const sweep = await parents.once(at('costs'), 'tells all costs', (seen) => {
    const cells = listAt(seen, 'status', 'cells');
    return cells.length === 3 && cells.every((cell) => valueAt(cell, 'costUSD') !== undefined);
  });
  const costs = listAt(sweep, 'status', 'cells').map((cell) => Number(textAt(cell, 'costUSD')));
  t.true(
    costs.every((cost) => cost > 0),
    costs.join(),
  );
  t.is(numberAt(sweep, 'status', 'best', 'byCost'), costs.indexOf(Math.min(...costs)));
  for (const [index, cell] of listAt(sweep, 'status', 'cells').entries()) {
    const { body } = await parents.client().get(`${JOBS}/${textAt(cell, 'object')}`);
    t.is(textAt(body, 'status', 'cost', 'totalUSD'), textAt(cell, 'costUSD'), `${index}`);
  }
  const all = await parents.once(
    at('costs'),
    'is charged',
    (seen) => valueAt(seen, 'status', 'cost', 'final') === true,
  );
  const sum = costs.reduce((total, cost) => total + cost, 0);
  t.true(Math.abs(Number(textAt(all, 'status', 'cost', 'totalUSD')) - sum) < 1e-9, 'they add up');
  const rows = await parents.client().get(`${at('costs')}/cells`);
  t.deepEqual(
    listAt(rows.body, 'items').map((cell) => Number(textAt(cell, 'costUSD'))),
    costs,
  );
});

test('a failed cell stops no other, and the Sweep has failed when all are over', async (t) => {
  await parents.post('Sweep', 'unlucky', {
    matrix: { params: { CODE: ['0', '3', '0'].map((code, index) => `${code}${index}`) } },
    maxParallel: 1,
    template: template('exit ${SVC_PARAM_CODE%?}'),
  });
  const sweep = await parents.ended(at('unlucky'));
  t.is(outcomeOf(sweep), 'Failed CellsFailed');
  t.deepEqual(phasesOf(sweep, 'cells'), ['Succeeded', 'Failed', 'Succeeded']);
  const failed = await parents.client().get(`${at('unlucky')}/cells?phase=Failed`);
  t.deepEqual(
    listAt(failed.body, 'items').map((cell) => numberAt(cell, 'index')),
    [1],
  );
});

test('no more cells run at once than maxParallel, which may be raised', async (t) => {
  await parents.post('Sweep', 'window', { maxParallel: 1, repetitions: 3, template: template('exec sleep 600') });
  const one = await parents.once(at('window'), 'runs a cell', (sweep) => phasesOf(sweep, 'cells').includes('Running'));
  t.deepEqual(phasesOf(one, 'cells'), ['Running', 'Pending', 'Pending']);
  t.is((await parents.merge(at('window'), { maxParallel: 2 })).status, 200);
  const two = await parents.once(at('window'), 'runs two', (sweep) => phasesOf(sweep, 'cells')[1] === 'Running');
  t.deepEqual(phasesOf(two, 'cells'), ['Running', 'Running', 'Pending']);
  t.is(numberAt(two, 'status', 'active'), 2);
  t.is((await parents.client().remove(at('window'))).status, 200);
});

test('Suspended, Running and Cancelled reach the Jobs of the cells', async (t) => {
  await parents.post('Sweep', 'moods', {
    repetitions: 3,
    maxParallel: 2,
    template: template('[ $SVC_EPOCH -ge 2 ] || exec sleep 600'),
  });
  const running = (sweep: unknown): boolean =>
    phasesOf(sweep, 'cells').filter((phase) => phase === 'Running').length === 2;
  await parents.once(at('moods'), 'runs', running);
  t.is((await parents.merge(at('moods'), { state: 'Suspended' })).status, 200);
  const resting = await parents.once(at('moods'), 'rests', (sweep) => textAt(sweep, 'status', 'phase') === 'Suspended');
  t.deepEqual(phasesOf(resting, 'cells'), ['Suspended', 'Suspended', 'Pending']);
  t.is((await parents.merge(at('moods'), { state: 'Running' })).status, 200);
  const last = (sweep: unknown): boolean => phasesOf(sweep, 'cells').join() === 'Succeeded,Succeeded,Running';
  await parents.once(at('moods'), 'begins the last', last);
  t.is((await parents.merge(at('moods'), { state: 'Cancelled' })).status, 200);
  const sweep = await parents.ended(at('moods'));
  t.is(outcomeOf(sweep), 'Cancelled Cancelled');
  t.deepEqual(phasesOf(sweep, 'cells'), ['Succeeded', 'Succeeded', 'Cancelled']);
  const again = await parents.merge(at('moods'), { state: 'Running' });
  t.is(again.status, 422);
  t.regex(textAt(again.body, 'message'), /a cancelled Sweep stays cancelled/);
});

curl(
  'the throughput of a cell is the progress that its work reports, by its wall time, and the fastest is the best',
  async (t) => {
    const report = `curl -sS -o /dev/null --unix-socket $SVC_API_SOCKET $SVC_API_URL/attempt/v1/progress -H "Authorization: Bearer $SVC_TOKEN" -d "{\\"completed\\": $SVC_PARAM_UNITS}"`;
    await parents.post('Sweep', 'paced', {
      matrix: { params: { UNITS: ['1000', '4000000', '2000'] } },
      maxParallel: 1,
      template: template(report, { completions: 2 }),
    });
    const sweep = await parents.ended(at('paced'));
    t.is(outcomeOf(sweep), 'Succeeded Completed');
    const cells = listAt(sweep, 'status', 'cells');
    for (const cell of cells) {
      const units = 2 * Number(textAt(cell, 'params', 'UNITS'));
      const wall = numberAt(cell, 'wallSeconds');
      t.true(
        Math.abs(Number(textAt(cell, 'unitsPerSecond')) - units / wall) < 1e-3 * (units / wall),
        'summed over its indexes',
      );
    }
    t.is(numberAt(sweep, 'status', 'best', 'byThroughput'), 1);
  },
);

test('without reports no cell has a throughput, and none is the fastest', async (t) => {
  await parents.post('Sweep', 'silent', { repetitions: 2, template: template('true') });
  const sweep = await parents.ended(at('silent'));
  t.is(valueAt(sweep, 'status', 'best', 'byThroughput'), undefined);
  t.is(valueAt(listAt(sweep, 'status', 'cells')[0], 'unitsPerSecond'), undefined);
});

test('the status of a large Sweep has its first hundred cells, and the route has all of them in pages', async (t) => {
  await parents.post('Sweep', 'large', {
    state: 'Suspended',
    repetitions: 50,
    matrix: { params: { N: Array.from({ length: 10 }, (_, n) => `${n}`) } },
    template: template('true'),
  });
  const sweep = await parents.once(
    at('large'),
    'is suspended',
    (object) => textAt(object, 'status', 'phase') === 'Suspended',
  );
  t.is(listAt(sweep, 'status', 'cells').length, 100);
  t.is(numberAt(sweep, 'status', 'total'), 500);
  const seen: number[] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const { body } = await parents.client().get(`${at('large')}/cells?limit=150&after=${after}`);
    seen.push(...listAt(body, 'items').map((cell) => numberAt(cell, 'index')));
    after = valueAt(body, 'continue') as string | undefined;
  }
  t.deepEqual(
    seen,
    Array.from({ length: 500 }, (_, index) => index),
  );
  for (const query of ['after=x', 'phase=Done', 'limit=-1', 'bogus=1'])
    t.is((await parents.client().get(`${at('large')}/cells?${query}`)).status, 400, query);
  t.is((await parents.client().remove(at('large'))).status, 200);
});

test('what cannot be carried out yet is refused with 501 and named, and a matrix that is too large with its count', async (t) => {
  const refused = async (spec: object): Promise<readonly string[]> => {
    const answer = await parents
      .client()
      .post(SWEEPS, objectOf('Sweep', 'refused', { template: template('true'), ...spec }));
    return [`${answer.status}`, ...listAt(answer.body, 'details', 'causes').map((cause) => textAt(cause, 'field'))];
  };
  t.deepEqual(await refused({ matrix: { gpu: ['h100:1'] } }), ['501', 'spec.matrix.gpu']);
  t.deepEqual(await refused({ matrix: { regions: ['eu'] } }), ['501', 'spec.matrix.regions']);
  t.deepEqual(await refused({ template: template('true', { scaledownWindow: '5m' }) }), [
    '501',
    'spec.template.spec.scaledownWindow',
  ]);
  const numbers = Array.from({ length: 101 }, (_, n) => `${n}`);
  const large = await parents
    .client()
    .post(
      SWEEPS,
      objectOf('Sweep', 'large-matrix', { matrix: { params: { A: numbers, B: numbers } }, template: template('true') }),
    );
  t.is(large.status, 422);
  t.regex(textAt(large.body, 'message'), /at most 10000 cells, and makes 10201/);
});

test('a Job that a client deletes is a failed cell, and is not made again', async (t) => {
  await parents.post('Sweep', 'bereft', { template: template('exec sleep 600') });
  const sweep = await parents.once(at('bereft'), 'runs', (object) => phasesOf(object, 'cells')[0] === 'Running');
  const job = textAt(listAt(sweep, 'status', 'cells')[0], 'object');
  t.is((await parents.client().remove(`${JOBS}/${job}`)).status, 200);
  const ended = await parents.ended(at('bereft'));
  t.is(outcomeOf(ended), 'Failed CellsFailed');
  await until('its Job is gone', async () => (await parents.client().get(`${JOBS}/${job}`)).status === 404, 30_000);
});

test('a Sweep that is deleted takes its Jobs with it', async (t) => {
  await parents.post('Sweep', 'leaving', { repetitions: 3, template: template('exec sleep 600') });
  await parents.once(at('leaving'), 'runs', (object) =>
    phasesOf(object, 'cells').every((phase) => phase === 'Running'),
  );
  t.is((await parents.client().remove(at('leaving'), { propagationPolicy: 'Foreground' })).status, 200);
  await until('it is gone', async () => (await parents.client().get(at('leaving'))).status === 404, 60_000);
  const jobs = await parents.client().get(`${JOBS}?labelSelector=svc.dev%2Fsweep%3Dleaving`);
  t.is(listAt(jobs.body, 'items').length, 0);
});

test('a Job that a client takes away from its Sweep is gone for it, whoever has it then, and its cell has failed', async (t) => {
  await parents.post('Sweep', 'robbed', { repetitions: 2, maxParallel: 1, template: template('exec sleep 600') });
  const busy = await parents.once(at('robbed'), 'runs', (sweep) => phasesOf(sweep, 'cells')[0] === 'Running');
  const job = `${JOBS}/${textAt(listAt(busy, 'status', 'cells')[0], 'object')}`;
  const patch = { metadata: { ownerReferences: null } };
  t.is((await parents.client().merge(job, patch)).status, 200);
  const next = await parents.once(at('robbed'), 'goes on', (sweep) => phasesOf(sweep, 'cells')[1] === 'Running');
  t.deepEqual(phasesOf(next, 'cells'), ['Failed', 'Running']);
  t.is((await parents.client().remove(at('robbed'))).status, 200);
  t.is((await parents.client().remove(job)).status, 200);
});

test('what is deleted and held by a finalizer of a client ends its work, a Job as well as the cells of a Sweep', async (t) => {
  const finalizers = ['example.org/hold'];
  await parents.post('Sweep', 'held', { repetitions: 2, maxParallel: 2, template: template('exec sleep 600') });
  await parents.once(at('held'), 'runs', (sweep) => phasesOf(sweep, 'cells').join() === 'Running,Running');
  t.is((await parents.client().merge(at('held'), { metadata: { finalizers } })).status, 200);
  t.is((await parents.client().remove(at('held'))).status, 200);
  const sweep = await parents.ended(at('held'));
  t.is(outcomeOf(sweep), 'Cancelled Deleted');
  t.deepEqual(phasesOf(sweep, 'cells'), ['Cancelled', 'Cancelled']);
  t.is((await parents.client().merge(at('held'), { metadata: { finalizers: null } })).status, 200);
  await until('it is gone', async () => (await parents.client().get(at('held'))).status === 404, 30_000);
});

test('what is deleted in the foreground and held by a finalizer of a client ends as well, and its Sweep goes on', async (t) => {
  await parents.post('Sweep', 'fore', { repetitions: 2, maxParallel: 1, template: template('exec sleep 600') });
  const busy = await parents.once(at('fore'), 'runs', (sweep) => phasesOf(sweep, 'cells')[0] === 'Running');
  const job = `${JOBS}/${textAt(listAt(busy, 'status', 'cells')[0], 'object')}`;
  await parents.client().merge(job, { metadata: { finalizers: ['example.org/hold'] } });
  t.is((await parents.client().remove(`${job}?propagationPolicy=Foreground`)).status, 200);
  t.is(
    outcomeOf(await parents.once(job, 'ends', (held) => textAt(held, 'status', 'phase') === 'Cancelled')),
    'Cancelled Deleted',
  );
  await parents.once(at('fore'), 'goes on', (sweep) => phasesOf(sweep, 'cells').join() === 'Cancelled,Running');
  await parents.client().merge(job, { metadata: { finalizers: null } });
  t.is((await parents.client().remove(at('fore'))).status, 200);
});

test('a Job that a client made under the name and with the reference of a cell is no cell, and its end no result', async (t) => {
  const made = await parents.post('Sweep', 'fooled', { state: 'Suspended', template: template('true') });
  const uid = textAt(made, 'metadata', 'uid');
  const name = `fooled-0-${createHash('sha256').update(`${uid}/0`).digest('hex').slice(0, 6)}`;
  const reference = { apiVersion: 'svc.dev/v1', kind: 'Sweep', name: 'fooled', uid, controller: true };
  const fake = objectOf('Job', name, script('echo fake'), { ownerReferences: [reference] });
  t.is((await parents.client().post(JOBS, fake)).status, 201);
  t.is((await parents.merge(at('fooled'), { state: 'Running' })).status, 200);
  const sweep = await parents.ended(at('fooled'));
  t.is(outcomeOf(sweep), 'Failed CellsFailed');
});
