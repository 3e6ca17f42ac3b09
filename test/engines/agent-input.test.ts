/** Long input at the agent of a box, in orders that only happen now and then: the agent runs here without a box around it. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { EARLY } from '../../src/engines/compute/runner/agent/input.js';
import { encodeOrder } from '../../src/engines/compute/runner/agent/order.js';
import { Session, type SessionEnd } from '../../src/engines/compute/runner/agent/session.js';
import { writeAgent } from '../../src/engines/compute/runner/agent/source.js';
import { until } from '../e2e/until.js';

const withPerl = spawnSync('perl', ['-e', '']).status === 0 ? test : test.skip;

/** Path of its socket. */
async function agent(t: ExecutionContext): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-agent-'));
  const path = join(dir, 'socket');
  const { program, args } = writeAgent(join(dir, 'agent'), 'perl', process.arch, 'troupe-agent-test');
  const server = createServer();
  await new Promise<void>((done) => server.listen(`${path}.new`, done));
  const { _handle: handle } = server as unknown as { readonly _handle: { readonly fd: number } };
  const child = spawn('perl', [program, ...args], { stdio: [handle.fd, 'ignore', 'inherit'] });
  // Only the agent takes connections; closing takes away the name under which it was made.
  renameSync(`${path}.new`, path);
  server.close();
  t.teardown(() => {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  });
  return path;
}

interface Command {
  readonly session: Session;
  readonly ended: Promise<SessionEnd>;
  said(): string;
}

/** `deaf`: nobody takes more than its first words. */
function command(path: string, script: string, input: string, deaf = false): Command {
  const heard: Buffer[] = [];
  const session = new Session(
    path,
    {
      kind: 'command',
      command: ['sh', '-c', script],
      env: { PATH: process.env['PATH'] ?? '' },
      workingDir: '/',
      input,
    },
    {
      feed(_, chunk) {
        heard.push(chunk);
        return !deaf;
      },
      whenReady: (resume) => (deaf ? undefined : resume()),
    },
    () => undefined,
  );
  return { session, ended: session.ended, said: () => Buffer.concat(heard).toString() };
}

interface Bringer {
  readonly socket: Socket;
  readonly taken: Promise<boolean>;
}

function bringer(t: ExecutionContext, path: string, name: string): Bringer {
  const socket = createConnection(path);
  socket.on('error', () => undefined);
  socket.write(encodeOrder({ kind: 'input', name }) ?? '');
  t.teardown(() => socket.destroy());
  return {
    socket,
    taken: new Promise((resolve) => {
      socket.once('data', () => resolve(true));
      socket.once('close', () => resolve(false));
    }),
  };
}

const DONE: SessionEnd = { end: 'Exited', exitCode: 0 };

withPerl('input that comes before its command is kept for it', async (t) => {
  const path = await agent(t);
  const early = bringer(t, path, 'a');
  // Whoever connects later is heard later.
  t.deepEqual(await command(path, 'true', '').ended, DONE);
  const cat = command(path, 'cat', 'a');
  t.true(await early.taken);
  early.socket.end('brought');
  cat.session.endInput();
  t.deepEqual(await cat.ended, DONE);
  t.is(cat.said(), 'brought');
});

withPerl('the end of the input is both its word and the end of what was brought, in either order', async (t) => {
  const path = await agent(t);
  for (const wordFirst of [true, false]) {
    const cat = command(path, 'cat', `${wordFirst}`);
    const { socket, taken } = bringer(t, path, `${wordFirst}`);
    t.true(await taken);
    if (wordFirst) cat.session.endInput();
    socket.write('one');
    await until('one', () => cat.said() === 'one' || undefined, 10_000);
    socket.end('two');
    if (!wordFirst) {
      await until('two', () => cat.said() === 'onetwo' || undefined, 10_000);
      cat.session.endInput();
    }
    t.deepEqual(await cat.ended, DONE);
    t.is(cat.said(), 'onetwo');
  }
});

withPerl('input is brought once: whoever brings it again waits, and is closed when too many wait', async (t) => {
  const path = await agent(t);
  const cat = command(path, 'cat', 'a');
  const first = bringer(t, path, 'a');
  t.true(await first.taken);
  const others = Array.from({ length: 3 * EARLY }, () => bringer(t, path, 'a'));
  const closed = (): number => others.filter(({ socket }) => socket.closed).length;
  await until('all that wait too long are closed', () => closed() === 2 * EARLY || undefined, 10_000);
  first.socket.end('first');
  cat.session.endInput();
  t.deepEqual(await cat.ended, DONE);
  t.is(cat.said(), 'first');
  t.is(closed(), 2 * EARLY);
});

withPerl('who brings input is let go with the command, and with its interest in any', async (t) => {
  const path = await agent(t);
  for (const script of ['sleep 0.2', 'exec <&-; while :; do sleep 0.1; done']) {
    const deaf = command(path, script, script);
    const { socket, taken } = bringer(t, path, script);
    const over = new Promise((resolve) => socket.once('close', resolve));
    t.true(await taken);
    const write = (error?: Error | null): void => {
      if (!error && !socket.destroyed) socket.write(Buffer.alloc(64 * 1024), write);
    };
    write();
    await over;
    deaf.session.drop();
    await deaf.ended;
  }
  t.deepEqual(await command(path, 'true', '').ended, DONE);
});

withPerl('input for a command that takes no more is taken, and goes nowhere', async (t) => {
  const path = await agent(t);
  const marker = `${path}-done`;
  // It has ended, and its end is not told before its words are taken: more than a socket holds, and less than a pipe besides.
  const ended = command(path, `head -c 330000 /dev/zero; echo >${marker}`, 'a', true);
  await until('it has ended', () => existsSync(marker), 10_000);
  for (let n = 0; n < 3; n += 1) t.deepEqual(await command(path, 'true', '').ended, DONE);
  const { socket, taken } = bringer(t, path, 'a');
  t.true(await taken);
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  ended.session.drop();
  t.deepEqual(await ended.ended, DONE);
});
