/** The generic routes over a real server: what a client sees when it writes and reads objects. */
import test from 'ava';
import { API_GROUP } from '../../src/brand.js';
import { AS_TABLE, BASE, IN_DEFAULT, object, openTestApi } from './support/test-api.js';
import { at, json, list, text } from './support/json.js';

const SECRETS = `${IN_DEFAULT}/secrets`;
const MERGE = { 'content-type': 'application/merge-patch+json' };

test('an object is created, read, changed and deleted, and each answer carries its version as ETag', async (t) => {
  const api = await openTestApi(t);
  const created = await api.make('Secret', 'secrets', 'a');
  t.is(created.status, 201);
  const body = await json(created);
  t.is(created.headers.get('etag'), `"${text(body, 'metadata.resourceVersion')}"`);
  t.is(at(body, 'metadata.namespace'), 'default');

  // The long way first (the key is not known yet), then the hot path: both must say the same.
  for (let i = 0; i < 3; i++) {
    const read = await api.call(`${SECRETS}/a`);
    t.is(read.status, 200);
    t.is(read.headers.get('etag'), created.headers.get('etag'));
    for (const [tags, status] of [
      [created.headers.get('etag') ?? '', 304],
      [`"other", W/${created.headers.get('etag')}`, 304],
      ['"other"', 200],
    ] as const) {
      const again = await api.call(`${SECRETS}/a`, { headers: { 'if-none-match': tags } });
      t.is(again.status, status, tags);
      t.is((await again.text()) === '', status === 304);
    }
    t.is(read.headers.get('content-type'), 'application/json');
    t.truthy(read.headers.get('x-request-id'));
    t.deepEqual(await read.json(), body);
  }
  t.deepEqual(await json(api.call(`${SECRETS}/a/status`)), body);

  const patched = await api.call(`${SECRETS}/a`, {
    method: 'PATCH',
    headers: { ...MERGE, 'if-match': created.headers.get('etag') ?? '' },
    body: '{"metadata":{"labels":{"x":"y"}}}',
  });
  t.is(patched.status, 200);
  t.not(patched.headers.get('etag'), created.headers.get('etag'));
  const stale = await api.call(`${SECRETS}/a`, {
    method: 'PATCH',
    headers: { ...MERGE, 'if-match': created.headers.get('etag') ?? '' },
    body: '{}',
  });
  t.is(stale.status, 412);

  t.is((await api.call(`${SECRETS}/a`, { method: 'DELETE' })).status, 200);
  const gone = await api.call(`${SECRETS}/a`);
  t.is(gone.status, 404);
  const status = await json(gone);
  t.is(at(status, 'kind'), 'Status');
  t.is(at(status, 'reason'), 'NotFound');
  t.is(at(status, 'details.name'), 'a');
  t.is(at(status, 'requestId'), gone.headers.get('x-request-id'));
  t.is(at(status, 'docs'), `${api.url}/docs/errors/NotFound`);
  t.deepEqual(api.logged, []);
});

test('generateName makes a name, and a taken one is tried again unseen', async (t) => {
  // The third byte on differs, so the second try finds a free name.
  let calls = 0;
  const api = await openTestApi(t, { randomBytes: (length) => Buffer.alloc(length, Math.floor((calls += 1) / 3)) });
  const names = new Set<string>();
  for (let i = 0; i < 4; i++) {
    const answer = await api.call(SECRETS, {
      method: 'POST',
      body: JSON.stringify({ apiVersion: `${API_GROUP}/v1`, kind: 'Secret', metadata: { generateName: 'g-' } }),
      headers: { 'content-type': 'application/json' },
    });
    t.is(answer.status, 201);
    names.add(text(await json(answer), 'metadata.name'));
  }
  t.is(names.size, 4);
  for (const name of names) t.regex(name, /^g-[a-z0-9]{5}$/);
});

