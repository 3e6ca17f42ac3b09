/** Bounds of the HTTP server: sizes, places, slowness, standby and drain. What is over them is said, and nothing breaks. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { Registry } from 'prom-client';
import { until } from '../e2e/until.js';
import {
  BASE,
  bearer,
  credential,
  IN_DEFAULT,
  KEYS,
  object,
  openTestApi,
  sha256,
  type TestApi,
} from './support/test-api.js';
import { at, json } from './support/json.js';
import { watching } from './support/watching.js';

const SECRETS = `${IN_DEFAULT}/secrets`;

/** Sends raw bytes and reads until the server closes or a whole answer head is there. */
function raw(api: TestApi, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    let got = '';
    socket.setTimeout(20_000, () => {
      socket.destroy();
      reject(new Error(`no answer; got ${got}`));
    });
    socket.on('data', (chunk) => (got += chunk.toString()));
    socket.on('close', () => resolve(got));
    socket.on('error', reject);
    socket.write(bytes);
  });
}

test('a body over the limit is 413, by its length and while it is read', async (t) => {
  const api = await openTestApi(t, { limits: { bodyBytes: 64 * 1024 } });
  const big = JSON.stringify(object('Secret', 'a', 'default', { pad: 'x'.repeat(100_000) }));
  const told = await api.call(SECRETS, { method: 'POST', body: big });
  t.is(told.status, 413);
  t.is(at(await json(told), 'reason'), 'RequestEntityTooLarge');
  const head = `POST ${SECRETS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.owner}\r\ntransfer-encoding: chunked\r\n\r\n`;
  const streamed = await raw(api, `${head}${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`);
  t.regex(streamed, /^HTTP\/1.1 413 /);
  t.regex(streamed, /connection: close/i);
  t.is(api.resources.requests.length, 0);
});

test('who may not write is refused before the body is read', async (t) => {
  const api = await openTestApi(t);
  const answer = await raw(
    api,
    `POST ${SECRETS} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${KEYS.viewer}\r\ncontent-length: 100000\r\n\r\n`,
  );
  t.regex(answer, /^HTTP\/1.1 403 /);
});

