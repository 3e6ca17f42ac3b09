/** What counts as activity inside: a command as long as it runs, of a terminal what is typed, of a port what its user tells. */
import { PassThrough } from 'node:stream';
import test from 'ava';
import { openCommands } from '../../actors/work/commands.js';
import type { AttachDeps } from '../../actors/work/attach.js';
import { encodeObject } from '../../src/api/encode.js';
import { RefusalError } from '../../src/api/refusal.js';
import type { ExecEnd, Execution } from '../../src/engines/compute/contract/engine.js';

const BOX = { org: 'acme', kind: 'Sandbox', project: 'default', name: 'box' };

function object(kind: string, name: string, uid: string, status: object): Buffer {
  const metadata = { name, namespace: 'default', uid, generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' };
  return encodeObject({ apiVersion: 'svc.dev/v1', kind, metadata, spec: {}, status });
}

function open() {
  const said: string[] = [];
  const asked: unknown[] = [];
  let finish: (end: ExecEnd) => void = () => undefined;
  const execution = {
    output: (async function* () {})(),
    ended: new Promise<ExecEnd>((resolve) => (finish = resolve)),
    write: async () => undefined,
    endInput: () => undefined,
    signal: () => undefined,
    resize: () => undefined,
  } satisfies Execution;
  const engine = {
    exec: async (order: unknown) => {
      asked.push(order);
      return { outcome: 'Started', execution };
    },
    processes: async () => [],
    signalProcess: async (...all: unknown[]) => {
      asked.push(all.slice(0, 3));
      return 'Sent';
    },
    connect: async () => ({ outcome: 'Connected', stream: new PassThrough() }),
  };
  const plan = { main: { name: 'main', command: [], env: [] }, secrets: [], sidecars: [], workingDir: '/workspace' };
  const deps = {
    kinds: [{ kind: 'Sandbox', workPlan: () => plan }],
    engine,
    activity: {
      begin() {
        said.push('begin');
        return () => void said.push('end');
      },
      touch: () => void said.push('touch'),
    },
    now: () => 1,
    read: async ({ kind }: { kind: string }) =>
      kind === 'Attempt'
        ? object('Attempt', 'box-2', 'a-1', {})
        : object('Sandbox', 'box', 's-1', { phase: 'Running', attempt: { name: 'box-2', epoch: 2 } }),
  } as unknown as AttachDeps;
  return { commands: openCommands(deps), said, asked, finish: (end: ExecEnd) => finish(end) };
}

const { signal } = new AbortController();
const DONE: ExecEnd = { end: 'Exited', exitCode: 0, timedOut: false };

test('a command is activity until it has ended', async (t) => {
  const { commands, said, finish } = open();
  await commands.start(BOX, { command: ['true'], env: {} }, signal);
  t.deepEqual(said, ['begin']);
  finish(DONE);
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(said, ['begin', 'end']);
});

test('an open terminal is none, and each thing that is typed into it is', async (t) => {
  const { commands, said, asked, finish } = open();
  const terminal = { columns: 80, rows: 24 };
  const execution = await commands.start(BOX, { command: ['sh'], env: { A: '1' }, terminal }, signal);
  t.like(asked[0], { work: 'a-1.2', terminal, workingDir: '/workspace', env: { A: '1' } });
  said.length = 0;
  execution.resize(terminal);
  t.deepEqual(said, []);
  await execution.write(Buffer.from('x'));
  t.deepEqual(said, ['touch']);
  finish(DONE);
  t.deepEqual(await execution.ended, DONE);
  t.deepEqual(said, ['touch']);
});

test('a connection to a port is activity as its user says', async (t) => {
  const { commands, said } = open();
  const connection = await commands.connect(BOX, { port: 80 }, signal);
  said.length = 0;
  if (connection.outcome !== 'Connected') throw new Error('it is not connected');
  connection.touch();
  connection.begin()();
  t.deepEqual(said, ['touch', 'begin', 'end']);
});

test('a handle of another incarnation at the same epoch reaches nothing', async (t) => {
  const { commands, asked } = open();
  await commands.signalProcess(BOX, { uid: 's-1', epoch: 2, id: 'p' }, 'SIGTERM', signal);
  t.deepEqual(asked, [['a-1.2', 'p', 'SIGTERM']]);
  const error = await t.throwsAsync(commands.signalProcess(BOX, { uid: 's-0', epoch: 2, id: 'p' }, 'SIGTERM', signal), {
    instanceOf: RefusalError,
  });
  t.is(error?.refusal.code, 'NotFound');
  t.is(asked.length, 1);
});