test('a create without a name or generateName is Invalid, and one for another project BadRequest', async (t) => {
  const api = await openTestApi(t);
  const nameless = await api.make('Secret', 'secrets', '');
  t.is(nameless.status, 422);
  t.is(at(await json(nameless), 'details.causes.0.field'), 'metadata.name');
  for (const [metadata, field, said] of [
    [{ name: 5 }, 'metadata.name', /must be a string/],
    [{ generateName: [] }, 'metadata.generateName', /must be a string/],
  ] as const) {
    const body = JSON.stringify({ apiVersion: `${API_GROUP}/v1`, kind: 'Secret', metadata });
    const refused = await api.call(SECRETS, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    t.is(refused.status, 422);
    const status = await json(refused);
    t.is(at(status, 'details.causes.0.field'), field, body);
    t.regex(String(at(status, 'details.causes.0.message')), said);
  }
  const elsewhere = await api.make('Secret', 'secrets', 'x', {}, { namespace: 'other' });
  t.is(elsewhere.status, 400);
});

test('a PUT whose name differs from the URL is BadRequest', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  const put = (name: string): Promise<Response> =>
    api.call(`${SECRETS}/a`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(object('Secret', name, 'default')),
    });
  t.is((await put('b')).status, 400);
  t.is((await put('a')).status, 200);
});

test('YAML goes in and out', async (t) => {
  const api = await openTestApi(t);
  const made = await api.call(SECRETS, {
    method: 'POST',
    headers: { 'content-type': 'application/yaml', accept: 'application/yaml' },
    body: `apiVersion: ${API_GROUP}/v1\nkind: Secret\nmetadata:\n  name: y\n`,
  });
  t.is(made.status, 201);
  t.is(made.headers.get('content-type'), 'application/yaml');
  t.regex(await made.text(), /name: y/);
});

test('what a body may not be is refused by name, and never with a 500', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  const cases: readonly (readonly [string, string, string | Uint8Array, number])[] = [
    ['POST', 'application/json', '{', 400],
    ['POST', 'application/json', '[]', 400],
    ['POST', 'application/json', '', 400],
    ['POST', 'application/json', '{"metadata":{"name":"\\ud800"}}', 400],
    ['POST', 'application/json', '{"__proto__":{}}', 400],
    ['POST', 'application/json', new Uint8Array([0x7b, 0xff, 0x7d]), 400],
    ['POST', 'text/plain', '{}', 415],
    ['POST', 'application/json; charset=utf-16', '{}', 415],
    ['PATCH', 'application/merge-patch+json;charset="ISO-8859-1"', '{}', 415],
    ['PATCH', 'application/merge-patch+json; charset=UTF-8', '{}', 200],
    ['POST', 'application/x-www-form-urlencoded', 'a=b', 415],
    ['PATCH', 'application/strategic-merge-patch+json', '{}', 415],
    ['PATCH', 'application/apply-patch+yaml', '{}', 415],
    ['PATCH', 'application/merge-patch+json', '[]', 400],
    ['PATCH', 'application/json-patch+json', '{}', 400],
  ];
  for (const [method, type, body, status] of cases) {
    const path = method === 'POST' ? SECRETS : `${SECRETS}/a`;
    const answer = await api.call(path, { method, headers: { 'content-type': type }, body });
    t.is(answer.status, status, `${method} ${type} ${String(body)}`);
    t.is(at(await json(answer), 'kind'), status === 200 ? 'Secret' : 'Status');
  }
  t.deepEqual(api.logged, []);
});