test('compressed bodies are refused, and bad HTTP gets a Status', async (t) => {
  const api = await openTestApi(t);
  const zipped = await api.call(SECRETS, { method: 'POST', body: 'x', headers: { 'content-encoding': 'gzip' } });
  t.is(zipped.status, 415);
  t.regex(await zipped.text(), /"fix":"Send the body as it is/);
  t.regex(await raw(api, 'NONSENSE\r\n\r\n'), /^HTTP\/1.1 400 [\s\S]*"kind":"Status"[\s\S]*"fix":/);
  const method = await raw(api, 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n');
  t.regex(method, /^HTTP\/1.1 400 [\s\S]*the method of the request is not known[\s\S]*"fix":"Use GET/);
  t.regex(method, /"docs":"\/docs\/errors\/BadRequest"/);
  const [, id] = /^X-Request-Id: (.+)\r$/im.exec(method) ?? [];
  t.true(id !== undefined && method.includes(`"requestId":"${id}"`));
  const long = await raw(api, `GET /livez HTTP/1.1\r\nx-long: ${'a'.repeat(40_000)}\r\n\r\n`);
  t.regex(long, /^HTTP\/1.1 431 /);
});

test('one request too many is 429 with Retry-After, and a watch does not hold a place', async (t) => {
  const api = await openTestApi(t, { limits: { inFlight: { all: 2, org: 2, key: 2 }, streams: 6 } });
  const watchers = await Promise.all(
    Array.from({ length: 3 }, () => watching((signal) => api.call(`${SECRETS}?watch=1`, { signal }))),
  );
  t.deepEqual(
    watchers.map(({ status }) => status),
    [200, 200, 200],
  );
  const fourth = await api.call(`${SECRETS}?watch=1`);
  t.is(fourth.status, 429);
  t.truthy(fourth.headers.get('retry-after'));
  const release = api.resources.hold();
  const held = [api.make('Secret', 'secrets', 'a'), api.make('Secret', 'secrets', 'b')];
  while (api.resources.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
  const over = await api.make('Secret', 'secrets', 'c');
  t.is(over.status, 429);
  t.is(at(await json(over), 'reason'), 'TooManyRequests');
  release();
  for (const answer of await Promise.all(held)) t.is(answer.status, 201);
  t.is((await api.make('Secret', 'secrets', 'd')).status, 201);
  for (const watcher of watchers) watcher.stop();
});

test('a watcher that does not read is cut, and the others see everything', async (t) => {
  const api = await openTestApi(t);
  const from = api.resources.version();
  const lazy = connect(Number(new URL(api.url).port), '127.0.0.1');
  lazy.pause();
  lazy.write(
    `GET ${SECRETS}?watch=1&resourceVersion=${from} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.owner}\r\n\r\n`,
  );
  const good = await watching((signal) => api.call(`${SECRETS}?watch=1&resourceVersion=${from}`, { signal }));
  while (api.resources.watchers < 2) await new Promise((resolve) => setImmediate(resolve));
  const pad = 'x'.repeat(1024 * 1024);
  let made = 0;
  while (api.resources.watchers === 2 && made < 60) {
    const name = `s${made}`;
    await api.resources.put(
      { org: 'acme', kind: 'Secret', project: 'default', name },
      object('Secret', name, 'default', { pad }),
    );
    made += 1;
    await good.until(made);
  }
  t.is(api.resources.watchers, 1);
  t.true(made < 60);
  lazy.destroy();
  good.stop();
});

test('watches of an org that do not read hold no more than its share, however little each waits for, and others see everything', async (t) => {
  const api = await openTestApi(t, { limits: { watchBytes: 2 * 1024 * 1024 } });
  const from = api.resources.version();
  for (let n = 0; n < 5; n += 1) askAndTakeNothing(t, api, `?watch=1&resourceVersion=${from}&labelSelector=zz!%3D${n}`);
  const good = await watching((signal) => api.call(`${SECRETS}?watch=1&resourceVersion=${from}`, { signal }));
  while (api.resources.watchers < 6) await new Promise((resolve) => setImmediate(resolve));
  const pad = 'x'.repeat(256 * 1024);
  let made = 0;
  // Above the system's own buffers, 2 MiB would have been let wait for each for 5 s.
  while (api.resources.watchers > 1 && made < 120) {
    const address = { org: 'acme', kind: 'Secret', project: 'default', name: `s${made}` };
    await api.resources.put(address, object('Secret', address.name, 'default', { pad }));
    made += 1;
    await good.until(made);
  }
  t.is(api.resources.watchers, 1);
  good.stop();
});

/** Asks and takes nothing of the answer. */
function askAndTakeNothing(t: ExecutionContext, api: TestApi, query: string): void {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`GET ${SECRETS}${query} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.owner}\r\n\r\n`);
}

test('clients that take nothing of a list, a page or an initial state are cut, and a quiet watch is not', async (t) => {
  const api = await openTestApi(t, { limits: { stalledSeconds: 0.5 } });
  // More than the system's own buffers hold.
  const pad = 'x'.repeat(512 * 1024);
  for (let i = 0; i < 60; i++) {
    const address = { org: 'acme', kind: 'Secret', project: 'default', name: `s${String(i).padStart(2, '0')}` };
    await api.resources.put(address, object('Secret', address.name, 'default', { pad }));
  }
  const quiet = await watching((signal) =>
    api.call(`${SECRETS}?watch=1&resourceVersion=${api.resources.version()}`, { signal }),
  );
  const asked: AbortSignal[] = [];
  const { list: listed } = api.resources;
  api.resources.list = (request) => {
    asked.push(request.signal);
    return listed(request);
  };
  for (const query of ['', '?limit=1000', '?watch=1', '?labelSelector=!none']) askAndTakeNothing(t, api, query);
  const deadline = Date.now() + 20_000;
  const cut = (): number => asked.filter(({ aborted }) => aborted).length;
  while (cut() < 4 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  t.is(cut(), 4);
  await api.make('Secret', 'secrets', 'late');
  await quiet.until(1);
  t.deepEqual(quiet.seen(), ['ADDED late']);
  quiet.stop();
});

test('a standby answers 503 with Retry-After to every API request, and says why it is not ready', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  t.is((await api.call(`${SECRETS}/a`)).status, 200);
  api.health.active = false;
  api.health.missing.push('lease');
  for (const path of [`${SECRETS}/a`, SECRETS, `${BASE}/secrets?watch=1`, '/ops/v1/orgs', `${BASE}/nothing`]) {
    const answer = await api.call(path);
    t.is(answer.status, 503, path);
    t.truthy(answer.headers.get('retry-after'), path);
  }
  const ready = await api.call('/readyz');
  t.is(ready.status, 503);
  t.deepEqual(at(await json(ready), 'missing'), ['lease']);
  t.is((await api.call('/livez')).status, 200);
});

test('work that is behind is told by /readyz and ends no process: it is live and ready', async (t) => {
  const api = await openTestApi(t);
  api.health.behind.push('an effect was last tried 900 s ago');
  t.is((await api.call('/livez')).status, 200);
  const ready = await api.call('/readyz');
  t.is(ready.status, 200);
  t.deepEqual(at(await json(ready), 'behind'), ['an effect was last tried 900 s ago']);
});

test('while it drains, a write that comes in is 503 with Retry-After and changes nothing', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  const auth = `host: x\r\nauthorization: Bearer ${KEYS.owner}\r\n`;
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  let got = '';
  const wait = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(got)) await new Promise((resolve) => socket.once('data', resolve));
  };
  socket.on('data', (chunk) => (got += chunk.toString()));
  // The second request has begun in the same packet as the first, so its connection is not idle when the drain begins.
  socket.write(`GET ${SECRETS}/a HTTP/1.1\r\n${auth}\r\nPOST ${SECRETS} HTTP/1.1\r\n`);
  await wait(/HTTP\/1.1 200 /);
  const drained = api.http.drain();
  const body = '{"metadata":{"name":"late"}}';
  socket.write(`${auth}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await wait(/HTTP\/1.1 503 [\s\S]*retry-after/i);
  await drained;
  t.is(api.resources.requests.length, 1);
  socket.destroy();
});

test('a request that fails inside is 500 with its id, and the log has the place but not the message', async (t) => {
  const api = await openTestApi(t);
  api.resources.read = async () => {
    throw new TypeError('the password is hunter2');
  };
  const answer = await api.call(`${SECRETS}/a`);
  t.is(answer.status, 500);
  const body = await json(answer);
  t.is(at(body, 'reason'), 'InternalError');
  t.false(JSON.stringify(body).includes('hunter2'));
  t.is(api.logged.length, 1);
  t.true(api.logged[0]?.includes(String(at(body, 'requestId'))));
  t.false(api.logged[0]?.includes('hunter2'));
});

test('a wait that outlasts the request is 503, not a hanging client', async (t) => {
  const api = await openTestApi(t, { limits: { requestSeconds: 1 } });
  api.resources.read = (_address, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () =>
        reject(signal.reason instanceof Error ? signal.reason : new Error('aborted')),
      );
    });
  const answer = await api.call(`${SECRETS}/a`, { headers: bearer(KEYS.owner) });
  t.is(answer.status, 503);
});

/** How many requests have been answered, by the service's own count. */
async function answered(metrics: Registry): Promise<number> {
  const lines = (await metrics.metrics()).split('\n');
  const counts = lines.filter((line) => line.startsWith('troupe_http_requests_total{'));
  return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

test('of 64 KiB of pipelined requests two are served at the most, and the connection ends with their answers', async (t) => {
  const metrics = new Registry();
  const api = await openTestApi(t, { metrics });
  const before = await answered(metrics);
  const one = 'GET /x HTTP/1.1\r\nhost: x\r\n\r\n';
  const many = one.repeat(Math.floor((64 * 1024) / one.length));
  const answers = await Promise.all(Array.from({ length: 20 }, () => raw(api, many)));
  for (const answer of answers) {
    t.true((answer.match(/HTTP\/1.1 \d+/g)?.length ?? 0) <= 2);
  }
  t.true((await answered(metrics)) - before <= 2 * 20 + 1);
});

test('an answer that is long under way comes whole, though a second request was sent behind the first', async (t) => {
  const size = 8 * 1024 * 1024;
  const api = await openTestApi(t);
  const name = 'big';
  const pad = 'x'.repeat(size);
  await api.resources.put(
    { org: 'acme', kind: 'Secret', project: 'default', name },
    object('Secret', name, 'default', { pad }),
  );
  const get = `GET ${SECRETS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.owner}\r\n\r\n`;
  const answer = await raw(api, get + get);
  t.is(answer.match(/HTTP\/1.1 \d+/g)?.length, 1);
  t.true(answer.length > size);
  t.regex(answer, /0\r\n\r\n$/);
});

/** A create whose body is promised and not sent; resolves once the service waits for it, or has refused it. */
async function halfSent(api: TestApi, key: string, sent = '{'): Promise<{ readonly socket: Socket; said(): string }> {
  const socket = connect(api.http.httpPort, '127.0.0.1');
  let said = '';
  socket.on('data', (data: Buffer) => (said += data.toString()));
  socket.on('error', () => undefined);
  const head = `POST ${SECRETS} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nauthorization: Bearer ${key}\r\n`;
  socket.write(`${head}content-type: application/json\r\ncontent-length: 100000\r\n\r\n${sent}`);
  await until('it is waited for or refused', () => said !== '');
  return { socket, said: () => said };
}

test('bodies that do not come take the places of their own key and org, and neither those of others nor health', async (t) => {
  const api = await openTestApi(t, { limits: { inFlight: { all: 4, org: 3, key: 2 } } });
  const waiting = [await halfSent(api, KEYS.owner), await halfSent(api, KEYS.owner)];
  const third = await halfSent(api, KEYS.owner);
  await until('it is refused', () => third.said().includes('HTTP/1.1 429 '));
  t.regex(third.said(), /retry-after/i);
  // Requests in flight are counted apart.
  t.is((await api.call(SECRETS)).status, 200);
  t.is((await api.call(SECRETS, { headers: bearer(KEYS.viewer) })).status, 200);
  t.is((await api.call(SECRETS, { headers: bearer(KEYS.other) })).status, 200);
  for (const path of ['/readyz', '/livez', '/metrics']) t.is((await api.call(path)).status, 200, path);
  for (const { socket } of waiting) socket.destroy();
  await until('their places are free', async () => {
    const again = await halfSent(api, KEYS.owner);
    again.socket.destroy();
    return !again.said().includes('429');
  });
});

test('requests in flight are bounded for a key and for an org, and the rest is for the others', async (t) => {
  const api = await openTestApi(t, { limits: { inFlight: { all: 4, org: 3, key: 2 } } });
  const second = 'svc_second-acme';
  await api.resources.put(
    { org: 'acme', kind: 'APIKey', project: '', name: 'more-key' },
    object('APIKey', 'more-key', ''),
  );
  const address = { org: 'acme', kind: 'APIKey', project: '', name: 'more-key' };
  api.credentials.set(sha256(second), { ...credential('acme', 'owner'), address, uid: 'uid-APIKey-more-key' });
  const release = api.resources.hold();
  const create = (key: string, name: string): Promise<Response> =>
    api.call(SECRETS, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: { name } }),
    });
  const held = [create(KEYS.owner, 'a'), create(KEYS.owner, 'b')];
  await until('they are under way', () => api.resources.requests.length === 2);
  t.is((await create(KEYS.owner, 'c')).status, 429, 'of the key');
  held.push(create(second, 'd'));
  await until('it is under way', () => api.resources.requests.length === 3);
  t.is((await create(second, 'e')).status, 429, 'of the org');
  held.push(create(KEYS.other, 'f'));
  await until('another org is served', () => api.resources.requests.length === 4);
  t.is((await create(KEYS.other, 'g')).status, 429, 'in all');
  t.is((await api.call('/readyz')).status, 200);
  release();
  for (const answer of held) t.is((await answer).status, 201);
  t.is((await create(KEYS.owner, 'h')).status, 201);
});

test('bodies that are held in memory are bounded in all, half of it for one org, until their requests are over', async (t) => {
  const api = await openTestApi(t, { limits: { bodyMemoryBytes: 400_000 } });
  const release = api.resources.hold();
  const create = (key: string, name: string): Promise<Response> =>
    api.call(SECRETS, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: { name }, spec: { pad: 'x'.repeat(150_000) } }),
    });
  const first = create(KEYS.owner, 'a');
  await until('it is under way', () => api.resources.requests.length === 1);
  t.is((await create(KEYS.owner, 'b')).status, 429);
  const other = create(KEYS.other, 'c');
  await until('another org is served', () => api.resources.requests.length === 2);
  release();
  t.is((await first).status, 201);
  t.is((await other).status, 201);
  t.is((await create(KEYS.owner, 'd')).status, 201);
});

test('more than one Host is refused, whatever it says', async (t) => {
  const api = await openTestApi(t);
  for (const path of ['/livez', SECRETS]) {
    const hosts = 'host: a\r\nHOST: a\r\n';
    t.regex(await raw(api, `GET ${path} HTTP/1.1\r\n${hosts}\r\n`), /^HTTP\/1.1 400 [^]*more than one Host/);
  }
});

test('more than one Authorization is refused, whatever it says, and where the connection asks to leave HTTP, too', async (t) => {
  const api = await openTestApi(t);
  const keys = `host: a\r\nauthorization: Bearer ${KEYS.owner}\r\nAUTHORIZATION: Bearer ${KEYS.owner}\r\n`;
  const leaving = `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${'a'.repeat(22)}==\r\n`;
  for (const [path, more] of [
    [SECRETS, ''],
    [`${SECRETS}/none`, ''],
    ['/version', ''],
    [`${IN_DEFAULT}/sandboxes/a/terminal`, leaving],
  ] as const) {
    const said = await raw(api, `GET ${path} HTTP/1.1\r\n${keys}${more}\r\n`);
    t.regex(said, /^HTTP\/1.1 400 [^]*more than one Authorization/, path);
    t.regex(said, /connection: close/i, path);
  }
});

test('a request that asks to act as another caller is refused, also where the answer lies ready', async (t) => {
  const api = await openTestApi(t);
  const key = { authorization: `Bearer ${KEYS.owner}` };
  const made = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'plain' },
    stringData: { a: '1' },
  });
  t.is((await api.call(SECRETS, { method: 'POST', body: made, headers: key })).status, 201);
  for (const path of [SECRETS, `${SECRETS}/plain`]) {
    t.is((await api.call(path, { headers: key })).status, 200);
    for (const header of ['Impersonate-User', 'impersonate-Extra-x']) {
      const answer = await api.call(path, { headers: { ...key, [header]: 'viewer' } });
      t.is(answer.status, 501, header);
      t.like(await answer.json(), { reason: 'Unsupported' });
    }
  }
});

test('a method that a fixed path does not have is 405 with those that it has', async (t) => {
  const api = await openTestApi(t);
  for (const [path, method] of [
    ['/livez', 'POST'],
    ['/readyz', 'DELETE'],
    ['/version', 'PUT'],
    ['/openapi.json', 'POST'],
  ] as const) {
    const answer = await api.call(path, { method });
    t.is(answer.status, 405, path);
    t.is(answer.headers.get('allow'), 'GET, HEAD');
    t.is(at(await json(answer), 'reason'), 'MethodNotAllowed');
  }
  t.is((await api.call('/nothing', { method: 'POST' })).status, 404);
});

test('connections of a key and of an org are bounded: one too many is told so and ends, and others go on', async (t) => {
  const api = await openTestApi(t, { limits: { connections: { all: 8 } } });
  const name = 'a';
  await api.resources.put({ org: 'acme', kind: 'Secret', project: 'default', name }, object('Secret', name, 'default'));
  const kept: Socket[] = [];
  t.teardown(() => kept.forEach((socket) => socket.destroy()));
  /** The first bytes of the answer on a new connection, which stays open if the service lets it. */
  const ask = async (key: string, path = SECRETS): Promise<{ readonly socket: Socket; readonly answer: string }> => {
    const socket = connect(api.http.httpPort, '127.0.0.1');
    kept.push(socket);
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`);
    const [data] = (await once(socket, 'data')) as [Buffer];
    return { socket, answer: data.toString('latin1') };
  };
  const first = await ask(KEYS.owner);
  t.regex(first.answer, /^HTTP\/1.1 200 /);
  t.regex((await ask(KEYS.owner)).answer, /^HTTP\/1.1 200 /);
  const third = await ask(KEYS.owner);
  t.regex(third.answer, /^HTTP\/1.1 429 /);
  t.regex(third.answer, /connection: close/i);
  t.regex(third.answer, /2 connections of this credential are open, which is the limit/);
  await until('it is closed', () => third.socket.closed);
  // Nor is one object that is in memory answered, which goes a shorter way.
  t.regex((await ask(KEYS.owner, `${SECRETS}/a`)).answer, /^HTTP\/1.1 429 /);
  // What is open goes on, and one that is closed makes room.
  first.socket.write(`GET ${SECRETS}/a HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.owner}\r\n\r\n`);
  await once(first.socket, 'data');
  first.socket.destroy();
  await until('there is room again', async () => /^HTTP\/1.1 200 /.test((await ask(KEYS.owner)).answer));
  for (const turn of [1, 2]) t.regex((await ask(KEYS.viewer)).answer, /^HTTP\/1.1 200 /, `viewer ${turn}`);
  const fifth = await ask(KEYS.viewer);
  t.regex(fifth.answer, /^HTTP\/1.1 429 [^]*4 connections of this org are open/);
  await until('it is closed, too', () => fifth.socket.closed);
  t.regex((await ask(KEYS.other)).answer, /^HTTP\/1.1 200 /, 'another org goes on');
});

test('connections without a known key are bounded for an address, and do not keep out those that have shown one', async (t) => {
  const api = await openTestApi(t, { limits: { connections: { newcomersPerAddress: 3 } } });
  const open = async (): Promise<Socket> => {
    const socket = connect(api.http.httpPort, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    await once(socket, 'connect');
    return socket;
  };
  const shown = await open();
  const get = `GET ${SECRETS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.owner}\r\n\r\n`;
  shown.write(get);
  await once(shown, 'data');
  const strangers = [await open(), await open(), await open()];
  const fourth = await open();
  await until('one too many is closed', () => fourth.closed);
  t.true([...strangers, shown].every(({ closed }) => !closed));
  shown.write(get);
  await once(shown, 'data');
  strangers[0]?.destroy();
  await until('there is room again', async () => {
    const next = await open();
    next.write(get);
    return Promise.race([once(next, 'data').then(() => true), once(next, 'close').then(() => false)]);
  });
  for (const socket of [shown, ...strangers]) socket.destroy();
});
