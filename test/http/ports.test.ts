/** The way to a port inside, with real programs behind it: what passes, what never does, and what hostile answers come to. */
import { connect, type Socket } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { createHash, randomBytes } from 'node:crypto';
import test from 'ava';
import * as fc from 'fast-check';
import { WebSocket, WebSocketServer } from 'ws';
import { notRunning } from '../../actors/work/attach.js';
import { outwardHeaders } from '../../http/proxy/headers.js';
import { outwardLink, outwardLocation, outwardRefresh } from '../../http/proxy/references.js';
import { scopeCookie } from '../../http/proxy/cookies.js';
import { steady, until } from '../e2e/until.js';
import { bearer, IN_DEFAULT, KEYS, openTestApi } from './support/test-api.js';
import { at, json } from './support/json.js';
import { portsOf, talker, web, type Counts } from './support/programs.js';

const PORTS = `${IN_DEFAULT}/sandboxes/box/ports`;

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

test('every method arrives with its path, query, headers and body, and without what is ours', async (t) => {
  const port = await web(t, async (req, res) => {
    const body = await bodyOf(req);
    res.setHeader('x-method', req.method ?? '');
    res.end(JSON.stringify({ url: req.url, headers: req.headers, body: body.toString() }));
  });
  const counts: Counts = { begun: 0, ended: 0, touched: 0 };
  const api = await openTestApi(t, { commands: portsOf(counts) });
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PROPFIND']) {
    const bare = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
    const answer = await api.call(`${PORTS}/${port}/a%2Fb//c/?x=%20&epoch=3&y=1`, {
      method,
      ...(bare ? {} : { body: 'sent' }),
      headers: {
        cookie: 'mine=1; svc_session=secret; other=2',
        'x-forwarded-for': '6.6.6.6',
        'content-type': 'text/plain',
        te: 'trailers',
      },
    });
    t.is(answer.status, 200, method);
    t.is(answer.headers.get('x-method'), method);
    t.truthy(answer.headers.get('x-request-id'));
    t.regex(answer.headers.get('content-security-policy') ?? '', /^sandbox /);
    if (method === 'HEAD') continue;
    const said = await json(answer);
    t.is(at(said, 'url'), '/a%2Fb//c/?x=%20&y=1');
    t.is(at(said, 'body'), bare ? '' : 'sent');
    t.is(at(said, 'headers.authorization'), undefined);
    t.is(at(said, 'headers.te'), undefined);
    t.is(at(said, 'headers.cookie'), 'mine=1; other=2');
    t.is(at(said, 'headers.host'), `localhost:${port}`);
    t.is(at(said, 'headers.x-forwarded-for'), '127.0.0.1');
    t.is(at(said, 'headers.x-forwarded-prefix'), `${PORTS}/${port}`);
    t.is(at(said, 'headers.x-forwarded-proto'), 'http');
    t.false(JSON.stringify(said).includes(KEYS.owner));
  }
  t.is(((await json(await api.call(`${PORTS}/${port}`))) as { url: string }).url, '/');
  t.is(counts.begun, 9);
  t.true(await until('each of them is over', () => counts.ended === 9));
});

test('what would hold for the whole origin does not come out, and cookies and redirects stay below their port', async (t) => {
  const port = await web(t, (_req, res) => {
    res.writeHead(302, [
      ...['Location', '/login?next=1'],
      ...['Refresh', '5; URL=/later'],
      ...['Content-Location', '/login.html'],
      ...['Link', '</style.css>; rel=preload, </\\evil.example>; rel="next"'],
      ...['WWW-Authenticate', 'Basic realm="svc"'],
      ...['Set-Login', 'logged-in'],
      ...['Set-Cookie', 'a=1; Path=/; Domain=example.com; HttpOnly'],
      ...['Set-Cookie', 'b=2'],
      ...['Set-Cookie', 'svc_session=stolen'],
      ...['Set-Cookie', '__Host-c=3; Secure; Path=/'],
      ...['Strict-Transport-Security', 'max-age=1'],
      ...['Clear-Site-Data', '"*"'],
      ...['Alt-Svc', 'h2="evil:443"'],
      ...['Service-Worker-Allowed', '/'],
      ...['Keep-Alive', 'timeout=99'],
      ...['X-Own', 'passes'],
      ...['X-Hop', 'drops'],
      ...['Connection', 'close, X-Hop'],
    ]);
    res.end();
  });
  const api = await openTestApi(t, { commands: portsOf() });
  const answer = await api.call(`${PORTS}/${port}/`, { redirect: 'manual' });
  t.is(answer.status, 302);
  t.is(answer.headers.get('location'), `${PORTS}/${port}/login?next=1`);
  t.is(answer.headers.get('refresh'), `5; url=${PORTS}/${port}/later`);
  t.is(answer.headers.get('content-location'), `${PORTS}/${port}/login.html`);
  t.is(
    answer.headers.get('link'),
    `<${PORTS}/${port}/style.css>; rel=preload, <//evil.example/>; rel="next"`,
    'what leads elsewhere is seen to',
  );
  t.deepEqual(answer.headers.getSetCookie(), [`a=1; Path=${PORTS}/${port}/; HttpOnly`, `b=2; Path=${PORTS}/${port}/`]);
  for (const name of [
    'strict-transport-security',
    'clear-site-data',
    'alt-svc',
    'x-hop',
    'www-authenticate',
    'set-login',
  ]) {
    t.is(answer.headers.get(name), null, name);
  }
  t.is(answer.headers.get('service-worker-allowed'), `${PORTS}/${port}/`, 'its own path, whatever it says');
  t.is(answer.headers.get('x-own'), 'passes');
});

