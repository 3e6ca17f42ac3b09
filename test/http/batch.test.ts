/** A create whose body is a list: every item is checked, and all that is wrong is told by its place in the list. */
import test, { type ExecutionContext } from 'ava';
import { API_GROUP } from '../../src/brand.js';
import { agentRunKind } from '../../src/kinds/agentrun/index.js';
import { prepareCreate } from '../../src/kinds/write/create.js';
import { IN_DEFAULT, openTestApi, type TestApi } from './support/test-api.js';
import { at, json, list } from './support/json.js';

const RUNS = `${IN_DEFAULT}/agentruns`;

/** An API whose store holds runs to their rules, as an actor does before it answers a dry run. */
async function openStrictApi(t: ExecutionContext): Promise<TestApi> {
  const api = await openTestApi(t);
  const moment = { now: 0, uid: () => 'u', randomBytes: (length: number) => Buffer.alloc(length) };
  api.resources.write = async (address, request) => {
    if (request.verb !== 'create') throw new Error(`not for ${request.verb}`);
    const made = prepareCreate(agentRunKind, address, request.body, { context: moment, ...request });
    if (made.outcome === 'Refused') return made;
    const body = Buffer.from(JSON.stringify(made.object));
    return { outcome: 'Done', status: 201, body, etag: 'dry-run', warnings: made.warnings };
  };
  return api;
}

function run(name: string, spec: object = {}): object {
  return { metadata: { name }, spec: { agent: 'svc/coder', ...spec } };
}

function post(api: TestApi, items: unknown, query = '?dryRun=All', more: object = {}): Promise<Response> {
  const body = { apiVersion: `${API_GROUP}/v1`, kind: 'AgentRunList', items, ...more };
  const headers = { 'content-type': 'application/json' };
  return api.call(`${RUNS}${query}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function fieldsOf(answer: Response | Promise<Response>): Promise<string[]> {
  return list(await json(answer), 'details.causes').map((cause) => String(at(cause, 'field')));
}

test('a list of good objects is rehearsed and shown as it would be', async (t) => {
  const api = await openStrictApi(t);
  const answer = await post(api, [run('a'), { metadata: { generateName: 'b-' }, spec: { agent: 'svc/coder' } }]);
  t.is(answer.status, 201);
  const body = await json(answer);
  t.is(at(body, 'kind'), 'AgentRunList');
  t.deepEqual(
    list(body, 'items').map((item) => [at(item, 'kind'), at(item, 'status.phase')]),
    [
      ['AgentRun', 'Queued'],
      ['AgentRun', 'Queued'],
    ],
  );
  t.is((await api.call(`${RUNS}/a`)).status, 404);
});

test('all that is wrong with any item is told at once, with its place', async (t) => {
  const api = await openStrictApi(t);
  const answer = await post(
    api,
    [run('a', { agent: 'A' }), 7, { spec: {} }, run('a'), run('c', { taskKey: 't' }), run('d', { wrong: 1 })],
    '?dryRun=All&fieldValidation=Strict',
    { odd: 1 },
  );
  t.is(answer.status, 422);
  t.deepEqual((await fieldsOf(answer)).toSorted(), [
    'items[0].spec.agent',
    'items[1]',
    'items[2].metadata.name',
    'items[3].metadata.name',
    'items[4].spec.taskKey',
    'items[5].spec.wrong',
    'odd',
  ]);
});

test('between items: a task key is unique in its group, and a run waits for what stands earlier', async (t) => {
  const api = await openStrictApi(t);
  const task = (name: string, ...dependsOn: string[]): object => run(name, { group: 'g', taskKey: name, dependsOn });
  t.is((await post(api, [task('a'), task('b', 'a')])).status, 201);
  t.deepEqual(await fieldsOf(post(api, [task('b', 'a'), task('a')])), ['items[0].spec.dependsOn[0]']);
});

test('a list holds 1 to 100 items', async (t) => {
  const api = await openStrictApi(t);
  const many = (count: number): object[] => Array.from({ length: count }, (_, i) => run(`r${i}`));
  t.is((await post(api, many(100))).status, 201);
  for (const items of [many(101), [], 'all', undefined]) t.deepEqual(await fieldsOf(post(api, items)), ['items']);
});

test('a list may have 32 MiB, one object 3', async (t) => {
  const api = await openStrictApi(t);
  const big = 'x'.repeat(250 * 1024);
  const large = Array.from({ length: 20 }, (_, i) => run(`r${i}`, { input: big }));
  t.is((await post(api, large)).status, 201);
  const one = JSON.stringify({ ...run('a'), padding: 'x'.repeat(4 * 2 ** 20) });
  const headers = { 'content-type': 'application/json' };
  t.is((await api.call(`${RUNS}?dryRun=All`, { method: 'POST', headers, body: one })).status, 413);
  const beyond = await post(api, [run('a', { input: 'x'.repeat(33 * 2 ** 20) })]);
  t.is(beyond.status, 413);
});

test('a kind without such a list takes no list', async (t) => {
  const api = await openTestApi(t);
  const body = JSON.stringify({ kind: 'SecretList', items: [] });
  const headers = { 'content-type': 'application/json' };
  const answer = await api.call(`${IN_DEFAULT}/secrets`, { method: 'POST', headers, body });
  t.is(answer.status, 422);
});

test('a real create of a list is refused as one of a single object is, once all items are good', async (t) => {
  const api = await openStrictApi(t);
  t.is((await post(api, [run('a')], '')).status, 501);
  t.is((await post(api, [run('a', { agent: 'A' })], '')).status, 422);
});
