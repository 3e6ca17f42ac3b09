/** Both agents keep to `src/engines/compute/shared/PROTOCOL.md`; the numbers in brackets are its rules. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { BOX_FRAME } from '../../src/engines/compute/docker/frames.js';
import { findProgram } from '../../src/engines/compute/shared/find-program.js';
import { FRAME, MAX_FRAME } from '../../src/engines/compute/shared/frames.js';
import { steady, until } from '../e2e/until.js';
import { DIALECTS, Talk } from './agents-alone.js';

const withPerl = findProgram('perl') === undefined ? test.skip : test;

const PROTOCOL = new URL('../../../src/engines/compute/shared/PROTOCOL.md', import.meta.url);
/** More than any pipe of an agent holds. */
const MUCH = 2 * 1024 * 1024;

function directory(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'troupe-protocol-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const isAlive = (pid: number): boolean => {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
  } catch {
    return false;
  }
};

test('the page has the types of all frames, by their numbers and names', (t) => {
  const rows = readFileSync(fileURLToPath(PROTOCOL), 'utf8').matchAll(/^\| (\d+) \| (\w*) ?\| (\w*) ?\|/gm);
  const found = [...rows].map(([, type, embedded, container]) => ({ type: Number(type), embedded, container }));
  const numbers = (column: 'embedded' | 'container'): Record<string, number> =>
    Object.fromEntries(found.flatMap((row) => (row[column] ? [[row[column], row.type]] : [])));
  t.deepEqual(numbers('embedded'), { ...FRAME });
  t.deepEqual(numbers('container'), { ...BOX_FRAME });
});

