/** Data connections at the agent of a box, in orders that only happen now and then: the agent runs here without a box around it. */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { encodeOrder } from '../../src/runner/agent/order.js';
import { Session, type SessionEnd } from '../../src/runner/agent/session.js';
import { until } from '../e2e/until.js';
import { startAgent } from './agents-alone.js';

/** Connections that wait for their command (`agent.pl`). */
const EARLY = 16;

const withPerl = spawnSync('perl', ['-e', '']).status === 0 ? test : test.skip;

interface Command {
  readonly session: Session;
  readonly ended: Promise<SessionEnd>;
  /** In frames. */
  said(): string;
}

/** `deaf`: nobody takes more than its first words. */
function command(path: string, script: string, data: string, deaf = false): Command {
  const heard: Buffer[] = [];
  const session = new Session(
    path,
    {
      kind: 'command',
      command: ['sh', '-c', script],
      env: { PATH: process.env['PATH'] ?? '' },
      workingDir: '/',
      data,
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

interface Carrier {
  readonly socket: Socket;
  readonly taken: Promise<boolean>;
  /** Of the output; false: broken off. */
  readonly over: Promise<boolean>;
  said(): string;
}

function carrier(t: ExecutionContext, path: string, name: string): Carrier {
  const socket = createConnection({ path, allowHalfOpen: true });
  const heard: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.write(encodeOrder({ kind: 'data', name }) ?? '');
  t.teardown(() => socket.destroy());
  return {
    socket,
    taken: new Promise((resolve) => {
      socket.once('data', () => resolve(true));
      socket.once('close', () => resolve(false));
      socket.on('data', (chunk: Buffer) => heard.push(chunk));
    }),
    over: new Promise((resolve) => {
      socket.once('end', () => resolve(true));
      socket.once('close', () => resolve(false));
    }),
    said: () => Buffer.concat(heard).toString().slice(1),
  };
}

const DONE: SessionEnd = { end: 'Exited', exitCode: 0 };

withPerl('a connection that comes before its command is kept for it', async (t) => {
  const path = await startAgent(t);
  const early = carrier(t, path, 'a');
  // Whoever connects later is heard later.
  t.deepEqual(await command(path, 'true', '').ended, DONE);
  const cat = command(path, 'cat', 'a');
  t.true(await early.taken);
  early.socket.end('brought');
  cat.session.endInput();
  t.deepEqual(await cat.ended, DONE);
  t.true(await early.over);
  t.is(early.said(), 'brought');
});

withPerl('a connection that comes when its command is over already is ended at once', async (t) => {
  const path = await startAgent(t);
  for (const name of ['a', 'b']) {
    t.deepEqual(await command(path, 'exit 0', name).ended, DONE);
    const late = carrier(t, path, name);
    t.true(await late.taken);
    t.true(await late.over);
    t.is(late.said(), '');
  }
});

withPerl('the end of the input is both its word and the end of what was brought, in either order', async (t) => {
  const path = await startAgent(t);
  for (const wordFirst of [true, false]) {
    const cat = command(path, 'cat', `${wordFirst}`);
    const { socket, taken, said, over } = carrier(t, path, `${wordFirst}`);
    t.true(await taken);
    if (wordFirst) cat.session.endInput();
    socket.write('one');
    await until('one', () => said() === 'one' || undefined, 10_000);
    socket.end('two');
    if (!wordFirst) {
      await until('two', () => said() === 'onetwo' || undefined, 10_000);
      cat.session.endInput();
    }
    t.deepEqual(await cat.ended, DONE);
    t.true(await over);
    t.deepEqual([said(), cat.said()], ['onetwo', '']);
  }
});

withPerl(
  "one connection carries a command's data: whoever comes again waits, and is closed when too many wait",
  async (t) => {
    const path = await startAgent(t);
    const cat = command(path, 'cat', 'a');
    const first = carrier(t, path, 'a');
    t.true(await first.taken);
    const others = Array.from({ length: 3 * EARLY }, () => carrier(t, path, 'a'));
    const closed = (): number => others.filter(({ socket }) => socket.readableEnded).length;
    await until('all that wait too long are closed', () => closed() === 2 * EARLY || undefined, 10_000);
    first.socket.end('first');
    cat.session.endInput();
    t.deepEqual(await cat.ended, DONE);
    t.true(await first.over);
    t.is(first.said(), 'first');
    t.is(closed(), 2 * EARLY);
  },
);

withPerl('input that a command does not take goes nowhere, and keeps nothing of what it says', async (t) => {
  const path = await startAgent(t);
  const scripts = ['sleep 0.2; head -c 3000000 /dev/zero', 'exec <&-; sleep 0.2; head -c 3000000 /dev/zero'];
  for (const script of scripts) {
    const deaf = command(path, script, script);
    const { socket, taken, over, said } = carrier(t, path, script);
    t.true(await taken);
    let written = 0;
    const write = (error?: Error | null): void => {
      written += 64 * 1024;
      if (!error && !socket.destroyed) socket.write(Buffer.alloc(64 * 1024), write);
    };
    write();
    t.true(await over);
    t.is(said().length, 3_000_000);
    t.deepEqual(await deaf.ended, DONE);
    // Also when it has ended, until the other side closes.
    const then = written;
    await until('more went', () => written > then + 1024 * 1024 || undefined, 10_000);
    socket.destroy();
  }
  t.deepEqual(await command(path, 'true', '').ended, DONE);
});

withPerl('a command that has ended says its last words to a connection that comes late or reads late', async (t) => {
  const path = await startAgent(t);
  const marker = `${path}-done`;
  // Less than a pipe holds, so that it ends; then more than pipe and socket do, so that it waits.
  for (const bytes of [60_000, 3_000_000]) {
    rmSync(marker, { force: true });
    const ended = command(path, `head -c ${bytes} /dev/zero; echo >${marker}`, `${bytes}`);
    if (bytes < 64 * 1024) await until('it has ended', () => existsSync(marker), 10_000);
    const late = carrier(t, path, `${bytes}`);
    t.true(await late.taken);
    late.socket.pause();
    for (let n = 0; n < 3; n += 1) t.deepEqual(await command(path, 'true', '').ended, DONE);
    late.socket.resume();
    t.true(await late.over);
    t.is(late.said().length, bytes);
    t.deepEqual(await ended.ended, DONE);
  }
});

withPerl(
  'a command that is killed ends though nobody has come for its data, reads it, or is there any more',
  async (t) => {
    const path = await startAgent(t);
    const ends: SessionEnd[] = [];
    for (const how of ['nobody', 'stuck', 'gone'] as const) {
      const { session, ended } = command(path, 'trap "" PIPE; head -c 3000000 /dev/zero; sleep 600', how);
      if (how !== 'nobody') {
        const { socket, taken } = carrier(t, path, how);
        t.true(await taken);
        if (how === 'stuck') socket.pause();
        else socket.destroy();
      }
      for (let n = 0; n < 3; n += 1) t.deepEqual(await command(path, 'true', '').ended, DONE);
      session.kill();
      ends.push(await ended);
    }
    t.deepEqual(
      ends,
      Array.from({ length: 3 }, (): SessionEnd => ({ end: 'Exited', exitCode: 137 })),
    );
  },
);

withPerl('a connection is closed with its command when nobody wants to hear of that any more', async (t) => {
  const path = await startAgent(t);
  const { session, ended } = command(path, 'exec sleep 600', 'a');
  const { taken, over } = carrier(t, path, 'a');
  t.true(await taken);
  session.drop();
  await ended;
  t.true(await over);
});