test('no header that acts on a proxy in front, on the origin or on what a browser asks of others comes out', (t) => {
  const passage = { prefix: '/p/ports/80', port: 80, path: '/', host: 'service.example' };
  const dropped = [
    ...['X-Accel-Redirect', 'X-Accel-Buffering', 'X-Accel-Charset', 'X-Accel-Expires', 'X-Accel-Limit-Rate'],
    ...['X-Sendfile', 'X-SendFile2', 'X-Lighttpd-Send-File', 'X-LIGHTTPD-send-tempfile', 'X-Reproxy-URL'],
    ...['Speculation-Rules', 'SourceMap', 'X-SourceMap', 'Accept-CH', 'Critical-CH', 'Set-Cookie2', 'No-Vary-Search'],
    ...['Content-Security-Policy-Report-Only', 'Reporting-Endpoints', 'Report-To', 'NEL', 'Activate-Storage-Access'],
    ...['Strict-Transport-Security', 'Clear-Site-Data', 'Alt-Svc', 'Public-Key-Pins', 'Expect-CT', 'Use-As-Dictionary'],
    ...['Origin-Agent-Cluster', 'WWW-Authenticate', 'Set-Login', 'X-Request-Id', 'Keep-Alive', 'Transfer-Encoding'],
  ];
  const passes = [
    ...['Content-Type', 'Content-Security-Policy', 'Content-Length', 'ETag', 'Vary', 'Cache-Control'],
    ...['Access-Control-Allow-Origin', 'X-Accelerated', 'X-Frame-Options'],
  ];
  const raw = [...dropped, ...passes].flatMap((name) => [name, '1']);
  const names = outwardHeaders(raw, undefined, passage).filter((_text, place) => place % 2 === 0);
  t.deepEqual(names, passes);
});

