/** Looking names up against a name server of our own, which answers some names and is silent about others. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openResolver } from '../../../src/engines/dialer/resolve.js';

const TYPE_A = 1;

/** Answers `NAME A` with the address, `NAME AAAA` with nothing, and does not answer for names it does not know. */
async function openNameServer(t: ExecutionContext, names: Readonly<Record<string, string>>): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    let at = 12;
    const labels: string[] = [];
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const address = names[labels.join('.').toLowerCase()];
    if (address === undefined) return;
    const question = query.subarray(12, at + 5);
    const isA = query.readUInt16BE(at + 1) === TYPE_A;
    const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]);
    socket.send(Buffer.concat([head, question, ...(isA ? [answer] : [])]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

test('names that nobody answers for hold up no other', async (t) => {
  const server = await openNameServer(t, { 'good.test': '192.0.2.7' });
  const resolve = openResolver({ servers: [server], hostsFile: '/dev/null' });
  let silent = 0;
  const waiting = Array.from({ length: 32 }, (_, i) => resolve(`silent-${i}.test`).catch(() => (silent += 1)));
  const begun = performance.now();
  t.deepEqual(await resolve('good.test'), ['192.0.2.7']);
  t.true(performance.now() - begun < 1_500);
  t.is(silent, 0);
  await Promise.all(waiting);
  t.is(silent, 32);
});

test('a name in the file of hosts is taken from there', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-hosts-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const hostsFile = join(dir, 'hosts');
  await writeFile(hostsFile, '127.0.0.1 localhost\n10.0.0.5\tInner.test inner # for people\n::5 inner.test\n');
  const resolve = openResolver({ servers: ['127.0.0.1:1'], hostsFile });
  t.deepEqual(await resolve('inner.test'), ['10.0.0.5', '::5']);
  t.deepEqual(await resolve('INNER'), ['10.0.0.5']);
});
