/** Requests that ask to leave HTTP: the same checks as for all others, and no way in for those that may not. */
import { connect } from 'node:net';
import test from 'ava';
import { WebSocket } from 'ws';
import { refuse } from '../../src/api/refusal.js';
import { until } from '../e2e/until.js';
import { bearer, IN_DEFAULT, KEYS, NO_COMMANDS, openTestApi, type TestApi } from './support/test-api.js';
import { openScriptedCommands } from './support/programs.js';
import { at } from './support/json.js';

const TERMINAL = `${IN_DEFAULT}/sandboxes/box/terminal`;
const WS = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** One request by hand, and all that comes until the connection ends. */
function raw(api: TestApi, lines: readonly string[], body = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(api.http.httpPort, '127.0.0.1');
    let said = '';
    socket.on('data', (data: Buffer) => (said += data.toString('latin1')));
    socket.on('close', () => resolve(said));
    socket.on('error', reject);
    socket.write(`${[...lines, 'Host: test', '', ''].join('\r\n')}${body}`);
  });
}

function ask(api: TestApi, path: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return raw(api, [`GET ${path} HTTP/1.1`, ...lines]);
}

function statusOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
}

test('a refused upgrade is a plain answer with its Status, and the connection ends', async (t) => {
  const api = await openTestApi(t, {
    commands: {
      ...NO_COMMANDS,
      start: async () => {
        throw refuse('SandboxStarting', 'it is Starting', { retryAfterSeconds: 1 });
      },
    },
  });
  const owner = bearer(KEYS.owner);
  for (const [path, headers, code, reason] of [
    [TERMINAL, WS, 401, 'Unauthorized'],
    [TERMINAL, { ...WS, ...bearer('svc_wrong') }, 401, 'Unauthorized'],
    [TERMINAL, { ...WS, ...bearer(KEYS.viewer) }, 403, 'Forbidden'],
    [TERMINAL, { ...WS, ...owner }, 409, 'SandboxStarting'],
    [`${TERMINAL}/more`, { ...WS, ...owner }, 404, 'NotFound'],
    [`${TERMINAL}?cols=0`, { ...WS, ...owner }, 400, 'BadRequest'],
    [`${TERMINAL}?cols=1e3`, { ...WS, ...owner }, 400, 'BadRequest'],
    [`${TERMINAL}?rows=1001`, { ...WS, ...owner }, 400, 'BadRequest'],
    [`${TERMINAL}?epoch=x`, { ...WS, ...owner }, 400, 'BadRequest'],
    [`${TERMINAL}?command=`, { ...WS, ...owner }, 422, 'Invalid'],
    [`${TERMINAL}?command=a%00`, { ...WS, ...owner }, 422, 'Invalid'],
    [TERMINAL, { ...WS, ...owner, 'sec-websocket-version': '8' }, 400, 'BadRequest'],
    [TERMINAL, { ...WS, ...owner, 'sec-websocket-key': 'short' }, 400, 'BadRequest'],
    [TERMINAL, { ...WS, ...owner, 'sec-websocket-protocol': 'a, a' }, 400, 'BadRequest'],
    [TERMINAL, { ...owner, connection: 'close' }, 400, 'BadRequest'],
    [TERMINAL, { ...owner, connection: 'Upgrade, close', upgrade: 'h2c' }, 400, 'BadRequest'],
  ] as const) {
    const answer = await ask(api, path, headers);
    t.regex(answer, new RegExp(`^HTTP/1.1 ${code} `), `${path} ${JSON.stringify(headers)}\n${answer}`);
    t.is(at(statusOf(answer), 'reason'), reason);
    t.regex(answer, /connection: close/i);
  }
  t.is(api.logged.length, 0, api.logged.join('\n'));
});

test('a standby, a drain and an org over its rate refuse upgrades as they refuse all else', async (t) => {
  const api = await openTestApi(t, { limits: { rates: { key: 0.05, org: 1000, address: 1_000_000 } } });
  const headers = { ...WS, ...bearer(KEYS.owner) };
  api.health.active = false;
  t.regex(await ask(api, TERMINAL, headers), /^HTTP\/1.1 503 /);
  api.health.active = true;
  t.regex(await ask(api, TERMINAL, headers), /^HTTP\/1.1 429 /);
});