test('a malformed request is blamed on its parameter or field, with the next step', async (t) => {
  const api = await openTestApi(t);
  const told = async (answer: Promise<Response>): Promise<readonly unknown[]> => {
    const status = await json(answer);
    return [at(status, 'code'), at(status, 'details.causes.0.field'), typeof at(status, 'fix')];
  };
  for (const [query, field] of [
    ['continue=x', 'continue'],
    ['labelSelector=a%20in', 'labelSelector'],
    ['fieldSelector=a', 'fieldSelector'],
    ['fieldSelector=spec.none%3D1', 'fieldSelector'],
    ['labelSelector=a%00', 'labelSelector'],
  ] as const) {
    t.deepEqual(await told(api.call(`${SECRETS}?${query}`)), [400, field, 'string'], query);
  }
  const headers = { 'content-type': 'application/json' };
  const body = '{"metadata":{"name":"a","labels":{"b":"\\u0000"}}}';
  const unfit = await told(api.call(SECRETS, { method: 'POST', headers, body }));
  t.deepEqual(unfit, [400, 'metadata.labels.b', 'string']);
});

test('a parameter that is written otherwise than its name is refused, and one of nobody ignored', async (t) => {
  const door = await openTestApi(t);
  await door.make('Secret', 'secrets', 'a');
  for (const [method, path, name, meant] of [
    ['DELETE', SECRETS, 'dry-run=All', 'dryRun'],
    ['DELETE', SECRETS, 'labelselector=a%3Db', 'labelSelector'],
    ['DELETE', `${SECRETS}/a`, 'dryrun=All', 'dryRun'],
    ['DELETE', `${SECRETS}/a`, 'propagation_policy=Orphan', 'propagationPolicy'],
    ['GET', SECRETS, 'fieldSELECTOR=x', 'fieldSelector'],
    ['GET', SECRETS, 'watch=1&resourceversion=1', 'resourceVersion'],
    ['GET', `${SECRETS}/a`, 'Pretty=1', 'pretty'],
  ] as const) {
    const answer = await door.call(`${path}?${name}`, { method });
    const status = await json(answer);
    t.is(answer.status, 400, `${method} ${path} ${name}`);
    t.true(String(at(status, 'fix')).includes(meant), `${name}: ${JSON.stringify(status)}`);
  }
  t.is((await door.call(`${SECRETS}/a?nonsense=1`)).status, 200);
  const watch = await door.call(`${SECRETS}?watch=1&timeoutSeconds=1&limit=abc`);
  t.is(watch.status, 400);
  await watch.text();
});

test('options of a write that do not exist are refused as kube-apiserver does', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  for (const query of ['dryRun=Some', 'fieldValidation=Maybe', `fieldManager=${'x'.repeat(129)}`]) {
    const answer = await api.call(`${SECRETS}/a?${query}`, { method: 'PATCH', headers: MERGE, body: '{}' });
    t.is(answer.status, 422, query);
  }
  const grace = await api.call(`${SECRETS}/a?gracePeriodSeconds=-1`, { method: 'DELETE' });
  t.is(grace.status, 422);
  const policy = await api.call(`${SECRETS}/a`, { method: 'DELETE', body: '{"propagationPolicy":"Maybe"}' });
  t.is(policy.status, 422);
});

test('what a write says of itself reaches the actor: manager, validation, dry run, preconditions', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  await api.call(`${SECRETS}/a?fieldValidation=Strict&fieldManager=me&dryRun=All`, {
    method: 'PATCH',
    headers: { ...MERGE, 'idempotency-key': 'k1' },
    body: '{}',
  });
  const patch = api.resources.requests.at(-1);
  t.like(patch, { verb: 'patch', fieldValidation: 'Strict', fieldManager: 'me', dryRun: true });
  t.is(patch?.idempotency?.key, 'k1');
  t.is(patch?.caller.name, 'owner@acme.test');
  await api.call(`${SECRETS}/a`, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json', 'user-agent': 'kubectl/v1.32 (linux)' },
    body: JSON.stringify({ propagationPolicy: 'Foreground', preconditions: { uid: 'u' }, dryRun: ['All'] }),
  });
  const removal = api.resources.requests.at(-1);
  t.like(removal, { verb: 'delete', dryRun: true, fieldManager: 'kubectl' });
  t.is(removal?.verb === 'delete' ? removal.options.preconditions?.uid : '', 'u');
  t.is(removal?.verb === 'delete' ? removal.options.propagationPolicy : '', 'Foreground');
});

