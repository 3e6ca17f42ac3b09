/** Connections that are kept: found again under checked addresses only, and never for who did not ask. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import test from 'ava';
import { openDialer, type DialResult } from '../../../src/engines/dialer/dialer.js';
import { missing, openServer } from './server.js';

const run = missing === undefined ? test : test.skip;
const post = (keep: boolean) => ({
  method: 'POST' as const,
  body: Buffer.from('x'),
  signal: new AbortController().signal,
  keep,
});

async function text(result: DialResult): Promise<string> {
  if (result.outcome !== 'Answered') return result.reason;
  const parts: Buffer[] = [];
  for await (const part of result.response) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString('utf8');
}

run('requests that ask for it share a connection, one after another; others get their own', async (t) => {
  const server = await openServer(t, (_request, response) => response.end('ok'));
  const dialer = openDialer({ ca: [server.ca], allow: ['127.0.0.1'] });
  t.teardown(() => dialer.close());
  const url = `https://127.0.0.1:${server.port}/`;
  for (let i = 0; i < 5; i += 1) t.is(await text(await dialer.dial(url, post(true))), 'ok');
  t.is(server.connections(), 1);
  for (let i = 0; i < 2; i += 1) t.is(await text(await dialer.dial(url, post(false))), 'ok');
  t.is(server.connections(), 3);
});

run(
  'a kept connection is not used for a name that means another address now, however it was when it was made',
  async (t) => {
    const server = await openServer(t, (_request, response) => response.end('ok'));
    let addresses = ['127.0.0.1'];
    const lookup = () => Promise.resolve(addresses);
    const dialer = openDialer({ ca: [server.ca], allow: ['127.0.0.1', '127.9.9.9'], lookup, connectMs: 2_000 });
    t.teardown(() => dialer.close());
    const url = `https://files.test:${server.port}/`;
    t.is(await text(await dialer.dial(url, post(true))), 'ok');
    addresses = ['127.9.9.9'];
    t.is(await text(await dialer.dial(url, post(true))), 'ConnectionFailed');
    addresses = ['10.0.0.1'];
    t.is(await text(await dialer.dial(url, post(true))), 'AddressRefused');
    addresses = ['127.0.0.1'];
    t.is(await text(await dialer.dial(url, post(true))), 'ok');
    t.is(server.connections(), 1);
  },
);

run('a kept connection that breaks under a request costs one new connection and no failure', async (t) => {
  const seen = new Map<Socket, number>();
  const server = await openServer(t, (request, response) => {
    const count = (seen.get(request.socket) ?? 0) + 1;
    seen.set(request.socket, count);
    if (count === 2) request.socket.destroy();
    else response.end('ok');
  });
  const dialer = openDialer({ ca: [server.ca], allow: ['127.0.0.1'] });
  t.teardown(() => dialer.close());
  const url = `https://127.0.0.1:${server.port}/`;
  t.is(await text(await dialer.dial(url, post(true))), 'ok');
  t.is(await text(await dialer.dial(url, post(true))), 'ok');
  t.is(server.connections(), 2);
});

run('what is kept ends with the dialer', async (t) => {
  let socket: Socket | undefined;
  const server = await openServer(t, (request, response) => {
    socket = request.socket;
    response.end('ok');
  });
  const dialer = openDialer({ ca: [server.ca], allow: ['127.0.0.1'] });
  t.is(await text(await dialer.dial(`https://127.0.0.1:${server.port}/`, post(true))), 'ok');
  if (socket === undefined) throw new Error('no connection');
  const ended = once(socket, 'close');
  dialer.close();
  await ended;
  t.true(socket.destroyed);
});

run('many requests on one connection leave no listeners behind', async (t) => {
  const server = await openServer(t, (_request, response) => response.end('ok'));
  const dialer = openDialer({ ca: [server.ca], allow: ['127.0.0.1'] });
  t.teardown(() => dialer.close());
  const warned: string[] = [];
  const hear = (warning: Error): void => void warned.push(warning.message);
  process.on('warning', hear);
  t.teardown(() => process.off('warning', hear));
  const { signal } = new AbortController();
  for (let i = 0; i < 60; i += 1) {
    await text(await dialer.dial(`https://127.0.0.1:${server.port}/`, { ...post(true), signal }));
  }
  await new Promise(setImmediate);
  t.deepEqual(warned, []);
  t.is(server.connections(), 1);
});
