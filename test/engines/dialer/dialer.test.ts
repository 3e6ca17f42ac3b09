import test, { type ExecutionContext } from 'ava';
import { openDialer, type DialFailure, type DialResult } from '../../../src/engines/dialer/dialer.js';
import { missing, openServer } from './server.js';

const run = missing === undefined ? test : test.skip;
const never = (): AbortSignal => new AbortController().signal;
const get = () => ({ method: 'GET' as const, signal: never() });

const lookup = () => Promise.resolve(['127.0.0.1']);

function failedWith(t: ExecutionContext, result: DialResult, reason: DialFailure['reason']): DialFailure | undefined {
  if (result.outcome !== 'Failed') {
    result.response.destroy();
    t.fail(`answered, instead of ${reason}`);
    return undefined;
  }
  t.is(result.reason, reason, result.message);
  return result;
}

async function text(result: DialResult): Promise<string> {
  if (result.outcome !== 'Answered') throw new Error(result.message);
  const parts: Buffer[] = [];
  for await (const part of result.response) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString('utf8');
}

run('what is not plain https to a host is refused before any name is looked up', async (t) => {
  const dialer = openDialer({ lookup: () => Promise.reject(new Error('must not be asked')) });
  for (const url of [
    'http://example.com',
    'ftp://example.com',
    'file:///etc/passwd',
    'https://',
    'nonsense',
    'https://u:p@example.com',
  ]) {
    const failure = failedWith(t, await dialer.dial(url, get()), 'URLRefused');
    t.false(failure?.message.includes('u:p'));
  }
});

run('hosts of special addresses are refused without a connection, however they are written', async (t) => {
  const server = await openServer(t, (_request, response) => response.end('secret'));
  const names = new Map([
    ['inner.test', ['127.0.0.1']],
    ['mapped.test', ['::ffff:127.0.0.1']],
    ['meta.test', ['169.254.169.254', 'fd00:ec2::254']],
    ['empty.test', []],
  ]);
  const dialer = openDialer({ ca: [server.ca], lookup: (host) => Promise.resolve(names.get(host) ?? ['127.0.0.1']) });
  for (const host of [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0',
    'inner.test',
    'mapped.test',
    'meta.test',
  ]) {
    const failure = failedWith(t, await dialer.dial(`https://${host}:${server.port}/`, get()), 'AddressRefused');
    t.false(failure?.retryable);
    t.is(
      failure?.message,
      `no public address was found for ${new URL(`https://${host}`).hostname.replace(/^\[|\]$/g, '')}; only the public internet may be reached`,
    );
  }
  // A name without an address reads the same: nobody learns which names there are inside.
  const nameless = openDialer({ lookup: () => Promise.reject(new Error('no such name')) });
  for (const [host, by] of [
    ['empty.test', dialer],
    ['unknown.test', nameless],
  ] as const) {
    const failure = failedWith(t, await by.dial(`https://${host}/`, get()), 'NameNotFound');
    t.is(failure?.message, `no public address was found for ${host}; only the public internet may be reached`);
  }
  t.is(server.connections(), 0);
});

run('the checked address is the one that is dialled, when the name means another the second time', async (t) => {
  const server = await openServer(t, (request, response) => response.end(`hello ${request.headers.host}`));
  let asked = 0;
  const dialer = openDialer({
    ca: [server.ca],
    allow: ['127.0.0.1'],
    lookup: () => Promise.resolve((asked += 1) === 1 ? ['127.0.0.1'] : ['127.0.0.2']),
  });
  t.is(await text(await dialer.dial(`https://files.test:${server.port}/`, get())), `hello files.test:${server.port}`);
  t.is(asked, 1);
});

run('of a name with inner and outer addresses only the outer ones are dialled', async (t) => {
  const server = await openServer(t, (_request, response) => response.end('secret'));
  const dialer = openDialer({
    ca: [server.ca],
    // The outer one is of a range that the test machine cannot reach, so what is left is a failed connection.
    allow: ['127.9.9.9'],
    lookup: () => Promise.resolve(['127.0.0.1', '127.9.9.9']),
    connectMs: 2_000,
  });
  failedWith(t, await dialer.dial(`https://files.test:${server.port}/`, get()), 'ConnectionFailed');
  t.is(server.connections(), 0);
});

run('a certificate that is not trusted, or is of another name, ends the connection', async (t) => {
  const server = await openServer(t, (_request, response) => response.end('x'));
  failedWith(
    t,
    await openDialer({ allow: ['127.0.0.1'], lookup }).dial(`https://files.test:${server.port}/`, get()),
    'TLSFailed',
  );
  const trusting = openDialer({ allow: ['127.0.0.1'], lookup, ca: [server.ca] });
  failedWith(t, await trusting.dial(`https://other.test:${server.port}/`, get()), 'TLSFailed');
});

run('a body is sent whole and a redirect is an answer like any other', async (t) => {
  const server = await openServer(t, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      response.writeHead(302, { location: 'https://127.0.0.1/' });
      response.end(`${request.method} ${request.headers['content-length']} ${Buffer.concat(parts).toString('utf8')}`);
    });
  });
  const dialer = openDialer({ allow: ['127.0.0.0/8'], ca: [server.ca] });
  const result = await dialer.dial(`https://127.0.0.1:${server.port}/`, {
    method: 'POST',
    body: Buffer.from('grüße'),
    signal: never(),
  });
  t.is(result.outcome === 'Answered' ? result.response.statusCode : 0, 302);
  t.is(await text(result), 'POST 7 grüße');
});

run('a server that is silent, a name that is not answered and a caller that gives up all end the wait', async (t) => {
  const server = await openServer(t, () => {});
  const silent = openDialer({ allow: ['127.0.0.1'], ca: [server.ca], silenceMs: 100 });
  const first = failedWith(t, await silent.dial(`https://127.0.0.1:${server.port}/?token=hush`, get()), 'TimedOut');
  t.true(first?.retryable);
  t.false(first?.message.includes('hush'));
  // A head of 16 KiB that comes byte by byte.
  const trickling = await openServer(t, ({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
    const drops = setInterval(() => socket.write('x'), 20);
    socket.once('close', () => clearInterval(drops)).on('error', () => undefined);
  });
  const patient = openDialer({ allow: ['127.0.0.1'], ca: [trickling.ca], silenceMs: 200 });
  failedWith(t, await patient.dial(`https://127.0.0.1:${trickling.port}/`, get()), 'TimedOut');
  const unnamed = openDialer({ lookup: () => new Promise(() => {}), connectMs: 100 });
  failedWith(t, await unnamed.dial('https://files.test/', get()), 'TimedOut');
  const dialer = openDialer({ allow: ['127.0.0.1'], ca: [server.ca] });
  const ending = new AbortController();
  const waiting = dialer.dial(`https://127.0.0.1:${server.port}/`, { method: 'GET', signal: ending.signal });
  ending.abort();
  failedWith(t, await waiting, 'Aborted');
});

run(
  'answers before the answer are passed over while they are few, and end the request when there is no end of them',
  async (t) => {
    const server = await openServer(t, (request, response) => {
      const hints = Number(request.headers['x-hints']);
      request.socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(hints));
      response.end('done');
    });
    const dialer = openDialer({ ca: [server.ca], lookup, allow: ['127.0.0.1'] });
    const ask = (hints: number): Promise<DialResult> =>
      dialer.dial(`https://files.test:${server.port}/`, { ...get(), headers: { 'x-hints': hints } });
    t.is(await text(await ask(10)), 'done');
    failedWith(t, await ask(1_000), 'ConnectionFailed');
  },
);