test('a second request with an Idempotency-Key that is still running is RequestInProgress', async (t) => {
  const api = await openTestApi(t);
  const release = api.resources.hold();
  const keyed = (name: string): Promise<Response> =>
    api.call(SECRETS, {
      method: 'POST',
      headers: { 'idempotency-key': 'once' },
      body: JSON.stringify(object('Secret', name, 'default')),
    });
  const first = keyed('a');
  while (api.resources.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const second = await keyed('a');
  t.is(second.status, 409);
  t.is(at(await json(second), 'reason'), 'RequestInProgress');
  t.truthy(second.headers.get('retry-after'));
  t.is((await keyed('b')).status, 422);
  release();
  t.is((await first).status, 201);
});

test('a method that a kind or path does not have is 405 with Allow', async (t) => {
  const api = await openTestApi(t);
  const cases: readonly (readonly [string, string, string])[] = [
    ['POST', `${BASE}/secrets`, 'GET'],
    ['POST', `${BASE}/offerings`, 'GET'],
    ['PATCH', `${BASE}/apikeys/x`, 'GET, DELETE'],
    ['PUT', `${SECRETS}/a/status`, 'GET'],
    ['PUT', SECRETS, 'GET, POST, DELETE'],
  ];
  for (const [method, path, allow] of cases) {
    const answer = await api.call(path, { method, body: '{}' });
    t.is(answer.status, 405, path);
    t.is(answer.headers.get('allow'), allow, path);
    t.is(at(await json(answer), 'reason'), 'MethodNotAllowed');
  }
});

test('paths that name nothing are NotFound, encoded slashes and traversal too', async (t) => {
  const api = await openTestApi(t);
  for (const path of [
    '/nothing',
    `${BASE}/nothings`,
    `${SECRETS}/a%2Fb`,
    `${SECRETS}/..%2f..%2fx`,
    `${SECRETS}/A`,
    `${SECRETS}/%00`,
    `${SECRETS}/%zz`,
    `${SECRETS}/a/nothing`,
    `${BASE}/namespaces/default/offerings/x`,
    '/apis/other.dev/v1/secrets',
    '/api/v2',
    `${SECRETS}//`,
  ]) {
    const answer = await api.call(path);
    t.is(answer.status, 404, path);
    t.is(at(await json(answer), 'kind'), 'Status', path);
  }
});

test('a collection is deleted by selector, and objects created meanwhile under the same name stay', async (t) => {
  const api = await openTestApi(t);
  for (let i = 0; i < 40; i++) await api.make('Secret', 'secrets', `s${i}`, {}, { labels: { odd: String(i % 2) } });
  const answer = await api.call(`${SECRETS}?labelSelector=odd%3D1`, { method: 'DELETE' });
  t.is(answer.status, 200);
  t.is(list(await json(answer), 'items').length, 20);
  for (const request of api.resources.requests.slice(-20)) {
    t.truthy(request.verb === 'delete' && request.options.preconditions?.uid);
  }
  t.is(list(await json(api.call(SECRETS)), 'items').length, 20);
});

test('a refusal that comes while a collection is being deleted says what is gone already', async (t) => {
  const api = await openTestApi(t);
  for (let i = 0; i < 20; i++) await api.make('Secret', 'secrets', `s${String(i).padStart(2, '0')}`);
  const { write } = api.resources;
  api.resources.write = async (address, ...rest) =>
    address.name === 's02'
      ? { outcome: 'Refused', refusal: { code: 'Unavailable', message: 'not now' } }
      : write(address, ...rest);
  const answer = await api.call(SECRETS, { method: 'DELETE' });
  t.is(answer.status, 503);
  t.regex(
    String(at(await json(answer), 'message')),
    /^not now; deleted before that: "s00", "s01", "s03".* and 5 more$/,
  );
  t.is(list(await json(api.call(SECRETS)), 'items').length, 5);
});

test('a client that leaves while a collection is being deleted ends it, and the rest stays', async (t) => {
  const api = await openTestApi(t);
  for (let i = 0; i < 200; i++) await api.make('Secret', 'secrets', `s${i}`);
  let left: AbortSignal | undefined;
  const { list: listed } = api.resources;
  api.resources.list = (request) => listed({ ...request, signal: (left = request.signal) });
  const deletes = (): number => api.resources.requests.filter(({ verb }) => verb === 'delete').length;
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve));
  };
  const leaving = new AbortController();
  const releaseFirst = api.resources.hold();
  const answer = api.call(SECRETS, { method: 'DELETE', signal: leaving.signal });
  await until(() => deletes() > 0);
  // The client leaves while the second group is being deleted, and the first is on its way to it.
  const first = deletes();
  const releaseSecond = api.resources.hold();
  releaseFirst();
  await until(() => deletes() > first);
  t.is((await answer).status, 200, 'the answer begins before the end');
  leaving.abort();
  await until(() => left?.aborted === true);
  const asked = deletes();
  releaseSecond();
  await until(() => api.resources.version() >= 100 + 200 + asked);
  t.is(list(await json(api.call(SECRETS)), 'items').length, 200 - asked);
  t.is(deletes(), asked);
});