for (const dialect of DIALECTS) {
  const agree = (title: string, act: (t: ExecutionContext) => Promise<void>): void => {
    withPerl(`${dialect.name}: ${title}`, act);
  };

  agree('a command starts, says its output and ends, and nothing comes after the end (1, 6, 8)', async (t) => {
    const talk = await Talk.begin(t, dialect, 'echo out; echo err >&2; exit 3');
    t.like(await talk.ended(), { exitCode: 3 });
    t.is(talk.bytes(FRAME.stdout).toString(), 'out\n');
    t.is(talk.bytes(FRAME.stderr).toString(), 'err\n');
    t.is(talk.count(dialect.started), 1);
    await steady('nothing more comes', () => talk.frames.length);
    t.is(talk.frames.at(-1)?.type, FRAME.end);
  });

  agree('a command that a signal ends has 128 and its number as exit code', async (t) => {
    t.like(await (await Talk.begin(t, dialect, 'kill -9 $$')).ended(), { exitCode: 137 });
  });

  agree('what cannot be executed has an end with its reason and no start (1)', async (t) => {
    const plain = join(directory(t), 'plain');
    writeFileSync(plain, 'no program', { mode: 0o644 });
    for (const [order, reason] of [
      [{ command: ['/nowhere/prog'] }, 'CommandNotFound'],
      [{ command: [plain] }, 'CommandNotExecutable'],
      [{ command: ['true'], workingDir: '/nowhere' }, 'WorkingDirNotFound'],
    ] as const) {
      const talk = await Talk.begin(t, dialect, order);
      t.like(await talk.ended(), { reason });
      t.is(talk.count(dialect.started), 0);
    }
  });

  agree('room is said for input that is in the pipe, and for the rest when the command reads on (2)', async (t) => {
    const gate = join(directory(t), 'gate');
    const talk = await Talk.begin(t, dialect, `while [ ! -e ${gate} ]; do sleep 0.05; done; wc -c`);
    for (let sent = 0; sent < MUCH; sent += MAX_FRAME / 2) talk.send(FRAME.stdin, Buffer.alloc(MAX_FRAME / 2));
    talk.send(FRAME.endOfInput);
    const held = await steady('the pipe is full', () => (talk.room > 0 ? talk.room : Math.random()), 300);
    t.true(held > 0 && held <= 256 * 1024, `${held}`);
    writeFileSync(gate, '');
    t.like(await talk.ended(), { exitCode: 0 });
    t.is(talk.bytes(FRAME.stdout).toString().trim(), String(MUCH));
    t.is(talk.room, MUCH);
  });

  agree('room is said for input that the command does not take any more (2)', async (t) => {
    const talk = await Talk.begin(t, dialect, 'exec <&-; echo closed; sleep 600');
    await talk.said('closed');
    for (let sent = 0; sent < MUCH; sent += MAX_FRAME) talk.send(FRAME.stdin, Buffer.alloc(MAX_FRAME));
    await until('all of it is dropped', () => talk.room === MUCH);
    t.is(talk.count(FRAME.end), 0);
  });

  agree('a command waits while its output is not read, and loses none of it (3)', async (t) => {
    const marker = join(directory(t), 'marker');
    const bytes = 8 * MUCH;
    const talk = await Talk.begin(t, dialect, `echo begun; head -c ${bytes} /dev/zero; echo >${marker}`);
    await talk.said('begun');
    talk.connection.output.pause();
    await steady('it waits', () => talk.frames.length, 500);
    t.false(existsSync(marker));
    talk.connection.output.resume();
    t.like(await talk.ended(), { exitCode: 0 });
    t.is(talk.bytes(FRAME.stdout).length, bytes + 'begun\n'.length);
  });

  agree('a client that reads late still hears all that a command said before it ended (3)', async (t) => {
    const marker = join(directory(t), 'marker');
    // Between what the connection holds and what connection, agent and pipe hold together.
    for (let bytes = 240_000; bytes <= 360_000; bytes += 20_000) {
      rmSync(marker, { force: true });
      const talk = await Talk.begin(t, dialect, `echo begun; sleep 0.1; head -c ${bytes} /dev/zero; echo >${marker}`);
      await talk.said('begun');
      talk.connection.output.pause();
      await until('it has ended', () => existsSync(marker), 1_000).catch(() => undefined);
      talk.connection.output.resume();
      t.like(await talk.ended(), { exitCode: 0 });
      t.is(talk.bytes(FRAME.stdout).length, bytes + 'begun\n'.length);
    }
  });

  agree('a signal reaches the command and what it started (4)', async (t) => {
    const script =
      'trap "exit 7" TERM; sh -c \'trap "echo child; exit" TERM; while :; do sleep 0.05; done\' & echo ready; wait';
    const talk = await Talk.begin(t, dialect, script);
    await talk.said('ready');
    // The child may not have its trap yet; then the signal just ends it.
    talk.send(FRAME.signal, dialect.signal('SIGTERM'));
    t.like(await talk.ended(), { exitCode: 7 });
  });

  agree('a terminal has the size that it is given, and hangs up at the end of its input (5)', async (t) => {
    const command = ['sh', '-c', 'tty; while :; do stty size; sleep 0.05; done'];
    const talk = await Talk.begin(t, dialect, { command, terminal: { columns: 80, rows: 24 } });
    await talk.said('24 80');
    talk.send(FRAME.resize, dialect.size({ columns: 100, rows: 40 }));
    await talk.said('40 100');
    t.regex(talk.bytes(FRAME.stdout).toString(), /^\/dev\/pts\/\d+\r\n/);
    talk.send(FRAME.stdin, Buffer.from('typed\n'));
    await talk.said('typed');
    talk.send(FRAME.endOfInput);
    t.like(await talk.ended(), { exitCode: 129 });
    t.is(talk.count(FRAME.stderr), 0);
  });

  agree('a command ends with its first process, and what that left behind goes on unheard (6)', async (t) => {
    const marker = join(directory(t), 'marker');
    const script = `{ trap "" HUP; while [ ! -e ${marker}-go ]; do sleep 0.05; done; echo late; echo >${marker}; } & echo first`;
    const talk = await Talk.begin(t, dialect, script);
    t.like(await talk.ended(), { exitCode: 0 });
    writeFileSync(`${marker}-go`, '');
    await until('what was left behind has gone on', () => existsSync(marker));
    t.is(talk.bytes(FRAME.stdout).toString(), 'first\n');
  });

  agree('a client that goes takes all that the command started with it (7)', async (t) => {
    const talk = await Talk.begin(t, dialect, 'setsid sleep 600 & echo $!; sleep 600 & echo $!; echo $$ all; wait');
    await talk.said('all');
    const pids = talk.bytes(FRAME.stdout).toString().match(/\d+/g)?.map(Number) ?? [];
    t.is(pids.length, 3);
    talk.connection.close();
    await until('all have ended', () => !pids.some(isAlive));
  });

  agree('a port carries both ways, each of which ends for itself', async (t) => {
    const accepted: Socket[] = [];
    const server = createServer({ allowHalfOpen: true }, (socket) => accepted.push(socket));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => server.close());
    const { port } = server.address() as { readonly port: number };
    const talk = await Talk.begin(t, dialect, { port });
    const there = await until('it is connected', () => talk.count(dialect.started) === 1 && accepted[0]);
    there.end('from the port');
    await until('its output ends', () => talk.count(dialect.endOfOutput) === 1);
    t.is(talk.bytes(FRAME.stdout).toString(), 'from the port');
    const heard: Buffer[] = [];
    const over = new Promise((done) => there.once('end', done));
    there.on('data', (chunk: Buffer) => heard.push(chunk));
    talk.send(FRAME.stdin, Buffer.from('to the port'));
    talk.send(FRAME.endOfInput);
    await over;
    t.is(Buffer.concat(heard).toString(), 'to the port');
    if (dialect.portEnd === 'end') t.like(await talk.ended(), { exitCode: 0 });
    else await until('its process ends', () => talk.closed);
    t.is(talk.room, 'to the port'.length);
  });

  agree('a port that nobody listens on is refused, and never connected', async (t) => {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as { readonly port: number };
    await new Promise((done) => server.close(done));
    const talk = await Talk.begin(t, dialect, { port });
    await until('it is refused', () => talk.count(dialect.refused) === 1);
    t.is(talk.frames.length, 1);
  });
}
