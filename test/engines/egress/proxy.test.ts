import { once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import test from 'ava';
import type { WorkNetwork } from '../../../src/engines/compute/contract/engine.js';
import { openEgress, type Egress, type EgressOptions } from '../../../src/engines/compute/shared/egress/open.js';
import { allowAddresses } from '../../../src/engines/dialer/special-addresses.js';

/** Names that the tests' resolver knows. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'echo.example.org': ['127.0.0.1'],
  // The first address is nobody's; the proxy goes on to the next.
  'second.example.org': ['127.0.0.9', '127.0.0.1'],
  'mixed.example.org': ['169.254.169.254', '127.0.0.1'],
  'metadata.example.org': ['169.254.169.254'],
  'private.example.org': ['10.0.0.1', '192.168.1.1', 'fd00::1'],
  'mapped.example.org': ['::ffff:10.0.0.1'],
  'loopback.example.org': ['::1'],
};

interface Proxy {
  readonly port: number;
  readonly lines: string[];
  readonly lookedUp: string[];
  readonly egress: Egress;
}

const closing: (() => void)[] = [];
test.after.always(() => {
  for (const close of closing) close();
});

async function proxy(network: WorkNetwork, bounds?: EgressOptions['bounds']): Promise<Proxy> {
  const lines: string[] = [];
  const lookedUp: string[] = [];
  const egress = openEgress({
    box: '1',
    network,
    bounds,
    log: (line) => lines.push(line),
    lookup: async (host) => {
      lookedUp.push(host);
      const found = NAMES[host];
      if (found === undefined) throw new Error('no such name');
      return found;
    },
    allowed: allowAddresses(['127.0.0.1', '127.0.0.9']),
  });
  const server = createServer({ allowHalfOpen: true }, (socket) => egress.serve(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    void egress.close();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, lines, lookedUp, egress };
}

/** Answers each connection with what it was sent, once that has ended. */
async function echo(): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function web(serve: Parameters<typeof createHttpServer>[1]): Promise<{ port: number; server: Server }> {
  const server = createHttpServer(serve as never);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, server };
}

/** Sends, ends its side, and reads until the other has. */
async function talk(port: number, ...pieces: (string | Buffer)[]): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  for (const piece of pieces) socket.write(piece);
  socket.end();
  return rest(socket);
}

async function rest(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function until(what: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!what()) {
    if (Date.now() > deadline) throw new Error('it did not come to pass');
    await new Promise((next) => setTimeout(next, 5));
  }
}

const OPEN = { egress: 'Open' } as const;

test('a tunnel carries both ways, answers what is still said after one side has ended, and is logged once', async (t) => {
  const { port, lines } = await proxy(OPEN);
  const target = await echo();
  const big = Buffer.alloc(3_000_000, 7);
  const said = await talk(port, `CONNECT echo.example.org:${target} HTTP/1.1\r\nHost: x\r\n\r\n`, big);
  const head = said.indexOf('\r\n\r\n') + 4;
  t.regex(said.toString('latin1', 0, head), /^HTTP\/1\.1 200 /);
  t.true(said.subarray(head).equals(big));
  await until(() => lines.length > 0);
  t.regex(
    lines.join('\n'),
    new RegExp(
      `^CONNECT echo\\.example\\.org:${target} allowed address=127\\.0\\.0\\.1 sent=3000000 received=3000000 seconds=[\\d.]+$`,
    ),
  );
});

test('SOCKS5 by name and by address, and the next address when the first does not answer', async (t) => {
  const { port, lines } = await proxy(OPEN);
  const target = await echo();
  const end = Buffer.from([target >> 8, target & 255]);
  for (const host of ['echo.example.org', 'second.example.org']) {
    const asked = Buffer.concat([Buffer.from([5, 1, 0, 5, 1, 0, 3, host.length]), Buffer.from(host), end]);
    const said = await talk(port, asked, 'hello');
    t.deepEqual([...said.subarray(0, 4)], [5, 0, 5, 0]);
    t.is(said.subarray(12).toString(), 'hello');
  }
  const byAddress = Buffer.concat([Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1]), end]);
  t.is((await talk(port, byAddress, 'hello')).subarray(12).toString(), 'hello');
  await until(() => lines.length === 3);
  t.true(lines.every((line) => line.startsWith('SOCKS5 ') && line.includes(' allowed ')));
});