test('a browser may bring its key as a subprotocol, which is not answered', async (t) => {
  const resources = openScriptedCommands();
  const api = await openTestApi(t, { commands: resources.commands });
  const key = (value: string): string =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(value).toString('base64url')}`;
  const open = (protocols: string[]): Promise<WebSocket> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${api.http.httpPort}${TERMINAL}`, protocols);
      socket.on('open', () => resolve(socket));
      socket.on('error', reject);
    });
  const socket = await open(['terminal.svc.dev', key(KEYS.owner)]);
  t.is(socket.protocol, 'terminal.svc.dev');
  socket.terminate();
  await t.throwsAsync(open(['terminal.svc.dev', key('svc_wrong')]), { message: /401/ });
  await t.throwsAsync(open(['terminal.svc.dev', key(KEYS.owner), key(KEYS.viewer)]), { message: /401/ });
  // A plain request is no WebSocket: the key in a subprotocol opens nothing.
  const plain = await api.call(`${IN_DEFAULT}/jobs`, {
    headers: { authorization: '', 'sec-websocket-protocol': key(KEYS.owner) },
  });
  t.is(plain.status, 401);
});

test('who asks for what is not offered is served as if nothing had been asked, body and the next request too', async (t) => {
  const api = await openTestApi(t);
  const job = JSON.stringify({ apiVersion: 'svc.dev/v1', kind: 'Job', metadata: { name: 'made' }, spec: {} });
  const h2c = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'];
  const auth = `Authorization: Bearer ${KEYS.owner}`;
  const second = ['GET /version HTTP/1.1', 'Host: test', 'Connection: close', '', ''].join('\r\n');
  const socket = connect(api.http.httpPort, '127.0.0.1');
  let said = '';
  socket.on('data', (data: Buffer) => (said += data.toString('latin1')));
  const first = [`POST ${IN_DEFAULT}/jobs HTTP/1.1`, ...h2c, auth, 'Content-Type: application/json', 'Host: test'];
  socket.write([...first, `Content-Length: ${job.length}`, '', job].join('\r\n'));
  await until('the first is answered', () => /^HTTP\/1.1 201 [^]*"status":/.test(said));
  socket.write(second);
  await until('the second is answered', () => /HTTP\/1.1 200 OK[^]*"gitVersion"/.test(said));
  const chunked = [...h2c, auth, 'Content-Type: application/json', 'Transfer-Encoding: chunked', 'Connection: close'];
  const other = job.replace('made', 'more');
  const body = `${other.length.toString(16)}\r\n${other}\r\n0\r\n\r\n`;
  t.regex(await raw(api, [`POST ${IN_DEFAULT}/jobs HTTP/1.1`, ...chunked], body), /^HTTP\/1.1 201 /);
  t.regex(await ask(api, '/livez', { ...WS, connection: 'Upgrade, close' }), /^HTTP\/1.1 200 /);
  const watched = await ask(api, `${IN_DEFAULT}/jobs?limit=1`, {
    ...WS,
    connection: 'upgrade, close',
    ...bearer(KEYS.owner),
  });
  t.regex(watched, /^HTTP\/1.1 200 /);
});

test('who asks again on the same connection is answered for the last time on it', async (t) => {
  const api = await openTestApi(t);
  const asking = 'GET /version HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n';
  const socket = connect(api.http.httpPort, '127.0.0.1');
  let said = '';
  socket.on('data', (data: Buffer) => (said += data.toString()));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const answers = (): number => said.split('HTTP/1.1 200 OK').length - 1;
  socket.write(asking);
  await until('it is answered', () => answers() === 1 && said.includes('gitVersion'));
  socket.write(asking);
  await closed;
  t.is(answers(), 2);
  t.regex(said, /Connection: close/);
});

test('a drain closes what has been upgraded, and ends its program', async (t) => {
  const resources = openScriptedCommands();
  const api = await openTestApi(t, { commands: resources.commands });
  const socket = new WebSocket(`ws://127.0.0.1:${api.http.httpPort}${TERMINAL}`, { headers: bearer(KEYS.owner) });
  await new Promise((resolve) => socket.once('open', resolve));
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await api.http.drain();
  t.is(await closed, 1001);
  t.true(await until('the program is ended', () => resources.aborted));
  await api.http.close();
});
