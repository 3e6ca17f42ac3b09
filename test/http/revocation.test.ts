/**
 * What is open ends when the credential that opened it ends: every kind of stream, each way in which a credential can lose what
 * it could. (SSH, which knows no credential but keys, has its own cases in test/ssh.)
 */
import { request as askHttp } from 'node:http';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { WebSocket, WebSocketServer } from 'ws';
import type { Commands } from '../../actors/work/commands.js';
import { printProcessId } from '../../http/routes/process-id.js';
import type { Execution, LogLine } from '../../src/engines/compute/contract/engine.js';
import { until } from '../e2e/until.js';
import {
  BASE,
  bearer,
  credential,
  IN_DEFAULT,
  KEYS,
  NO_COMMANDS,
  object,
  openTestApi,
  sha256,
  type TestApi,
} from './support/test-api.js';
import { at, json, text } from './support/json.js';
import { pageOf, storedEvent } from './support/stored-event.js';
import { portsOf, web } from './support/programs.js';

const BOX = `${IN_DEFAULT}/sandboxes/box`;
const DEVELOPER = 'svc_dev-acme';
const MEMBER = { org: 'acme', kind: 'Member', project: '', name: 'dev' };
const KEY = { org: 'acme', kind: 'APIKey', project: '', name: 'dev-key' };
const WORKSPACE = { org: 'acme', kind: 'Workspace', project: 'default', name: 'desk' };
const UID = '0b0e5b5e-0000-4000-8000-000000000001';
/** Less than the time after which every credential is asked about anyway. */
const SOON_MS = 10_000;

interface Inside {
  /** What was typed into terminals. */
  typed: string;
  /** Programs that were started and have not been ended. */
  running: number;
}

/** A program that says one line and runs until its signal. */
function programOf(inside: Inside, signal: AbortSignal): Execution {
  inside.running += 1;
  const over = once(signal, 'abort').then(() => {
    inside.running -= 1;
    return { end: 'WorkGone' } as const;
  });
  return {
    output: (async function* () {
      yield { stream: 'stdout', data: Buffer.from('begun\n') } as const;
      await over;
    })(),
    ended: over,
    async write(data) {
      inside.typed += Buffer.from(data).toString();
    },
    endInput: () => undefined,
    signal: () => undefined,
    resize: () => undefined,
  };
}

function says(words: string): Execution {
  return {
    output: (async function* () {
      yield { stream: 'stdout', data: Buffer.from(words) } as const;
    })(),
    ended: Promise.resolve({ end: 'Exited', exitCode: 0, timedOut: false }),
    write: async () => undefined,
    endInput: () => undefined,
    signal: () => undefined,
    resize: () => undefined,
  };
}

async function* lineThenSilence(signal: AbortSignal): AsyncGenerator<LogLine> {
  yield { stream: 'stdout', time: 0, data: Buffer.from('begun\n') };
  await once(signal, 'abort');
}

function commandsOf(inside: Inside, port: number): Commands {
  const ports = portsOf();
  return {
    ...NO_COMMANDS,
    async start(_owner, { command }, signal) {
      if (command.includes('jupyter-lab') && !command.includes('--no-browser')) return says('jupyter-lab');
      if (command.includes('--no-browser')) return says('started 7');
      return programOf(inside, signal);
    },
    processes: async () => ({
      uid: 'u',
      epoch: 1,
      processes: [{ id: 'p', command: ['x'], startedAt: 0, ended: undefined }],
    }),
    readProcess: async (_owner, _process, _follow, signal) => lineThenSilence(signal),
    connect: (owner, _port, signal) => ports.connect(owner, { port }, signal),
    stay: async () => ({ uid: UID, epoch: 1, leave: () => undefined }),
  };
}

interface Stream {
  readonly kind: string;
  /** How it ended, once it has. */
  ended: string | undefined;
  readonly heard: () => string;
}

interface Scene {
  readonly api: TestApi;
  readonly inside: Inside;
  readonly streams: readonly Stream[];
  readonly terminal: WebSocket;
  clock: number;
}

function follow(kind: string, answer: Response): Stream {
  let heard = '';
  const stream: Stream = { kind, ended: undefined, heard: () => heard };
  void (async () => {
    const decoder = new TextDecoder();
    try {
      for await (const part of answer.body ?? []) heard += decoder.decode(part as Uint8Array, { stream: true });
      stream.ended = 'ended';
    } catch {
      stream.ended = 'cut';
    }
  })();
  return stream;
}