test('kubectl gets rows with ages, wide columns and the metadata of each object', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a', { type: 'Opaque' });
  for (const path of [SECRETS, `${SECRETS}/a`]) {
    const table = await json(api.call(path, { headers: { accept: AS_TABLE } }));
    t.is(at(table, 'kind'), 'Table');
    t.is(at(table, 'columnDefinitions.0.name'), 'Name');
    t.is(at(table, 'rows.0.cells.0'), 'a');
    t.regex(String(list(table, 'rows.0.cells').at(-1)), /^\d+[dy]/);
    t.is(at(table, 'rows.0.object.kind'), 'PartialObjectMetadata');
    t.is(at(table, 'rows.0.object.metadata.namespace'), 'default');
  }
  const bare = await json(api.call(`${SECRETS}?includeObject=None`, { headers: { accept: AS_TABLE } }));
  t.is(at(bare, 'rows.0.object'), null);
  const whole = await json(api.call(`${SECRETS}?includeObject=Object`, { headers: { accept: AS_TABLE } }));
  t.is(at(whole, 'rows.0.object.spec.type'), 'Opaque');
  const partial = await json(
    api.call(SECRETS, { headers: { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' } }),
  );
  t.is(at(partial, 'kind'), 'PartialObjectMetadataList');
  t.is(at(partial, 'items.0.spec'), undefined);
  t.is((await api.call(SECRETS, { headers: { accept: 'text/html' } })).status, 406);
});

test('an action is checked against its schema and reaches the machine as one', async (t) => {
  const api = await openTestApi(t);
  await api.make('ServiceAccount', 'serviceaccounts', 'robot');
  const call = (body: string): Promise<Response> =>
    api.call(`${IN_DEFAULT}/serviceaccounts/robot/tokens`, { method: 'POST', body });
  t.is((await call('{"expiresIn":"forever"}')).status, 422);
  t.is((await call('{"expiresIn":"2h"}')).status, 200);
  t.like(api.resources.requests.at(-1), { verb: 'action', action: 'IssueToken', input: { expiresIn: '2h' } });
  t.is((await call('')).status, 200);
  t.is((await api.call(`${IN_DEFAULT}/serviceaccounts/robot/tokens`)).status, 405);
  const tokens = `${IN_DEFAULT}/serviceaccounts/robot/tokens`;
  const rotations = `${BASE}/webhookendpoints/hook/rotations`;
  const hook = { org: 'acme', kind: 'WebhookEndpoint', project: '', name: 'hook' };
  await api.resources.put(hook, object('WebhookEndpoint', 'hook', ''));
  const asked = api.resources.requests.length;
  for (const [path, body, field] of [
    [tokens, '{"expiresIn":"2h","audience":"a"}', 'audience'],
    [tokens, '{"expiresIn":3600}', 'expiresIn'],
    [tokens, '{"expiresIn":"-2h"}', 'expiresIn'],
    [rotations, '{"previousSecretTtl":"1h"}', 'previousSecretTtl'],
    [rotations, '{"previousSecretTTL":true}', 'previousSecretTTL'],
    [rotations, '{"previousSecretTTL":"-1h"}', 'previousSecretTTL'],
  ] as const) {
    const refused = await api.call(path, { method: 'POST', body });
    t.is(refused.status, 422, body);
    t.is(at(await json(refused), 'details.causes.0.field'), field);
  }
  for (const path of [tokens, rotations]) {
    const unknown = await api.call(`${path}?expiresIn=2h`, { method: 'POST' });
    t.is(unknown.status, 400);
    t.is(at(await json(unknown), 'details.causes.0.field'), 'expiresIn');
  }
  t.is(api.resources.requests.length, asked);
  t.is((await api.call(`${tokens}?dryRun=All&fieldManager=me&pretty=true`, { method: 'POST' })).status, 200);
});

test('what is only worth a warning comes as Warning headers, safe for any header reader', async (t) => {
  const api = await openTestApi(t);
  const { write } = api.resources;
  api.resources.write = async (address, request, signal) => {
    const reply = await write(address, request, signal);
    return reply.outcome === 'Done' ? { ...reply, warnings: ['unknown field "spec.x"', 'b\r\nx: y \u2028'] } : reply;
  };
  const answer = await api.make('Secret', 'secrets', 'a');
  t.is(answer.headers.get('warning'), '299 - "unknown field \\"spec.x\\"", 299 - "b??x: y ?"');
  t.is(answer.headers.get('x'), null);
});

test('a stored answer is marked as replayed', async (t) => {
  const api = await openTestApi(t);
  const { write } = api.resources;
  api.resources.write = async (address, request, signal) => ({
    ...(await write(address, request, signal)),
    replayed: true,
  });
  const answer = await api.make('Secret', 'secrets', 'a');
  t.is(answer.headers.get('idempotency-replayed'), 'true');
});

test('a read of a version that the client has already is 304, in every form but a Table, and on the status too', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  const path = `${IN_DEFAULT}/secrets/a`;
  const etag = (await api.call(path)).headers.get('etag') ?? '';
  t.regex(etag, /^"\d+"$/);
  for (const [where, accept] of [
    [path, 'application/json'],
    [path, 'application/yaml'],
    [`${path}/status`, 'application/json'],
    [`${path}?resourceVersion=0`, 'application/json'],
  ] as const) {
    for (const held of [etag, `W/${etag}`, `"1", ${etag}`, '*']) {
      const same = await api.call(where, { headers: { accept, 'if-none-match': held } });
      t.is(same.status, 304, `${where} ${accept} ${held}`);
      t.is(same.headers.get('etag'), etag);
      t.is(same.headers.get('vary'), 'Accept');
      t.is(await same.text(), '');
    }
    t.is((await api.call(where, { headers: { accept, 'if-none-match': '"1"' } })).status, 200);
  }
  const table = await api.call(path, { headers: { accept: AS_TABLE, 'if-none-match': etag } });
  t.is(table.status, 200, 'the ages that it shows pass');
  await api.call(path, {
    method: 'PATCH',
    body: '{"metadata":{"labels":{"a":"b"}}}',
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  t.is((await api.call(path, { headers: { 'if-none-match': etag } })).status, 200);
});
