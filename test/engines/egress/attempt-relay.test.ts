/** The attempt API as boxes see it, before a service that is made up. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import test from 'ava';
import { openRelays, type Relays } from '../../../src/engines/compute/shared/egress/attempt-relay.js';

const directory = mkdtempSync(join(tmpdir(), 'troupe-relay-'));
const service = join(directory, 'api.sock');
const asked: { path: string | undefined; headers: IncomingMessage['headers']; body: string }[] = [];
const sockets: Socket[] = [];
let server: Server;
let relays: Relays;
/** Stands still, so nothing is saved up. */
let clock = 0;

test.before(async () => {
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.on('end', () => {
      asked.push({ path: req.url, headers: req.headers, body });
      res.writeHead(202, { 'content-type': 'text/x', 'retry-after': '7', 'set-cookie': 'a=b' }).end('taken');
    });
  });
  server.listen(service);
  await once(server, 'listening');
  relays = openRelays(() => clock);
  for (const box of ['0', '1', '2', '3']) await relays.open(join(directory, box), { service, work: `work-${box}` });
  await relays.open(join(directory, 'spare'), { service, work: undefined });
  await relays.open(join(directory, 'nobody'), { service: join(directory, 'nothing.sock'), work: 'nobody' });
});
test.after.always(() => {
  for (const socket of sockets) socket.destroy();
  for (const box of ['0', '1', '2', '3', 'spare', 'nobody']) relays.close(join(directory, box));
  server.close();
  server.closeAllConnections();
  rmSync(directory, { recursive: true });
});

const socketOf = (box: string): string => join(directory, box, 'api.sock');

async function ask(box: string, body: string, headers: Record<string, string> = {}) {
  const sent = request({ socketPath: socketOf(box), path: '/attempt/v1/progress', method: 'POST', headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode, text, headers: answer.headers };
}

test('a request goes on with its token and its body, and nothing else of it; so does the answer', async (t) => {
  const answer = await ask('0', '{"completed":1}', { authorization: 'Bearer x', 'x-more': 'y', cookie: 'c' });
  t.like(answer, { status: 202, text: 'taken' });
  t.is(answer.headers['retry-after'], '7');
  t.is(answer.headers['set-cookie'], undefined);
  const [seen] = asked.filter(({ headers }) => headers.authorization === 'Bearer x');
  t.like(seen, { path: '/attempt/v1/progress', body: '{"completed":1}' });
  t.is(seen?.headers['x-more'] ?? seen?.headers.cookie, undefined);
});

test('a request goes on as that of the work whose box it is, whatever the box says', async (t) => {
  const worksOf = (body: string) =>
    asked.filter((one) => one.body === body).map(({ headers }) => headers['x-svc-work']);
  await ask('2', '"forged"', { 'x-svc-work': 'work-0', 'X-SVC-Work': 'work-1' });
  t.deepEqual(worksOf('"forged"'), ['work-2']);
  // It is not known yet whose: the request waits until it is.
  const early = ask('spare', '"early"');
  await relays.open(join(directory, 'spare'), { service, work: 'first' });
  t.is((await early).status, 202);
  await relays.open(join(directory, 'spare'), { service, work: 'second' });
  t.is((await ask('spare', '"late"')).status, 202);
  t.deepEqual([worksOf('"early"'), worksOf('"late"')], [['first'], ['second']]);
});

test('a box that floods its socket takes nothing from another, and little of it reaches the service', async (t) => {
  const GET = `GET /flood HTTP/1.1\r\nHost: x\r\n\r\n`;
  const flood = Array.from({ length: 60 }, () => connect(socketOf('1')));
  sockets.push(...flood);
  const ends = flood.map((socket) => new Promise((ended) => socket.once('close', ended)));
  for (const socket of flood) {
    socket.on('error', () => undefined).resume();
    socket.write(GET.repeat(2_000));
  }
  // More than it may have are closed at once; of the others one after the other is refused, and then closed.
  await Promise.all(ends);
  t.is((await ask('2', '{}')).status, 202);
  t.true(asked.filter(({ path }) => path === '/flood').length <= 20);
});

test('beyond its rate a box is told so, and what is too large is not read', async (t) => {
  const statuses: (number | undefined)[] = [];
  t.is((await ask('3', 'x'.repeat(17_000))).status, 413);
  for (let n = 0; n < 20; n++) statuses.push((await ask('3', '{}')).status);
  t.deepEqual([statuses.filter((status) => status === 202).length, statuses.at(-1)], [19, 429]);
  clock += 1_000;
  t.is((await ask('3', '{}')).status, 202);
});

test('while the service does not answer, the box is asked to come again', async (t) => {
  const answer = await ask('nobody', '{}');
  t.is(answer.status, 503);
  t.is(answer.headers['retry-after'], '1');
});

test('the program of the proxy imports nothing but what Node brings: it runs where no package is', async (t) => {
  const program = await readFile(
    new URL('../../../src/engines/compute/shared/egress/main.js', import.meta.url),
    'utf8',
  );
  const imports = [...program.matchAll(/^(?:import|export) .*from "([^"]+)";$|^import "([^"]+)";$/gm)];
  t.true(imports.length > 0);
  for (const [, from, bare] of imports) t.regex(from ?? bare ?? '', /^node:/);
});
