/** The service's end of a command's data connection, with an agent that the test plays: it may be in hostile hands. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { DataConnection } from '../../src/engines/compute/embedded/data.js';
import { steady, until } from '../e2e/until.js';

const LATE_MS = 150;

interface Talk {
  readonly data: DataConnection;
  readonly agent: Socket;
  said(): string;
}

async function talk(t: ExecutionContext): Promise<Talk> {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-data-'));
  const path = join(dir, 'socket');
  const server = createServer({ allowHalfOpen: true });
  const accepted = new Promise<Socket>((done) => server.once('connection', done));
  await new Promise<void>((done) => server.listen(path, done));
  const heard: Buffer[] = [];
  const data = new DataConnection({ socket: path, name: 'a' }, (chunk) => heard.push(chunk), LATE_MS);
  const agent = await accepted;
  agent.on('error', () => undefined);
  t.teardown(() => {
    data.close();
    agent.destroy();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { data, agent, said: () => Buffer.concat(heard).toString() };
}

test('what comes behind the word that it is taken is output, in one piece with it or not', async (t) => {
  const { data, agent, said } = await talk(t);
  agent.write('.one');
  await until('one', () => said() === 'one' || undefined);
  agent.end('two');
  await data.lastOutput();
  t.is(said(), 'onetwo');
});

test('a command that has ended is not waited for because its box holds the connection open', async (t) => {
  const { data, agent, said } = await talk(t);
  agent.write('.said');
  await until('said', () => said() === 'said' || undefined);
  await data.lastOutput();
  t.is(said(), 'said');
});

test('what a reader that has stopped has not taken is kept for it, however late', async (t) => {
  const { data, agent, said } = await talk(t);
  agent.write('.');
  await data.write(Buffer.from('in'));
  data.pause();
  agent.end(Buffer.alloc(300_000, 'x'));
  let over = false;
  const last = data.lastOutput().then(() => (over = true));
  await steady('nothing is given up', () => `${over}`, 3 * LATE_MS);
  t.false(over);
  for (let n = 0; n < 20; n += 1) data.resume();
  await last;
  t.is(said().length, 300_000);
});

test('whoever writes before it is taken waits, and all go on together when there is room or the box has gone', async (t) => {
  for (const gone of [true, false]) {
    const { data, agent } = await talk(t);
    const writes = Promise.all(Array.from({ length: 8 }, () => data.write(Buffer.alloc(512 * 1024))));
    agent.write('.');
    await until('the first of it', () => agent.bytesRead > 10_000 || undefined);
    if (gone) agent.destroy();
    else agent.resume();
    t.is((await writes).length, 8);
  }
  const { data, agent } = await talk(t);
  agent.end();
  await t.throwsAsync(data.write(Buffer.from('never taken')), { message: /not taken/ });
});