test('a redirect to anywhere else says so, one to this service stays below its port, and no cookie leaves the path of its port', (t) => {
  const passage = { prefix: '/p/ports/80', port: 80, path: '/a/b?c=d', host: 'service.example' };
  t.is(outwardLocation('https://elsewhere.example/x', passage), 'https://elsewhere.example/x');
  t.is(outwardLocation('//elsewhere.example/x', passage), '//elsewhere.example/x');
  t.is(outwardLocation('next', passage), 'next');
  t.is(outwardLocation('./?e=f#g', passage), './?e=f#g');
  t.is(outwardLocation('/tree?', passage), '/p/ports/80/tree?');
  t.is(outwardLocation('../../../../x', passage), '/p/ports/80/x');
  t.is(outwardLocation('http://localhost:80/x', passage), '/p/ports/80/x');
  t.is(outwardLocation('http://127.0.0.1:80', passage), '/p/ports/80/');
  t.is(outwardLocation('http://localhost:8080/x', passage), 'http://localhost:8080/x');
  t.is(outwardLocation('/p/ports/80/x', passage), '/p/ports/80/x');
  t.is(outwardLocation('http://[', passage), undefined);
  t.is(outwardLocation('http://localhost:80/../../evil', passage), '/p/ports/80/evil');
  for (const disguised of [
    '/\\elsewhere.example/x',
    '\\\\elsewhere.example/x',
    '/\t/elsewhere.example/x',
    ' //elsewhere.example/x',
  ]) {
    t.is(outwardLocation(disguised, passage), '//elsewhere.example/x', JSON.stringify(disguised));
  }
  t.is(outwardLocation('https:\\service.example@elsewhere.example/x', passage), 'https://elsewhere.example/x');
  for (const scheme of ['javascript:alert(1)', 'data:text/html,x', 'JAVASCRIPT\t:alert(1)']) {
    t.is(outwardLocation(scheme, passage), undefined, scheme);
  }
  t.is(outwardLocation('https://service.example/apis', passage), '/p/ports/80/apis', 'by a name that it was told');
  t.is(outwardLocation('http://SERVICE.example:80/p/ports/80/x', passage), '/p/ports/80/x');
  t.is(outwardLocation('https://service.example:8443/apis', passage), 'https://service.example:8443/apis');
  t.is(outwardRefresh('5', passage), '5');
  t.is(outwardRefresh('5.5;', passage), '5');
  t.is(outwardRefresh(' 0 , url = "/x" ignored', passage), '0; url=/p/ports/80/x');
  t.is(outwardRefresh("0;URL='/\\elsewhere.example'", passage), '0; url=//elsewhere.example/');
  t.is(outwardRefresh('0;https://service.example/apis', passage), '0; url=/p/ports/80/apis');
  t.is(outwardRefresh(`0;url="'/\\elsewhere.example`, passage), `0; url=%27/\\elsewhere.example`, 'below the page');
  for (const none of ['x', '', '0;url=javascript:alert(1)', '5x', `${'5'.repeat(30_000)}x`]) {
    t.is(outwardRefresh(none, passage), undefined);
  }
  t.is(outwardLink('<x>; rel=next, <../../../y>;rel=prev', passage), '<x>; rel=next, </p/ports/80/y>;rel=prev');
  t.is(outwardLink('<javascript:x>; rel=next', passage), undefined);
  t.is(outwardLink('<x>,'.repeat(33), passage), undefined);
  const pieces = [
    '..',
    '/',
    '/',
    '.',
    '%2e',
    '\\',
    'a',
    '//',
    'http://localhost:80',
    'https://service.example',
    '/p/ports/80',
    '\t',
    '?',
    '#',
    ':',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), (parts) => {
      const location = outwardLocation(parts.join(''), passage);
      const page = new URL('https://service.example/p/ports/80/a/b');
      if (location === undefined || !URL.canParse(location, page.href)) return;
      // As a browser takes it: on this service it leads below the port.
      const leads = new URL(location, page);
      t.true(leads.origin !== page.origin || `${leads.pathname}/`.startsWith('/p/ports/80/'), location);
      // What leads elsewhere is seen to by the simplest reader.
      t.true(leads.host === page.host || /^(?:https?:)?\/\//.test(location), location);
    }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a=1', 'Path=/', 'path=/p/ports/8', 'Path=..', ' PATH = /', 'Domain=x', 'Secure', '')),
      (parts) => {
        const scoped = scopeCookie(parts.join(';'), passage.prefix);
        const paths = (scoped ?? '').split(';').filter((part) => /^\s*path\s*=/i.test(part));
        // The pair itself comes first, whatever it looks like.
        return (
          scoped === undefined ||
          paths.slice(/^\s*path\s*=/i.test(scoped) ? 1 : 0).every((path) => path.startsWith(' Path=/p/ports/80/'))
        );
      },
    ),
  );
});

test('bodies stream both ways, of any size, and at the speed of who reads', async (t) => {
  const big = randomBytes(8 * 1024 * 1024);
  const digest = (data: Buffer): string => createHash('sha256').update(data).digest('hex');
  let paused: Socket | undefined;
  const port = await web(t, async (req, res) => {
    if (req.url === '/echo') {
      req.pipe(res);
      return;
    }
    if (req.url === '/endless') {
      paused = res.socket ?? undefined;
      const more = (): void => {
        while (!res.destroyed && res.write(big)) void 0;
      };
      res.on('drain', more);
      more();
      return;
    }
    res.end(digest(await bodyOf(req)));
  });
  const api = await openTestApi(t, { commands: portsOf() });
  t.is(await (await api.call(`${PORTS}/${port}/up`, { method: 'POST', body: big })).text(), digest(big));
  const echoed = await api.call(`${PORTS}/${port}/echo`, { method: 'PUT', body: big });
  t.is(digest(Buffer.from(await echoed.arrayBuffer())), digest(big));
  const leaving = new AbortController();
  await api.call(`${PORTS}/${port}/endless`, { signal: leaving.signal });
  await steady('the program is paused', () => paused?.bytesWritten ?? -1);
  leaving.abort();
  t.true(await until('who leaves ends the connection inside', () => paused?.destroyed));
});

