/** What an error of Postgres, of its driver or of the network means: which of them a process waits out, and which end it. */
import test from 'ava';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { ErrorSafeClient, ErrorSafePool } from '../../storage/error-safe-client.js';
import { isOutage } from '../../storage/errors.js';

type Meaning = 'Outage' | 'Fault';

/** Every error that pg and pg-pool make themselves, as it stands in their sources, and whether the same may succeed later. */
const DRIVER: Readonly<Record<string, Meaning>> = {
  'timeout expired': 'Outage',
  'timeout exceeded when trying to connect': 'Outage',
  'Connection terminated': 'Outage',
  'Connection terminated unexpectedly': 'Outage',
  'Connection terminated due to connection timeout': 'Outage',
  'Query read timeout': 'Outage',
  'Client has encountered a connection error and is not queryable': 'Outage',
  'Client was closed and is not queryable': 'Outage',
  'Cannot use a pool after calling end on the pool': 'Outage',
  'There was an error establishing an SSL connection': 'Outage',
  'Received unexpected rowDescription message from backend.': 'Outage',
  'Received unexpected dataRow message from backend.': 'Outage',
  'Received unexpected portalSuspended message from backend.': 'Outage',
  'Received unexpected emptyQuery message from backend.': 'Outage',
  'Received unexpected commandComplete message from backend.': 'Outage',
  'Received unexpected parseComplete message from backend.': 'Outage',
  'Received unexpected copyInResponse message from backend.': 'Outage',
  'Received unexpected copyData message from backend.': 'Outage',
  'received invalid response: ': 'Outage',
  'The server does not support SSL connections': 'Fault',
  'Client has already been connected. You cannot reuse a client.': 'Fault',
  'Password must be a string': 'Fault',
  'Client was passed a null or undefined query': 'Fault',
  'callback is not a function': 'Fault',
  '${portalQuery} not supported in pipeline mode': 'Fault',
  'Release called on client which has already been released to the pool.': 'Fault',
  'unexpected condition': 'Fault',
  'Passing a function as the first parameter to pool.query is not supported': 'Fault',
  'Called end on pool more than once': 'Fault',
  'Binary mode not supported yet': 'Fault',
  'Unknown authenticationOk message type ': 'Fault',
};

const SOURCES = ['pg/lib/client.js', 'pg/lib/connection.js', 'pg-pool/index.js', 'pg-protocol/dist/parser.js'];

test('every error that the driver makes is known as one to wait out or as a fault, so an update brings no new one unseen', async (t) => {
  const made = new Set<string>();
  for (const file of SOURCES) {
    const text = await readFile(`node_modules/${file}`, 'utf8');
    for (const [, , message] of text.matchAll(/new [\w.]*Error\(\s*(['"`])(.*?)\1/g)) made.add(message ?? '');
  }
  t.deepEqual([...made].toSorted(), Object.keys(DRIVER).toSorted());
});

for (const [message, meaning] of Object.entries(DRIVER)) {
  test(`the driver's "${message}" is ${meaning === 'Outage' ? 'waited out' : 'a fault'}`, (t) => {
    t.is(isOutage(new Error(message)), meaning === 'Outage');
  });
}

const failed = (code: string, syscall?: string): Error => Object.assign(new Error('failed'), { code, syscall });

test('a network that fails is waited out, and a file that is missing is a fault', (t) => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EMFILE', 'ENOENT']) {
    t.true(isOutage(failed(code, 'connect')), code);
  }
  t.true(isOutage(failed('EAI_AGAIN', 'getaddrinfo')));
  // Of two addresses that were both tried.
  t.true(isOutage(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })));
  for (const [code, syscall] of [
    ['ENOENT', 'open'],
    ['EMFILE', 'open'],
    ['EADDRNOTAVAIL', 'listen'],
  ] as const) {
    t.false(isOutage(failed(code, syscall)), `${code} ${syscall}`);
  }
});

test('Postgres that starts, stops or is full is waited out, and a wrong password or statement is a fault', (t) => {
  for (const code of ['57P01', '57P03', '08006', '53300', '53100', '25006', '40001', '57014'])
    t.true(isOutage(failed(code)), code);
  for (const code of ['28P01', '3D000', '42P01', '23505']) t.false(isOutage(failed(code)), code);
});

/** Takes connections and says this, or nothing. */
async function openServer(
  t: { teardown(end: () => void): void },
  says?: string,
): Promise<{ host: string; port: number; user: string; database: string }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    if (says !== undefined) socket.write(says);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port, user: 'x', database: 'x' };
}

test('a Postgres that takes a connection and says nothing, or what makes no sense, is waited out', async (t) => {
  const silent = await openServer(t);
  const connectionTimeoutMillis = 50;
  const single = await t.throwsAsync(new ErrorSafeClient({ ...silent, connectionTimeoutMillis }).connect());
  t.is(single?.message, 'timeout expired');
  t.true(isOutage(single));
  const pool = new ErrorSafePool({ ...silent, connectionTimeoutMillis });
  t.teardown(() => pool.end());
  t.true(isOutage(await t.throwsAsync(pool.connect())));
  const strange = new ErrorSafeClient({
    ...(await openServer(t, 'HTTP/1.1 400 Bad Request\r\n\r\n')),
    connectionTimeoutMillis,
  });
  t.true(isOutage(await t.throwsAsync(strange.connect())));
});