function followSocket(kind: string, socket: WebSocket): Stream {
  let heard = '';
  const stream: Stream = { kind, ended: undefined, heard: () => heard };
  socket.on('message', (data) => (heard += (data as Buffer).toString()));
  socket.on('close', (code, reason) => (stream.ended = `${code} ${reason.toString()}`));
  socket.on('error', () => undefined);
  return stream;
}

/** A link is followed, and the tool is asked for something that does not end. */
async function openTool(api: TestApi, headers: Readonly<Record<string, string>>): Promise<Stream> {
  const link = await api.call(`${IN_DEFAULT}/workspaces/desk/tools/jupyter/links`, { method: 'POST', headers });
  const url = text(await json(link), 'url');
  const begun = await fetch(url, { redirect: 'manual' });
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? '';
  const asked = askHttp(url.replace(/\?.*/, 'endless'), { headers: { cookie } });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [AsyncIterable<Buffer> & { statusCode: number }];
  const { statusCode } = answer;
  return follow('tool', { status: statusCode, body: answer } as unknown as Response);
}

async function openAll(t: ExecutionContext, expires?: number): Promise<Scene> {
  const inside: Inside = { typed: '', running: 0 };
  const port = await web(
    t,
    (_req, res) => {
      res.write('begun\n');
    },
    (server) => {
      const sockets = new WebSocketServer({ noServer: true });
      server.on('upgrade', (req, socket, head) =>
        sockets.handleUpgrade(req, socket, head, (webSocket) => webSocket.send('begun\n')),
      );
    },
  );
  let clock = 1_000_000;
  const api = await openTestApi(t, {
    clock: () => clock,
    commands: commandsOf(inside, port),
    logs: { open: async (_owner, _uid, _request, signal) => lineThenSilence(signal) },
    events: {
      list: async (_org, query) => pageOf([storedEvent(1, { message: 'begun' })], query),
    },
  });
  await api.resources.put(MEMBER, object('Member', 'dev', '', { role: 'Developer', projects: ['default', 'second'] }));
  await api.resources.put(KEY, object('APIKey', 'dev-key', ''));
  api.credentials.set(sha256(DEVELOPER), { ...credential('acme', 'dev'), expires });
  const box = { ...WORKSPACE, kind: 'Sandbox', name: 'box' };
  await api.resources.put(box, object('Sandbox', 'box', 'default', {}));
  await api.resources.put(WORKSPACE, object('Workspace', 'desk', 'default', { tools: ['Jupyter'] }, { uid: UID }));

  const headers = bearer(DEVELOPER);
  const get = async (kind: string, path: string, init: object = {}): Promise<Stream> => {
    const answer = await api.call(path, { headers, ...init });
    t.is(answer.status, 200, `${kind}: ${answer.status}`);
    return follow(kind, answer);
  };
  const ws = (path: string): WebSocket =>
    new WebSocket(`ws://127.0.0.1:${api.http.httpPort}${path}`, { headers: bearer(DEVELOPER) });
  const terminal = ws(`${BOX}/terminal`);
  const portSocket = ws(`${BOX}/ports/${port}/`);
  const sockets = [followSocket('terminal', terminal), followSocket('port WebSocket', portSocket)];
  const process = printProcessId({ uid: 'u', epoch: 1, id: 'p' });
  const command = { method: 'POST', body: '{"command":["x"]}' };
  const frames = { ...headers, accept: 'application/x-ndjson', 'content-type': 'application/json' };
  const streams = [
    await get('watch', `${IN_DEFAULT}/sandboxes?watch=1`),
    await get('watch of all projects', `${BASE}/sandboxes?watch=1`),
    await get('events', `${IN_DEFAULT}/events?follow=true`),
    await get('log', `${BOX}/logs?follow=true`),
    await get('process output', `${BOX}/processes/${process}/output?follow=true`),
    await get('exec', `${BOX}/exec`, { ...command, headers: frames }),
    await get('port', `${BOX}/ports/${port}/`),
    await openTool(api, headers),
    ...sockets,
  ];
  for (const stream of streams) await until(`${stream.kind} has begun`, () => /begun|ADDED/.test(stream.heard()));
  return {
    ...{ api, inside, streams, terminal },
    get clock() {
      return clock;
    },
    set clock(value) {
      clock = value;
    },
  };
}