test('nobody there, nothing in HTTP, too much of a head and no end of one are Unavailable with the port, never a 500', async (t) => {
  const api = await openTestApi(t, { commands: portsOf() });
  const free = await web(t, (_req, res) => void res.end());
  const ports = [
    await talker(t, 'SSH-2.0-OpenSSH_9.2\r\n', true),
    await talker(t, ''),
    await talker(t, `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(64 * 1024)}\r\n\r\n`, true),
    await talker(t, 'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'),
    await talker(t, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100), true),
    await talker(t, 'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'),
    await talker(t, 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', true),
    await talker(t, 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'),
    await talker(t, 'HTTP/1.1 200 OK\r\nSet-Cookie: a=\x00b\r\n\r\n', true),
  ];
  for (const [index, port] of [1, ...ports].entries()) {
    const answer = await api.call(`${PORTS}/${port}/`);
    const said = await json(answer);
    t.is(answer.status, 503, `case ${index}: ${JSON.stringify(said)}`);
    t.is(at(said, 'reason'), 'Unavailable');
    t.regex(String(at(said, 'message')), new RegExp(`port ${port}\\b`));
    t.is(answer.headers.get('retry-after'), '1');
  }
  t.is((await api.call(`${PORTS}/${free}/`)).status, 200);
  t.is(api.logged.length, 0, api.logged.join('\n'));
});

test('one whose epoch ends before its program has answered is told so', async (t) => {
  let asked = 0;
  const port = await web(t, (_req, res) => void res.socket?.destroy());
  const ports = portsOf();
  const api = await openTestApi(t, {
    commands: {
      ...ports,
      connect: async (...args) => {
        asked += 1;
        if (asked > 1) throw notRunning({ kind: 'Sandbox', name: 'box' }, 'its program has ended', 3);
        return ports.connect(...args);
      },
    },
  });
  const answer = await api.call(`${PORTS}/${port}/`);
  t.is(answer.status, 409);
  t.is(at(await json(answer), 'reason'), 'SandboxNotRunning');
});

test('an answer that breaks off breaks off, and a header that is not ASCII passes', async (t) => {
  const api = await openTestApi(t, { commands: portsOf() });
  const short = await talker(t, 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\nX-Name: caf\xc3\xa9\r\n\r\nhalf');
  const answer = await api.call(`${PORTS}/${short}/`);
  t.is(answer.status, 200);
  await t.throwsAsync(answer.text());
  t.is(api.logged.length, 0, api.logged.join('\n'));
});

test('an answer may come before the request is whole', async (t) => {
  const port = await web(t, (req, res) => {
    res.writeHead(413);
    res.end('enough');
    req.resume();
  });
  const api = await openTestApi(t, { commands: portsOf() });
  const answer = await api.call(`${PORTS}/${port}/`, { method: 'POST', body: Buffer.alloc(8 * 1024 * 1024) });
  t.is(answer.status, 413);
  t.is(await answer.text(), 'enough');
});

test('a wrong port, a wrong key and a request that would be shown itself are refused', async (t) => {
  const api = await openTestApi(t, { commands: portsOf() });
  for (const port of ['0', '65536', '-1', '80a', '0x50', '1e3', '080', '999999', '%38', '..', 'http']) {
    const { status } = await api.call(`${PORTS}/${port}/`);
    t.true(status === 400 || status === 404 || (port === '%38' && status === 503), `${port}: ${status}`);
  }
  t.is((await api.call(PORTS)).status, 400);
  t.is((await api.call(`${PORTS}/80/`, { headers: bearer(KEYS.viewer) })).status, 403);
  t.is((await api.call(`${PORTS}/80/`, { headers: { authorization: '' } })).status, 401);
  t.is((await api.call(`${PORTS}/80/?epoch=-1`)).status, 400);
  const traced = await new Promise<string>((resolve) => {
    const socket = connect(api.http.httpPort, '127.0.0.1');
    socket.write(
      `TRACE ${PORTS}/80/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.owner}\r\nConnection: close\r\n\r\n`,
    );
    let said = '';
    socket.on('data', (data: Buffer) => (said += data.toString()));
    socket.on('close', () => resolve(said));
  });
  t.regex(traced, /^HTTP\/1.1 405 /);
  const bodied = await new Promise<string>((resolve) => {
    const socket = connect(api.http.httpPort, '127.0.0.1');
    const head = `POST ${PORTS}/80/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.owner}\r\nConnection: Upgrade\r\nUpgrade: x`;
    socket.write(`${head}\r\nContent-Length: 3\r\n\r\nabc`);
    let said = '';
    socket.on('data', (data: Buffer) => (said += data.toString()));
    socket.on('close', () => resolve(said));
  });
  t.regex(bodied, /^HTTP\/1.1 400 /);
});

test('a WebSocket passes through as it is, its key does not, and its traffic counts', async (t) => {
  const inside = new WebSocketServer({ noServer: true, handleProtocols: () => 'echo' });
  const seen: IncomingMessage[] = [];
  inside.on('connection', (socket, req) => {
    seen.push(req);
    socket.on('message', (data, binary) => socket.send(data, { binary }));
    socket.on('message', (data) => (data as Buffer).toString() === 'bye' && socket.close(4321, 'bye'));
  });
  const port = await web(
    t,
    (_req, res) => {
      res.writeHead(418, { 'x-own': 'teapot' });
      res.end('no');
    },
    (server) =>
      server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
        if (req.url === '/no') socket.end('HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\nX-Own: teapot\r\n\r\nno');
        else inside.handleUpgrade(req, socket, head, (accepted) => inside.emit('connection', accepted, req));
      }),
  );
  const counts: Counts = { begun: 0, ended: 0, touched: 0 };
  const api = await openTestApi(t, { commands: portsOf(counts) });
  const key = `base64url.bearer.authorization.k8s.io.${Buffer.from(KEYS.owner).toString('base64url')}`;
  const url = `ws://127.0.0.1:${api.http.httpPort}${PORTS}/${port}`;
  const socket = new WebSocket(`${url}/chat?room=1`, [key, 'echo']);
  const closed = new Promise<string>((resolve) =>
    socket.on('close', (code, reason) => resolve(`${code} ${reason.toString()}`)),
  );
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  t.is(socket.protocol, 'echo');
  t.is(seen[0]?.url, '/chat?room=1');
  t.is(seen[0]?.headers['sec-websocket-protocol'], 'echo');
  t.is(seen[0]?.headers.authorization, undefined);
  const big = randomBytes(3 * 1024 * 1024);
  const back = new Promise<Buffer>((resolve) => socket.once('message', (data) => resolve(data as Buffer)));
  socket.send(big);
  t.true((await back).equals(big));
  socket.send('bye');
  t.is(await closed, '4321 bye');
  t.is(counts.begun, 0);
  await until('its traffic counts', () => counts.touched > 0);
  const refused = new WebSocket(`${url}/no`, { headers: bearer(KEYS.owner) });
  refused.on('error', () => undefined);
  const answer = await new Promise<IncomingMessage>((resolve) =>
    refused.once('unexpected-response', (_request, response) => resolve(response)),
  );
  t.is(answer.statusCode, 418);
  t.is(answer.headers['x-own'], 'teapot');
  t.is((await bodyOf(answer)).toString(), 'no');
});

test('a drain ends what is joined, at both ends', async (t) => {
  let inner: Socket | undefined;
  const port = await web(
    t,
    () => undefined,
    (server) =>
      server.on('upgrade', (_req: IncomingMessage, socket: Socket) => {
        inner = socket;
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nhello');
        socket.on('data', (data: Buffer) => socket.write(data));
      }),
  );
  const api = await openTestApi(t, { commands: portsOf() });
  const socket = connect(api.http.httpPort, '127.0.0.1');
  let said = '';
  socket.on('data', (data: Buffer) => (said += data.toString()));
  socket.write(
    `GET ${PORTS}/${port}/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.owner}\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\nearly`,
  );
  await until('both were heard', () => said.includes('hello') && said.includes('early'));
  t.regex(said, /^HTTP\/1.1 101 [^]*upgrade: raw\r\n[^]*\r\n\r\n(helloearly|earlyhello)$/i);
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await api.http.drain();
  await closed;
  t.true(await until('the inner end is told', () => inner?.readableEnded));
});
