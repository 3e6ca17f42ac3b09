/** Browser tools of a Workspace at an origin of their own: what a page of theirs needs, and what none of another gets. */
import test, { type ExecutionContext } from 'ava';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { client, objectOf, parsed, path, textAt, valueAt } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { BIG_FRAME, missingJupyter, STRICT_CODE_SERVER, STRICT_JUPYTER, SUBPROTOCOL } from './programs.js';
import { shareWorkspaces } from './shared.js';

const AT = path('workspaces', 'default', 'bench');
const AT_TOOL = '/tools/bootstrap/default/bench/jupyter/';
const PHASE_MS = 60_000;
/** A real Jupyter and its kernel need memory; the stand-in, processes at once. */
const RESOURCES = { cpu: '500m', memory: missingJupyter === undefined ? '1Gi' : '64Mi', disk: '64Mi' };

type Declare = (title: string, run: (t: ExecutionContext) => Promise<void>) => void;

let service: Running;
let port: string;
/** Host of the Workspace's tools, with its port. */
let host: string;
let cookie: string;

interface Seen {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

interface How {
  readonly method?: string | undefined;
  readonly host?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** As a browser asks, which finds every name below localhost on this machine. */
async function ask(at: string, how: How = {}): Promise<Seen> {
  const headers = { host: how.host ?? host, cookie, ...how.headers };
  const asked = request({ host: '127.0.0.1', port, path: at, method: how.method ?? 'GET', headers });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of answer) text += String(part);
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}

async function run(script: string, stdin = ''): Promise<string> {
  const answer = await service.client().post(`${AT}/exec`, { command: ['sh', '-c', script], stdin });
  return answer.status === 200 ? textAt(answer.body, 'stdout') : answer.text;
}

async function link(tool = 'jupyter'): Promise<URL> {
  const made = await service.client().post(`${AT}/tools/${tool}/links`, {});
  if (made.status !== 201) throw new Error(made.text);
  return new URL(textAt(made.body, 'url'));
}

async function visit(tool: string): Promise<string> {
  const url = await link(tool);
  const opened = await ask(url.pathname + url.search, { host: url.host });
  return (opened.headers['set-cookie'] ?? [''])[0]?.split(';')[0] ?? '';
}

function channels(protocols: readonly string[], at = `${AT_TOOL}api/kernels/k/channels`, cookies = cookie): WebSocket {
  const headers = { host, cookie: cookies, origin: `http://${host}` };
  return new WebSocket(`ws://127.0.0.1:${port}${at}`, [...protocols], { headers });
}

/** Process id of the stand-in, which the page says first. */
const pidOf = ({ text }: Seen): string => text.split('\n')[0] ?? '';

test.before(async (t) => {
  t.timeout(120_000);
  service = await shareWorkspaces();
  port = new URL(service.url).port;
  const spec = {
    ephemeral: true,
    resources: RESOURCES,
    env: [{ name: 'PATH', value: '/home/svc/bin:/usr/bin:/bin' }],
  };
  const made = await service.client().post(path('workspaces', 'default'), objectOf('Workspace', 'bench', spec));
  if (made.status !== 201) throw new Error(made.text);
  host = `${textAt(made.body, 'metadata', 'uid')}.localhost:${port}`;
  await until(
    'the Workspace is Running',
    async () => textAt((await service.client().get(AT)).body, 'status', 'phase') === 'Running' || undefined,
    PHASE_MS,
  );
  await run('mkdir -p bin');
});
test.after.always(() => service?.close());

// On a machine with Jupyter and on one without something else can be seen; neither is a skip.
const without: Declare = (title, body) => void (missingJupyter !== undefined && test.serial(title, body));
const real: Declare = (title, body) => void (missingJupyter === undefined && test.serial(title, body));

without('an image with `jupyter` alone, which knows no lab, has no tool', async (t) => {
  await run('printf "#!/bin/sh\\nexit 1\\n" >bin/jupyter; chmod 755 bin/jupyter');
  const none = await service.client().post(`${AT}/tools/jupyter/links`, {});
  t.is(textAt(none.body, 'reason'), 'WorkspaceToolUnavailable', none.text);
});

test.serial('a link opens the tool at the host of its Workspace and nowhere else', async (t) => {
  await run('cat >bin/jupyter-lab; chmod 755 bin/jupyter-lab', STRICT_JUPYTER);
  const url = await link();
  t.is(url.host, host);
  const connect = await until(
    'the status shows the tool',
    async () => {
      const found = valueAt((await service.client().get(AT)).body, 'status', 'connect');
      return valueAt(found, 'jupyter') === undefined ? undefined : found;
    },
    PHASE_MS,
  );
  const told = new URL(textAt(connect, 'jupyter', 'url'));
  t.deepEqual([told.hostname, told.pathname], [host.replace(/:.*/, ''), AT_TOOL]);
  t.is(valueAt(connect, 'vscode'), undefined, 'there is no program for it');
  const to = url.pathname + url.search;
  for (const other of [new URL(service.url).host, `${randomUUID()}.localhost:${port}`, `x.${host}`]) {
    t.is((await ask(to, { host: other, headers: { cookie: '' } })).status, 401, other);
  }
  const opened = await ask(to, { headers: { cookie: '' } });
  t.is(opened.status, 303, 'and was not used up there');
  cookie = (opened.headers['set-cookie'] ?? [''])[0]?.split(';')[0] ?? '';
  const page = await ask(AT_TOOL);
  t.deepEqual([page.status, page.headers.location], [302, `${AT_TOOL}tree?`], page.text);
  t.is((await ask(AT_TOOL, { host: new URL(service.url).host })).status, 401);
  const sibling = `http://${randomUUID()}.localhost:${port}`;
  for (const headers of [
    { origin: sibling },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
  ] as Record<string, string>[]) {
    t.is((await ask(AT_TOOL, { headers })).status, 403, JSON.stringify(headers));
  }
});

test.serial('a page of the tool gets its cookie, its token, its worker and its WebSocket through', async (t) => {
  const tree = await ask(`${AT_TOOL}tree?`, { headers: { cookie: `svc_tool=theirs; ${cookie}; a=b` } });
  t.is(tree.status, 200, tree.text);
  t.regex(tree.text, /^cookie: a=b\r$/im, 'none of ours comes inside, nor one that looks like it');
  t.deepEqual(tree.headers['set-cookie'], [`_xsrf=2|tok; Path=${AT_TOOL}`]);
  t.is(tree.headers['service-worker-allowed'], AT_TOOL, 'all of its path, and nothing above');
  const cookies = `${cookie}; _xsrf=2|tok`;
  const kernels = { method: 'POST', headers: { cookie: cookies, origin: `http://${host}` } };
  t.is((await ask(`${AT_TOOL}api/kernels`, kernels)).status, 403);
  const made = await ask(`${AT_TOOL}api/kernels`, {
    ...kernels,
    headers: { ...kernels.headers, 'x-xsrftoken': '2|tok' },
  });
  t.is(made.status, 201, made.text);

  const wrong = channels(['other']);
  t.regex(String((await once(wrong, 'error'))[0]), /400/);
  const socket = channels([SUBPROTOCOL]);
  const messages: Buffer[] = [];
  socket.on('message', (data: Buffer) => messages.push(data));
  await once(socket, 'open');
  t.is(socket.protocol, SUBPROTOCOL);
  socket.send('print(6*7)');
  await until('both frames are there', () => messages.length === 2);
  t.is(messages[0]?.toString(), '42');
  t.is(messages[1]?.length, BIG_FRAME);
  socket.terminate();
});

test.serial('a tool that has ended, or is about to, is started by the request that finds it so', async (t) => {
  const tree = `${AT_TOOL}tree`;
  const first = pidOf(await ask(tree));
  await run(`kill -9 ${first}; while kill -0 ${first} 2>/dev/null; do :; done`);
  const pages = await Promise.all([ask(tree), ask(tree), ask(tree)]);
  t.deepEqual(
    pages.map(({ status }) => status),
    [200, 200, 200],
    pages[0]?.text,
  );
  const second = pidOf(await ask(tree));
  t.not(second, first);
  t.deepEqual(new Set(pages.map(pidOf)), new Set([second]), 'once');

  const headers = { cookie: `${cookie}; _xsrf=2|tok`, 'x-xsrftoken': '2|tok' };
  t.is((await ask(`${AT_TOOL}api/shutdown`, { method: 'POST', headers })).status, 201);
  const third = await until('it is another one', async () => {
    const page = await ask(tree);
    t.is(page.status, 200, page.text);
    return pidOf(page) === second ? undefined : pidOf(page);
  });
  t.regex(third, /^\d+$/);
});

test.serial(
  'a page that is open goes on after kill -9 of the service, by the same visit and the same program',
  async (t) => {
    t.timeout(120_000);
    const tree = `${AT_TOOL}tree`;
    const unused = await link();
    const before = pidOf(await ask(tree));
    await service.kill();
    await service.start();
    const page = await until('it is shown again', async () => {
      const seen = await ask(tree);
      return seen.status === 200 ? seen : undefined;
    });
    t.is(pidOf(page), before, 'the program knows nothing of it');
    t.is((await ask(unused.pathname + unused.search, { headers: { cookie: '' } })).status, 401, 'a link is made anew');
  },
);

test.serial('a visit ends with the key by which its link was made', async (t) => {
  const keys = path('apikeys', '');
  const made = await service.client().post(keys, objectOf('APIKey', 'guest', { scopes: ['workspaces:*'] }));
  const guest = client(service.url, textAt(made.body, 'status', 'key'));
  const linked = await guest.post(`${AT}/tools/jupyter/links`, {});
  const url = new URL(textAt(linked.body, 'url'));
  const opened = await ask(url.pathname + url.search, { headers: { cookie: '' } });
  const theirs = (opened.headers['set-cookie'] ?? [''])[0]?.split(';')[0] ?? '';
  const tree = `${AT_TOOL}tree`;
  t.is((await ask(tree, { headers: { cookie: theirs } })).status, 200, linked.text);
  t.is((await service.client().remove(`${keys}/guest`)).status, 200);
  await until('it is refused', async () => (await ask(tree, { headers: { cookie: theirs } })).status === 401);
  t.is((await ask(tree)).status, 200, 'the other goes on');
});

test.serial('VS Code, which does not know where it is shown, finds its pages and its own origin', async (t) => {
  await run('cat >bin/code-server; chmod 755 bin/code-server', STRICT_CODE_SERVER);
  const at = AT_TOOL.replace('jupyter', 'vscode');
  const headers = { cookie: await visit('vscode') };
  const first = await ask(at, { headers });
  t.deepEqual([first.status, first.headers.location], [302, './?folder=/home/svc'], first.text);
  const page = await ask(`${at}?folder=/home/svc`, { headers });
  t.is(page.status, 200, page.text);
  const socket = channels([], `${at}stable?reconnection=false`, headers.cookie);
  await once(socket, 'open');
  socket.terminate();
});

real('the real Jupyter computes 6 times 7', async (t) => {
  await run(`rm bin/jupyter-lab; kill -9 $(cat /tmp/.svc-jupyter.pid)`);
  cookie = await visit('jupyter');
  const jar = new Map([cookie.split('=') as [string, string]]);
  const cookies = (): string => [...jar].map((pair) => pair.join('=')).join('; ');
  const go = async (at: string, method = 'GET'): Promise<Seen> => {
    const token = jar.get('_xsrf');
    const headers = {
      cookie: cookies(),
      ...(method === 'POST' ? { origin: `http://${host}`, 'x-xsrftoken': token ?? '' } : {}),
    };
    const seen = await ask(at, { method, headers });
    for (const set of seen.headers['set-cookie'] ?? []) {
      const [pair = ''] = set.split(';');
      jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    return seen;
  };
  const page = await go((await go(AT_TOOL)).headers.location ?? '');
  t.is(page.status, 200, page.text);
  const kernel = await go(`${AT_TOOL}api/kernels`, 'POST');
  t.is(kernel.status, 201, kernel.text);
  const session = randomUUID();
  const at = `${AT_TOOL}api/kernels/${textAt(parsed(kernel.text), 'id')}/channels?session_id=${session}`;
  const socket = channels([], at, cookies());
  let said = '';
  socket.on('message', (data: Buffer) => {
    const message = parsed(data.toString());
    if (textAt(message, 'msg_type') === 'stream') said += textAt(message, 'content', 'text');
  });
  await once(socket, 'open');
  const header = {
    msg_id: randomUUID(),
    username: 'u',
    session,
    msg_type: 'execute_request',
    version: '5.3',
    date: '',
  };
  const content = { code: 'print(6*7)', silent: false, store_history: false, user_expressions: {}, allow_stdin: false };
  socket.send(JSON.stringify({ channel: 'shell', header, parent_header: {}, metadata: {}, content, buffers: [] }));
  await until('the answer is there', () => said === '42\n', PHASE_MS);
  socket.terminate();
  t.pass();
});