for (const [what, host, says] of [
  ['cloud metadata', '169.254.169.254', 'cloud metadata'],
  ['a private address', '10.0.0.1', 'private'],
  ['loopback', '[::1]', 'loopback'],
  ['an address within another', '[::ffff:169.254.169.254]', 'IPv4 within IPv6'],
  ['a name of cloud metadata', 'metadata.example.org', 'cloud metadata'],
  ['a name of private addresses', 'private.example.org', 'private'],
  ['a name of a mapped address', 'mapped.example.org', 'IPv4 within IPv6'],
  ['a name of this machine', 'loopback.example.org', 'loopback'],
] as const) {
  test(`${what} is refused under Open, in words and in the log`, async (t) => {
    const { port, lines } = await proxy(OPEN);
    const said = (await talk(port, `CONNECT ${host}:80 HTTP/1.1\r\nHost: x\r\n\r\n`)).toString();
    t.regex(said, /^HTTP\/1\.1 403 /);
    t.true(said.includes(says), said);
    t.is(lines.length, 1);
    t.regex(lines[0] ?? '', /^CONNECT .* refused \(.* not on the public internet/);
    const request = (await talk(port, `GET http://${host}/secret?key=1 HTTP/1.1\r\nHost: x\r\n\r\n`)).toString();
    t.regex(request, /^HTTP\/1\.1 403 /);
    t.false(lines.join('').includes('secret'));
  });
}

test('of the addresses of a name only those that may be reached are dialled, and it is resolved once', async (t) => {
  const { port, lookedUp, lines } = await proxy(OPEN);
  const target = await echo();
  const said = await talk(port, `CONNECT mixed.example.org:${target} HTTP/1.1\r\nHost: x\r\n\r\n`, 'hello');
  t.true(said.toString().endsWith('\r\n\r\nhello'));
  t.deepEqual(lookedUp, ['mixed.example.org']);
  await until(() => lines.length === 1);
  t.true(lines[0]?.includes('address=127.0.0.1 '));
});

test('an AllowList lets its names through, refuses others by name, and every address', async (t) => {
  const { port, lookedUp } = await proxy({ egress: 'AllowList', hosts: ['*.example.org'] });
  const target = await echo();
  const ask = async (host: string): Promise<string> =>
    (await talk(port, `CONNECT ${host}:${target} HTTP/1.1\r\nHost: x\r\n\r\n`, 'hi')).toString();
  t.regex(await ask('ECHO.example.org'), /^HTTP\/1\.1 200 [^]*hi$/);
  t.regex(await ask('example.com'), /^HTTP\/1\.1 403 [^]*AllowList does not allow example\.com/);
  t.regex(await ask('127.0.0.1'), /^HTTP\/1\.1 403 [^]*names only/);
  // A name that is not allowed is not even asked for: look-ups could carry data out.
  t.deepEqual(lookedUp, ['echo.example.org']);
  const socks = await talk(port, Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80]));
  t.deepEqual([...socks.subarray(2, 4)], [5, 2]);
});

test('requests go on without what is between neighbours, one after the other on one connection', async (t) => {
  const seen: Record<string, unknown>[] = [];
  const { port: target } = await web((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.on('end', () => {
      seen.push({ method: req.method, url: req.url, headers: req.headers, body });
      res.setHeader('Set-Cookie', ['a=1', 'b=2']);
      res.end(`answer ${seen.length}`);
    });
  });
  const { port, lines } = await proxy(OPEN);
  const at = `echo.example.org:${target}`;
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `POST http://${at}/a?b=c HTTP/1.1\r\nHost: other.example.org\r\nProxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nConnection: x-mine\r\nX-Mine: 1\r\nX-Kept: 2\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
  );
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(() => said.includes('answer 1'));
  t.regex(said, /set-cookie: a=1\r\nset-cookie: b=2\r\n/i);
  socket.write(`GET http://${at} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await until(() => said.includes('answer 2'));
  socket.destroy();
  const [first, second] = seen as [Record<string, unknown>, Record<string, unknown>];
  t.like(first, { method: 'POST', url: '/a?b=c', body: 'abc' });
  t.deepEqual(first['headers'], { host: at, 'x-kept': '2', 'transfer-encoding': 'chunked', connection: 'close' });
  t.like(second, { method: 'GET', url: '/', body: '' });
  await until(() => lines.length === 2);
  t.true(lines.every((line) => line.startsWith(`HTTP ${at} allowed `)));
  t.false(/[?]|secret|x-kept/i.test(lines.join('')));
});

