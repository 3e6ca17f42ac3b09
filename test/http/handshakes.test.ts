/** TLS handshakes at real sockets: how many are under way at once, whose turn it is, and which curves there are. */
import test, { type ExecutionContext } from 'ava';
import { once } from 'node:events';
import { createServer, request } from 'node:https';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { CURVES, openHandshakes, type Handshakes, type HandshakeTimes } from '../../http/handshakes.js';
import { makeAuthority, makeServer, type KeyedCertificate } from '../../src/app/tls/make-certificates.js';
import { until } from '../e2e/until.js';
import { openTestApi } from './support/test-api.js';

/** Places for one address alone: half of all. */
const ALONE = 16;
const LONG: HandshakeTimes = { waitMs: 60_000, handshakeMs: 60_000 };

let ca: KeyedCertificate;
let tls: KeyedCertificate;
let hello: Buffer;

test.before(async () => {
  ca = await makeAuthority(new Date());
  tls = await makeServer(ca, ['localhost', '127.0.0.1'], new Date());
  hello = await recordHello();
});

/** What a client sends first, which anybody may send again. */
async function recordHello(): Promise<Buffer> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connectTls({ port: (server.address() as AddressInfo).port, rejectUnauthorized: false });
  client.on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  client.destroy();
  server.close();
  return first;
}

interface Gate {
  readonly port: number;
  readonly handshakes: Handshakes;
}

async function openGate(
  t: ExecutionContext,
  times: HandshakeTimes,
  mayCome: Parameters<typeof openHandshakes>[1] = () => true,
): Promise<Gate> {
  const server = createServer({ ...tls, ecdhCurve: CURVES }, (_, response) => response.end('served'));
  const handshakes = openHandshakes(server, mayCome, times);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    handshakes.close();
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, handshakes };
}

interface Replay {
  readonly socket: Socket;
  /** The server has calculated its answer. */
  readonly answered: boolean;
}

async function replay(t: ExecutionContext, port: number, bytes: Uint8Array): Promise<Replay> {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  let answered = false;
  socket.on('data', () => (answered = true));
  await once(socket, 'connect');
  socket.write(bytes);
  return {
    socket,
    get answered() {
      return answered;
    },
  };
}

const many = (t: ExecutionContext, port: number, count: number, bytes: Uint8Array): Promise<Replay[]> =>
  Promise.all(Array.from({ length: count }, () => replay(t, port, bytes)));

const answeredOf = (replays: readonly Replay[]): number => replays.filter(({ answered }) => answered).length;

/** What an honest client gets on a connection of its own. */
async function served(port: number, from: string): Promise<string> {
  const asked = request({ host: '127.0.0.1', port, ca: ca.cert, localAddress: from, agent: false });
  asked.end();
  const [response] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
  let text = '';
  for await (const chunk of response) text += chunk.toString();
  return text;
}

test('of many recorded first messages of one address few are answered at once, and another address is served meanwhile', async (t) => {
  const { port, handshakes } = await openGate(t, LONG);
  const replays = await many(t, port, 3 * ALONE, hello);
  await until('as many as may are answered', () => answeredOf(replays) >= ALONE);
  t.is(await served(port, '127.0.0.2'), 'served');
  t.is(handshakes.running, ALONE);
  t.is(answeredOf(replays), ALONE);
  for (const { socket } of replays.filter(({ answered }) => answered)) socket.destroy();
  await until('those who waited have their turn', () => answeredOf(replays) === 2 * ALONE);
  t.is(handshakes.running, ALONE);
});

test('a first message that is not whole takes no place, and its connection is closed in time', async (t) => {
  const { port, handshakes } = await openGate(t, LONG);
  const [half] = await many(t, port, 1, hello.subarray(0, hello.length - 1));
  await many(t, port, ALONE, hello.subarray(0, 1));
  await many(t, port, ALONE, Buffer.alloc(0));
  t.is(await served(port, '127.0.0.1'), 'served');
  t.is(handshakes.running, 0);
  half?.socket.write(hello.subarray(hello.length - 1));
  await until('the one that is whole now is answered', () => half?.answered);

  const hasty = await openGate(t, { waitMs: 100, handshakeMs: 60_000 });
  const late = await many(t, hasty.port, 3, hello.subarray(0, 10));
  await until('they are closed', () => late.every(({ socket }) => socket.closed));
});

