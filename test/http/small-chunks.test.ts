/** Bodies in tiny chunks: what is kept, how many callbacks they are worth, who is refused, and who is not. */
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { ChunkMeter, MeteredRequest } from '../../http/small-chunks.js';
import { ChunkJoiner } from '../../src/engines/chunk-joiner.js';
import { until } from '../e2e/until.js';
import { bearer, IN_DEFAULT, KEYS, object, openTestApi, type TestApi } from './support/test-api.js';

const SECRETS = `${IN_DEFAULT}/secrets`;

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function post(key: string | undefined, path = SECRETS): string {
  const authorization = key === undefined ? '' : `authorization: ${bearer(key).authorization}\r\n`;
  return `POST ${path} HTTP/1.1\r\nhost: x\r\n${authorization}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
}

interface Talk {
  readonly socket: Socket;
  readonly said: () => string;
  readonly closed: () => boolean;
}

function talk(t: ExecutionContext, port: number): Talk {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  let said = '';
  let closed = false;
  socket.on('data', (data) => (said += data.toString()));
  socket.on('error', () => undefined);
  socket.on('close', () => (closed = true));
  return { socket, said: () => said, closed: () => closed };
}

function portOf(api: TestApi): number {
  return Number(new URL(api.url).port);
}

test('a body of tiny chunks is 400 with the reason and the fix, and its connection ends', async (t) => {
  const api = await openTestApi(t);
  const { socket, said, closed } = talk(t, portOf(api));
  socket.write(post(KEYS.owner) + chunk(' ').repeat(1_100));
  await until('its connection ends', closed);
  t.regex(
    said(),
    /^HTTP\/1.1 400 [\s\S]*connection: close[\s\S]*"reason":"BadRequest"[\s\S]*"fix":"Send larger chunks/i,
  );
  t.is(api.resources.requests.length, 0);
});

test('tiny chunks behind an answer that needed no body end their connection', async (t) => {
  const api = await openTestApi(t);
  const { socket, said, closed } = talk(t, portOf(api));
  socket.write(post(undefined));
  await until('the answer is there', () => said().includes('Unauthorized'));
  t.false(closed());
  socket.write(chunk(' ').repeat(1_100));
  await until('its connection ends', closed);
});

test('a whole body in a few hundred tiny chunks is read as if it came at once', async (t) => {
  const api = await openTestApi(t);
  const { socket, said } = talk(t, portOf(api));
  const body = JSON.stringify(object('Secret', 'a', 'default'));
  socket.write(post(KEYS.owner) + body.split('').map(chunk).join('') + '0\r\n\r\n');
  await until('it is made', () => said().includes('\r\n\r\n'));
  t.regex(said(), /^HTTP\/1.1 201 /);
});

/** One request's body: what its reader gets, in how many pieces, and what the parser still calls. */
async function read(t: ExecutionContext, parts: readonly string[], drain = false) {
  const seen = { pieces: [] as Buffer[], pushed: 0, ended: false, error: undefined as Error | undefined };
  class Counted extends MeteredRequest {
    override push(bytes: Buffer | null): boolean {
      if (bytes !== null) seen.pushed += 1;
      return super.push(bytes);
    }
  }
  const server = createServer({ IncomingMessage: Counted }, (req, res) => {
    if (drain) return void res.end();
    req.on('data', (piece: Buffer) => seen.pieces.push(piece));
    req.on('end', () => {
      seen.ended = true;
      res.end();
    });
    req.on('error', (error) => (seen.error = error));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const spoken = talk(t, (server.address() as AddressInfo).port);
  for (const part of parts) {
    spoken.socket.write(part);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { seen, ...spoken };
}

const HEAD = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';

test('small chunks come joined, in order, with the large ones between them', async (t) => {
  const large = 'L'.repeat(5_000);
  const words = Array.from({ length: 450 }, (_, i) => `${i} `);
  const all = [...words, large, ...words, large];
  const { seen } = await read(t, [HEAD + all.map(chunk).join('') + '0\r\n\r\n']);
  await until('it is read', () => seen.ended);
  t.is(Buffer.concat(seen.pieces).toString(), all.join(''));
  t.true(seen.pieces.length < 20, `${seen.pieces.length} pieces`);
});

test('once a body is refused, the parser hands over nothing more of the same read, and serves the next connection', async (t) => {
  const { seen, closed } = await read(t, [HEAD + chunk('x').repeat(9_000)]);
  await until('it is refused', () => seen.error !== undefined);
  await until('its connection ends', closed);
  t.true(seen.pushed < 1_200, `${seen.pushed} chunks were handed over`);
  t.true(seen.pieces.length < 5, `${seen.pieces.length} pieces`);
  const next = await read(t, [HEAD + chunk('hello') + '0\r\n\r\n']);
  await until('the next is read', () => next.seen.ended);
  t.is(Buffer.concat(next.seen.pieces).toString(), 'hello');
});

test('of a body that nobody wants, chunks of any size are taken up to a number', async (t) => {
  const { seen, said, socket, closed } = await read(t, [HEAD], true);
  await until('it is answered', () => said() !== '');
  for (let i = 0; i < 200 && !closed(); i += 1) {
    socket.write(chunk('x'.repeat(100)).repeat(100));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until('its connection ends', closed);
  t.true(seen.pushed < 12_000, `${seen.pushed} chunks were handed over`);
});

test('a body that nobody wants ends its connection when it takes too long, and one that comes in time does not', async (t) => {
  class Impatient extends MeteredRequest {
    protected override get dropMs(): number {
      return 50;
    }
  }
  const server = createServer({ IncomingMessage: Impatient }, (_req, res) => res.end('early'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const slow = talk(t, port);
  slow.socket.write(`${HEAD}${chunk('x')}`);
  const quick = talk(t, port);
  quick.socket.write(`${HEAD}${chunk('x')}0\r\n\r\n`);
  await until('the slow one has ended', slow.closed);
  t.true(slow.said().includes('early'));
  quick.socket.write(`${HEAD}0\r\n\r\n`);
  await until('the quick one is answered again', () => quick.said().split('early').length === 3);
  t.false(quick.closed());
});

test('what is typed is never too small, nor are many chunks of a fair size', (t) => {
  const typed = new ChunkMeter();
  let now = 0;
  for (let i = 0; i < 20_000; i += 1) {
    now += 20;
    if (!typed.take(1, () => now)) t.fail(`refused at ${i}`);
  }
  const lines = new ChunkMeter();
  for (let i = 0; i < 20_000; i += 1) if (!lines.take(64, () => 0)) t.fail(`refused at ${i}`);
  const tiny = new ChunkMeter();
  let taken = 0;
  while (tiny.take(1, () => 0)) taken += 1;
  t.true(taken > 1_000 && taken < 1_100);
});

test('of many bodies in small chunks, a turn of the event loop passes on a bounded number', async (t) => {
  const turns: number[] = [];
  let passed = 0;
  const joiners = Array.from({ length: 20 }, () => new ChunkJoiner(() => (passed += 1) > 0));
  for (const joiner of joiners) for (let i = 0; i < 400; i += 1) joiner.push(Buffer.from('x'));
  while (passed < joiners.length) {
    await new Promise((resolve) => setImmediate(resolve));
    turns.push(passed);
  }
  t.is(turns[0], 3);
  t.true(turns.length >= 7);
});