async function allEnd(t: ExecutionContext, { streams, inside, terminal }: Scene, code: number): Promise<void> {
  if (terminal.readyState === WebSocket.OPEN) terminal.send(Buffer.from('typed afterwards'));
  for (const stream of streams) {
    await until(`the ${stream.kind} ends`, () => stream.ended !== undefined, SOON_MS);
  }
  t.is(inside.running, 0, 'programs that belong to a stream end with it');
  const how = new Map(streams.map(({ kind, ended }) => [kind, ended]));
  t.regex(how.get('terminal') ?? '', new RegExp(`^${4000 + code} `));
  const exec =
    streams
      .find(({ kind }) => kind === 'exec')
      ?.heard()
      .trimEnd()
      .split('\n')
      .at(-1) ?? '';
  t.is(at(JSON.parse(exec), 'error.reason'), code === 401 ? 'Unauthorized' : 'Forbidden');
  // What the client cannot tell from a proper end is cut.
  for (const kind of ['log', 'events', 'process output', 'port', 'tool']) t.is(how.get(kind), 'cut', kind);
}

test('a key that is deleted ends every kind of stream that it opened, and no other', async (t) => {
  const scene = await openAll(t);
  const { api } = scene;
  const other = follow('other', await api.call(`${IN_DEFAULT}/sandboxes?watch=1`, { headers: bearer(KEYS.viewer) }));
  api.credentials.delete(sha256(DEVELOPER));
  api.http.authenticator.forget(KEY);
  await allEnd(t, scene, 401);
  t.is(scene.inside.typed, '', 'nothing that is typed afterwards runs');
  t.is(other.ended, undefined);
  t.is((await api.call(BOX, { headers: bearer(DEVELOPER) })).status, 401);
});

test('a member who is removed, or may do less, loses what is open', async (t) => {
  const scene = await openAll(t);
  const member = object('Member', 'dev', '', { role: 'Billing' });
  await scene.api.resources.put(MEMBER, member);
  scene.api.http.authenticator.forget(MEMBER);
  await allEnd(t, scene, 403);
  t.is(scene.inside.typed, '');
});

test('a list of projects that is narrowed ends what is open in the others, and what showed all of them', async (t) => {
  const scene = await openAll(t);
  const { api } = scene;
  const second = BASE + '/namespaces/second/sandboxes?watch=1';
  const kept = follow('kept', await api.call(second, { headers: bearer(DEVELOPER) }));
  await api.resources.put(MEMBER, object('Member', 'dev', '', { role: 'Developer', projects: ['second'] }));
  api.http.authenticator.forget(MEMBER);
  await allEnd(t, scene, 403);
  t.is(kept.ended, undefined);
});

test('a key whose time is over ends what it opened', async (t) => {
  const scene = await openAll(t, 2_000_000);
  scene.clock = 2_000_000;
  await allEnd(t, scene, 401);
});

test('a key that ends while a stream of it is being opened ends that stream, too', async (t) => {
  const api = await openTestApi(t, {
    logs: {
      async open(_owner, _uid, _request, signal) {
        return lineThenSilence(signal);
      },
    },
  });
  const box = { ...WORKSPACE, kind: 'Sandbox', name: 'box' };
  await api.resources.put(box, object('Sandbox', 'box', 'default', {}));
  const { peek } = api.resources;
  // Between the check of the key and the beginning of the stream.
  api.resources.peek = (address) => {
    if (address.kind === 'Sandbox') {
      api.credentials.delete(sha256(KEYS.owner));
      api.http.authenticator.forget({ org: 'acme', kind: 'APIKey', project: '', name: 'owner-key' });
    }
    return peek(address);
  };
  const outcome = await api.call(`${BOX}/logs?follow=true`).then(
    (answer) => follow('log', answer),
    () => undefined,
  );
  if (outcome !== undefined) await until('it ends', () => outcome.ended !== undefined, SOON_MS);
  t.pass();
});

test('a list that is still being sent ends with its key', async (t) => {
  const api = await openTestApi(t);
  const { list } = api.resources;
  api.resources.list = async (request) => {
    const page = await list(request);
    return {
      ...page,
      items: (async function* () {
        yield* page.items;
        await once(request.signal, 'abort');
      })(),
    };
  };
  // Long enough to be sent before its end is known (`WRITE_BYTES`), and not through a compression that holds it back.
  const annotations = { text: 'x'.repeat(600_000) };
  await api.resources.put(
    { org: 'acme', kind: 'Sandbox', project: 'default', name: 'box' },
    object('Sandbox', 'box', 'default', {}, { annotations }),
  );
  const plain = { 'accept-encoding': 'identity' };
  const listed = follow('list', await api.call(`${IN_DEFAULT}/sandboxes`, { headers: plain }));
  await until('it has begun', () => listed.heard().includes('"box"'));
  api.credentials.clear();
  api.http.authenticator.forget({ org: 'acme', kind: 'APIKey', project: '', name: 'owner-key' });
  await until('it ends', () => listed.ended !== undefined, SOON_MS);
  t.is(listed.ended, 'cut');
});