test('a handshake that does not go on ends, and the next has its place', async (t) => {
  const { port, handshakes } = await openGate(t, { waitMs: 60_000, handshakeMs: 1_500 });
  const replays = await many(t, port, 2 * ALONE, hello);
  t.is(await served(port, '127.0.0.1'), 'served');
  await until('all are closed', () => replays.every(({ socket }) => socket.closed));
  t.is(handshakes.running, 0);
});

test('more than a first message, and more connections than an address may have, are closed', async (t) => {
  const { port } = await openGate(t, LONG, (network, others) => network !== '127.0.0.1' || others < 3);
  const flood = await replay(t, port, Buffer.concat([hello.subarray(0, 5), Buffer.alloc(100_000)]));
  await until('it is closed', () => flood.socket.closed);
  const three = await many(t, port, 3, hello.subarray(0, 5));
  const fourth = await replay(t, port, hello);
  await until('it is closed', () => fourth.socket.closed);
  t.true(three.every(({ socket }) => !socket.closed));
  t.is(await served(port, '127.0.0.2'), 'served');
});

async function handshake(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, ca: ca.cert, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

test('the two cheap curves are served and no others, with a renewed certificate as well, and sessions are resumed', async (t) => {
  const api = await openTestApi(t, { tls: { port: 0, key: tls.key, cert: tls.cert } });
  const port = api.http.httpsPort ?? 0;
  const curves = async (): Promise<void> => {
    for (const ecdhCurve of ['X25519', 'P-256']) (await handshake(port, { ecdhCurve })).destroy();
    for (const ecdhCurve of ['P-384', 'P-521'])
      await t.throwsAsync(handshake(port, { ecdhCurve }), undefined, ecdhCurve);
  };
  await curves();
  const first = await handshake(port, {});
  first.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [session] = (await once(first, 'session')) as [Buffer];
  first.destroy();
  const second = await handshake(port, { session });
  t.true(second.isSessionReused());
  second.destroy();

  const renewed = await makeServer(ca, ['localhost', '127.0.0.1'], new Date());
  api.http.renewCertificate(renewed);
  const after = await handshake(port, {});
  t.is(`${after.getPeerX509Certificate()?.toString()}`.trim(), renewed.cert.trim());
  after.destroy();
  await curves();
});

test('a connection whose handshake waits counts for its address like those without a known key', async (t) => {
  const limits = { connections: { newcomersPerAddress: 3 } };
  const api = await openTestApi(t, { limits, tls: { port: 0, key: tls.key, cert: tls.cert } });
  const port = api.http.httpsPort ?? 0;
  const known = await handshake(port, {});
  const [waits] = await many(t, port, 1, hello.subarray(0, 5));
  const third = await handshake(port, {});
  const fourth = await replay(t, port, hello);
  await until('it is closed', () => fourth.socket.closed);
  t.false(waits?.socket.closed);
  for (const socket of [known, third]) socket.destroy();
});

test('records of one byte each are read in pieces, with turns of the loop for others, and their sender keeps its address', async (t) => {
  let seen: { readonly address: string | undefined; readonly bytes: number; readonly turns: number } | undefined;
  const server = createServer({ ...tls, ecdhCurve: CURVES, allowHalfOpen: true }, (asked, response) => {
    let bytes = 0;
    let turns = 0;
    let going = true;
    const count = (): void => void (going && ((turns += 1), setImmediate(count)));
    count();
    asked.on('data', (chunk: Buffer) => (bytes += chunk.length));
    asked.once('end', () => {
      going = false;
      seen = { address: asked.socket.remoteAddress, bytes, turns };
      response.end('served');
    });
  });
  const handshakes = openHandshakes(server, () => true, LONG);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    handshakes.close();
    server.closeAllConnections();
    server.close();
  });
  const raw = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const held: Buffer[] = [];
  let holds = false;
  const through = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      if (holds) held.push(chunk);
      else raw.write(chunk);
      done();
    },
  });
  raw.on('data', (chunk: Buffer) => through.push(chunk));
  const client = connectTls({ socket: through, rejectUnauthorized: false });
  t.teardown(() => raw.destroy());
  await once(client, 'secureConnect');
  const length = 10_000;
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
  holds = true;
  // Each by itself: what waits together goes into one record.
  for (let at = 0; at < length; at += 1) await new Promise((resolve) => client.write('x', resolve));
  await until('all of it is encrypted', () => Buffer.concat(held).length >= length * 22);
  raw.write(Buffer.concat(held));
  const received = await until('the request is served', () => seen);
  t.is(received.address, '127.0.0.1');
  t.is(received.bytes, length);
  // 220,000 bytes in pieces of at most 16 KiB.
  t.true(received.turns >= 12, `${received.turns} turns`);
});