test('what two readers could understand in two ways reaches nobody', async (t) => {
  let reached = 0;
  const { port: target } = await web((_req, res) => {
    reached++;
    res.end();
  });
  const { port } = await proxy(OPEN);
  const head = `POST http://echo.example.org:${target}/ HTTP/1.1\r\nHost: x\r\n`;
  for (const bad of [
    `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${head}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd`,
    `${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    `${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    `${head}X: a\r\n b\n\nGET / HTTP/1.1\r\n\r\n`,
    `POST http://user:pass@echo.example.org:${target}/ HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: echo.example.org:${target}\r\n\r\n`,
    `GET https://echo.example.org:${target}/ HTTP/1.1\r\nHost: x\r\n\r\n`,
    `CONNECT echo.example.org HTTP/1.1\r\nHost: x\r\n\r\n`,
    `CONNECT 0127.0.0.1:${target} HTTP/1.1\r\nHost: x\r\n\r\n`,
    '\x04\x01\x00\x50\x7f\x00\x00\x01\x00',
  ]) {
    t.regex((await talk(port, bad)).toString(), /^HTTP\/1\.1 (400|501) /, bad);
  }
  t.is(reached, 0);
});

test('what cannot be reached is told apart from what may not be', async (t) => {
  const { port, lines } = await proxy(OPEN);
  const closed = await echo();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const free = (server.address() as AddressInfo).port;
  await new Promise((done) => server.close(done));
  const ask = async (at: string): Promise<string> =>
    (await talk(port, `CONNECT ${at} HTTP/1.1\r\nHost: x\r\n\r\n`)).toString();
  t.regex(await ask(`unknown.example.org:${closed}`), /^HTTP\/1\.1 502 [^]*has no address/);
  t.regex(await ask(`echo.example.org:${free}`), /^HTTP\/1\.1 502 [^]*refuses the connection/);
  t.is(lines.filter((line) => line.includes(' failed (')).length, 2);
});

test('connections are bounded, the silent are cut off, and all end with the work', async (t) => {
  t.timeout(60_000);
  // Also on a busy machine the first words of those that are not silent come sooner.
  const { port, egress } = await proxy(OPEN, { connections: 2, firstWordsMs: 4_000 });
  const target = await echo();
  const socket = connect(port, '127.0.0.1');
  socket.write(`CONNECT echo.example.org:${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, 'data');
  const silent = connect(port, '127.0.0.1');
  // Heard from the beginning: it may be cut off while something else is waited for.
  const cut = once(silent.on('error', () => undefined).resume(), 'close');
  await once(silent, 'connect');
  await until(() => silent.readyState === 'open');
  t.regex((await talk(port, `CONNECT echo.example.org:${target} HTTP/1.1\r\nHost: x\r\n\r\n`)).toString(), /503/);
  await cut;
  socket.write('still here');
  t.is(String(await once(socket, 'data')), 'still here');
  const ended = once(socket.on('error', () => undefined).resume(), 'close');
  await egress.close();
  await ended;
});

test('requests sent ahead on one connection wait for the answer to the one before, and take nothing outside meanwhile', async (t) => {
  const { port, lookedUp, lines, egress } = await proxy(OPEN);
  let reached = 0;
  // Takes a request and never answers.
  const silent = createServer((socket) => {
    reached++;
    socket.on('error', () => undefined).resume();
  });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  closing.push(() => silent.close());
  const at = `echo.example.org:${(silent.address() as AddressInfo).port}`;
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`GET http://${at}/ HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(500));
  await until(() => reached > 0);
  // Another connection goes its whole way meanwhile, and so would have the others.
  const { port: web1 } = await web((_req, res) => res.end('answer'));
  for (let n = 0; n < 3; n++) {
    const said = await talk(
      port,
      `GET http://echo.example.org:${web1}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    t.true(said.toString().endsWith('answer'));
  }
  t.is(reached, 1);
  t.is(lookedUp.length, 4);
  const opened = await new Promise<number>((resolve) => silent.getConnections((_error, count) => resolve(count)));
  t.is(opened, 1);
  // With the work all of it goes.
  await egress.close();
  t.is(lines.length, 4);
  await until(() => silent.listening && socket.closed);
});

test('requests sent ahead are answered in their order when each is, with bodies of both kinds', async (t) => {
  const { port: target } = await web((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.on('end', () => res.end(`<${req.url} ${body.length}>`));
  });
  const { port } = await proxy(OPEN);
  const at = `http://echo.example.org:${target}`;
  const trap = 'GET /smuggled HTTP/1.1\r\n\r\n';
  const ahead = [
    `GET ${at}/1 HTTP/1.1\r\nHost: x\r\n\r\n`,
    `POST ${at}/2 HTTP/1.1\r\nHost: x\r\nContent-Length: ${trap.length}\r\n\r\n${trap}`,
    `POST ${at}/3 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${trap.length.toString(16)}\r\n${trap}\r\n0\r\n\r\n`,
    `GET ${at}/4 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  ].join('');
  const answers = (said: Buffer): string[] => said.toString().match(/<[^>]*>/g) ?? [];
  const wanted = ['</1 0>', `</2 ${trap.length}>`, `</3 ${trap.length}>`, '</4 0>'];
  t.deepEqual(answers(await talk(port, ahead)), wanted);
  // Wherever the pieces are cut.
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const said = rest(socket);
  for (const letter of ahead) {
    socket.write(letter);
    await new Promise((next) => setImmediate(next));
  }
  t.deepEqual(answers(await said), wanted);
});

/** Serves connections as they are: what a web server of Node would never say. */
async function raw(serve: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return `echo.example.org:${(server.address() as AddressInfo).port}`;
}

for (const hint of ['103 Early Hints', '100 Continue']) {
  test(`a server that says ${hint} without end is left, and one that says it a few times is heard`, async (t) => {
    const { port } = await proxy(OPEN);
    let times = 17;
    let cut = 0;
    const at = await raw((socket) => {
      socket.once('close', () => (cut += 1)).resume();
      socket.write(`HTTP/1.1 ${hint}\r\n\r\n`.repeat(times));
      if (times < 17) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer');
    });
    const ask = async (): Promise<string> =>
      (await talk(port, `GET http://${at}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).toString();
    t.regex(await ask(), /^HTTP\/1\.1 502 /);
    await until(() => cut === 1);
    times = 16;
    t.regex(await ask(), /^HTTP\/1\.1 200 OK[^]*answer$/);
  });
}

test('tiny chunks go on joined, of a request as of an answer', async (t) => {
  const { port } = await proxy(OPEN);
  const count = 20_000;
  const tiny = `${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`;
  let came = '';
  const at = await raw((socket) => {
    socket.on('data', (chunk: Buffer) => {
      came += chunk.toString('latin1');
      if (!came.endsWith('\r\n0\r\n\r\n')) return;
      socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${tiny}`);
    });
  });
  const head = `POST http://${at}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
  const said = (await talk(port, head, tiny)).toString('latin1');
  for (const [what, text] of [
    ['request', came],
    ['answer', said],
  ] as const) {
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    t.is(body.match(/x/g)?.length, count, what);
    // A chunk of one byte is six.
    t.true(body.length < 2 * count, `${what}: ${body.length}`);
  }
});

test('as many connections outwards as inwards, and one more is refused', async (t) => {
  const { port } = await proxy(OPEN, { connections: 2, lingerMs: 60_000 });
  const target = await echo();
  const ask = `CONNECT echo.example.org:${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(ask);
    t.regex(String(await once(socket, 'data')), /^HTTP\/1\.1 200/);
    return socket;
  };
  const [one, two] = [await open(), await open()];
  t.regex((await talk(port, ask)).toString(), /^HTTP\/1\.1 503/);
  one.destroy();
  two.destroy();
});
