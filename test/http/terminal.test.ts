/** Terminals over HTTP: what passes, what pauses whom, and how each end is told. */
import type { Socket } from 'node:net';
import test from 'ava';
import { WebSocket } from 'ws';
import { steady, until } from '../e2e/until.js';
import { bearer, IN_DEFAULT, KEYS, openTestApi } from './support/test-api.js';
import { openScriptedCommands, type ScriptedCommands } from './support/programs.js';

const TERMINAL = `${IN_DEFAULT}/sandboxes/box/terminal`;

interface Seen {
  readonly socket: WebSocket;
  readonly text: () => string;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

async function open(t: Parameters<typeof openTestApi>[0], resources: ScriptedCommands, query = ''): Promise<Seen> {
  const api = await openTestApi(t, { commands: resources.commands });
  const url = `ws://127.0.0.1:${api.http.httpPort}${TERMINAL}${query}`;
  const socket = new WebSocket(url, { headers: bearer(KEYS.owner) });
  let text = '';
  socket.on('message', (data, binary) => {
    if (binary) text += (data as Buffer).toString('latin1');
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return { socket, text: () => text, closed };
}

test('bytes pass both ways, the size is told, and the close has the exit code', async (t) => {
  const resources = openScriptedCommands();
  const { socket, text, closed } = await open(
    t,
    resources,
    '?cols=100&rows=30&command=sh&command=-c&command=x&epoch=2',
  );
  const [asked] = resources.asked;
  t.deepEqual(asked?.terminal, { columns: 100, rows: 30 });
  t.deepEqual(asked?.command, ['sh', '-c', 'x']);
  t.is(asked?.epoch, 2);
  socket.send(Buffer.from([0, 255, 3]));
  socket.send(JSON.stringify({ resize: { cols: 132, rows: 50 } }));
  await until('it is resized', () => resources.sizes.length === 1);
  t.deepEqual(resources.sizes[0], { columns: 132, rows: 50 });
  t.deepEqual(Buffer.concat(resources.typed), Buffer.from([0, 255, 3]));
  resources.say('\x00\xff$ ');
  resources.end({ end: 'Exited', exitCode: 130, timedOut: false });
  t.deepEqual(await closed, { code: 1000, reason: '{"exitCode":130,"signal":2}' });
  t.is(text(), Buffer.from('\x00\xff$ ').toString('latin1'));
});

test('without a command it is a login shell on 80 by 24', async (t) => {
  const resources = openScriptedCommands();
  const { socket } = await open(t, resources);
  const [asked] = resources.asked;
  t.deepEqual(asked?.terminal, { columns: 80, rows: 24 });
  t.regex(asked?.command.join(' ') ?? '', /bash -l.*sh -l/);
  socket.terminate();
  t.true(await until('the program is ended', () => resources.aborted));
});

test('the end of the epoch and a program that is none are told by codes of their own', async (t) => {
  const gone = openScriptedCommands();
  const first = await open(t, gone);
  gone.end({ end: 'WorkGone' });
  const over = await first.closed;
  t.is(over.code, 4409);
  t.regex(over.reason, /"reason":"SandboxNotRunning"/);
  const missing = openScriptedCommands();
  const second = await open(t, missing);
  missing.end({ end: 'NotExecuted', reason: 'CommandNotFound', message: `no such program: ${'x'.repeat(300)}` });
  t.deepEqual(await second.closed, { code: 4422, reason: '{"reason":"CommandNotFound"}' });
});

for (const [what, frame] of [
  ['no JSON', 'resize me'],
  ['no resize', '{"resize":{"cols":80}}'],
  ['a size of nothing', '{"resize":{"cols":0,"rows":24}}'],
  ['a size beyond all screens', '{"resize":{"cols":80,"rows":1e9}}'],
  ['more than a resize', '{"resize":{"cols":80,"rows":24},"x":1}'],
] as const) {
  test(`a text frame that is ${what} closes with 4400 and ends the program`, async (t) => {
    const resources = openScriptedCommands();
    const { socket, closed } = await open(t, resources);
    socket.send(frame);
    const { code, reason } = await closed;
    t.is(code, 4400);
    t.regex(reason, /BadRequest/);
    t.is(resources.sizes.length, 0);
    t.true(await until('the program is ended', () => resources.aborted));
  });
}

test('a frame beyond the bound closes with 1009, and text that is no UTF-8 with 1007', async (t) => {
  const resources = openScriptedCommands();
  const { socket, closed } = await open(t, resources);
  socket.send(Buffer.alloc(1024 * 1024 + 1));
  t.is((await closed).code, 1009);
  t.is(resources.typed.length, 0);
  const other = openScriptedCommands();
  const second = await open(t, other);
  second.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
  t.is((await second.closed).code, 1007);
});

test('a client that does not read pauses the program, and gets all of it when it reads again', async (t) => {
  const resources = openScriptedCommands();
  const { socket, text, closed } = await open(t, resources);
  socket.pause();
  const part = Buffer.alloc(64 * 1024, 'x');
  for (let i = 0; i < 400; i++) resources.say(part);
  // What the kernel takes, on top of our own bound, is a few megabytes at most.
  await until('something is taken', () => resources.taken > 0);
  await steady('nothing more is taken', () => resources.taken);
  t.true(resources.taken < 300, `${resources.taken} of 400 parts were taken`);
  socket.resume();
  resources.end({ end: 'Exited', exitCode: 0, timedOut: false });
  t.is((await closed).code, 1000);
  t.is(text().length, 400 * part.length);
});

test('one who types faster than the program reads is read no further, and nothing is lost', async (t) => {
  const resources = openScriptedCommands();
  const release = resources.hold();
  const { socket, closed } = await open(t, resources);
  const part = Buffer.alloc(64 * 1024, 'y');
  for (let i = 0; i < 400; i++) socket.send(part);
  await steady('nothing more is sent', () => socket.bufferedAmount);
  t.true(socket.bufferedAmount > 100 * part.length, `${socket.bufferedAmount} bytes wait at the client`);
  release();
  await until(
    'all of it is read',
    () => resources.typed.reduce((sum, { length }) => sum + length, 0) === 400 * part.length,
  );
  socket.close();
  await closed;
  t.true(await until('the program is ended', () => resources.aborted));
});

/** Masked by zeros, as a client may. */
function frames(count: number, opcode: number, payload: string): Buffer {
  const head = Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]);
  const one = Buffer.concat([head, Buffer.from(payload)]);
  return Buffer.concat(Array.from({ length: count }, () => one));
}

/** Beside the library, which would take a turn for each frame. */
function wire(socket: WebSocket): Socket {
  return Reflect.get(socket, '_socket') as Socket;
}

test('tiny frames are taken one in a turn of the event loop, and those that wait go on as one piece', async (t) => {
  const resources = openScriptedCommands();
  const { socket } = await open(t, resources);
  wire(socket).write(frames(500, 2, 'x'));
  let most = 0;
  const read = (): number => resources.typed.reduce((sum, { length }) => sum + length, 0);
  for (let before = 0; read() < 500; before = read()) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, read() - before);
  }
  t.true(most <= 4, `${most} frames in one turn`);
  const release = resources.hold();
  const pieces = resources.typed.length;
  wire(socket).write(frames(2_000, 2, 'y'));
  await steady('nothing more is read', () => wire(socket).bytesWritten);
  for (let turn = 0; turn < 2_500; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  release();
  await until('all of it is read', () => read() === 2_500);
  t.true(resources.typed.length - pieces < 100, `${resources.typed.length - pieces} pieces`);
});

test('frames without bytes count too: who sends them faster than the program reads is read no further', async (t) => {
  const resources = openScriptedCommands();
  resources.hold();
  const { socket } = await open(t, resources);
  const connection = wire(socket);
  connection.write(frames((20 * 1024 * 1024) / 6, 2, ''));
  await steady('nothing more is sent', () => connection.writableLength);
  t.true(connection.writableLength > 0);
  socket.terminate();
});
