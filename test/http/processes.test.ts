/** Detached processes over HTTP: their ids, their input and output, and what becomes of a handle whose epoch is over. */
import test from 'ava';
import * as fc from 'fast-check';
import type { Commands } from '../../actors/work/commands.js';
import { notRunning } from '../../actors/work/attach.js';
import { refuse } from '../../src/api/refusal.js';
import type { LogLine, ProcessState } from '../../src/engines/compute/contract/engine.js';
import { parseProcessId, printProcessId } from '../../http/routes/process-id.js';
import { bearer, IN_DEFAULT, KEYS, NO_COMMANDS, openTestApi, type TestApi } from './support/test-api.js';
import { at, json, list, text } from './support/json.js';

const PROCESSES = `${IN_DEFAULT}/sandboxes/box/processes`;

interface Box {
  readonly commands: Commands;
  readonly all: Map<string, ProcessState>;
  readonly started: Parameters<Commands['startProcess']>[1][];
  readonly input: Buffer[];
  readonly signals: string[];
  closed: boolean;
  /** Bytes that are taken before it is full. */
  room: number;
  epoch: number;
  lines: readonly LogLine[];
}

/** One Sandbox at an epoch, as the actors behind HTTP answer for it. */
function openBox(): Box {
  const all = new Map<string, ProcessState>();
  const demand = (epoch: number | undefined): void => {
    if (epoch !== undefined && epoch !== box.epoch) {
      throw notRunning({ kind: 'Sandbox', name: 'box' }, `epoch ${epoch} is over`, box.epoch);
    }
  };
  const alive = (id: string): boolean => all.has(id) && all.get(id)?.ended === undefined;
  const box: Box = {
    ...{ all, started: [], input: [], signals: [], closed: false, room: Number.MAX_SAFE_INTEGER, epoch: 2, lines: [] },
    commands: {
      ...NO_COMMANDS,
      async startProcess(_owner, process) {
        demand(process.epoch);
        if (process.command[0] === 'none') {
          const started = {
            outcome: 'NotExecuted',
            reason: 'CommandNotFound',
            message: 'no such program: none',
          } as const;
          return { uid: 'u-1', epoch: box.epoch, started };
        }
        box.started.push(process);
        const state = all.get(process.id) ?? { id: process.id, command: process.command, startedAt: 1_700_000_000_000 };
        all.set(process.id, state);
        return { uid: 'u-1', epoch: box.epoch, started: { outcome: 'Started', process: state } };
      },
      async processes(_owner, epoch) {
        demand(epoch);
        return { uid: 'u-1', epoch: box.epoch, processes: [...all.values()] };
      },
      async writeProcess(_owner, { id, epoch, uid }, { data, end }) {
        demand(epoch);
        if (uid !== 'u-1') throw refuse('NotFound', 'there is no such process');
        if (!alive(id)) return 'Gone';
        if (data.length > box.room) return 'Full';
        box.room -= data.length;
        box.input.push(Buffer.from(data));
        if (end) box.closed = true;
        return 'Taken';
      },
      async signalProcess(_owner, { id, epoch }, name) {
        demand(epoch);
        if (!alive(id)) return 'Gone';
        box.signals.push(name);
        return 'Sent';
      },
      async readProcess(_owner, { epoch }) {
        demand(epoch);
        return (async function* () {
          yield* box.lines;
        })();
      },
    },
  };
  return box;
}

function post(api: TestApi, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return api.call(path, { method: 'POST', body: JSON.stringify(body), headers });
}

async function begin(api: TestApi, body: object = {}, headers: Record<string, string> = {}): Promise<string> {
  const answer = await post(api, PROCESSES, { command: ['sleep', '1'], ...body }, headers);
  const said = await json(answer);
  if (answer.status !== 201) throw new Error(JSON.stringify(said));
  return text(said, 'id');
}

test('an id names its object, its epoch and the process, and what was not printed by us is none', (t) => {
  const id = { uid: 'b1946ac9-1111-4222-8333-444455556666', epoch: 17, id: '0123456789abcdef' };
  t.deepEqual(parseProcessId(printProcessId(id)), id);
  t.regex(printProcessId(id), /^[A-Za-z0-9_-]{1,100}$/);
  fc.assert(
    fc.property(fc.string({ maxLength: 300 }), (said) => {
      const parsed = parseProcessId(said);
      return parsed === undefined || printProcessId(parsed) === said;
    }),
  );
  fc.assert(
    fc.property(fc.string({ maxLength: 100 }), (inner) => {
      const said = Buffer.from(inner).toString('base64url');
      const parsed = parseProcessId(said);
      return parsed === undefined || printProcessId(parsed) === said;
    }),
  );
});

test('a process is started with what was asked, listed, read, signalled, and shows its end', async (t) => {
  const box = openBox();
  const api = await openTestApi(t, { commands: box.commands });
  const asked = { command: ['sh', '-c', 'x'], env: { A: '1' }, workingDir: '/tmp', timeout: '90s' };
  const answer = await post(api, `${PROCESSES}?epoch=2`, asked);
  t.is(answer.status, 201);
  const made = await json(answer);
  const [started] = box.started;
  t.like(started, { command: asked.command, env: { A: '1' }, workingDir: '/tmp', timeoutSeconds: 90, epoch: 2 });
  t.regex(started?.id ?? '', /^[a-z0-9]{1,32}$/);
  t.is(at(made, 'running'), true);
  t.is(at(made, 'startTime'), '2023-11-14T22:13:20.000Z');
  const id = text(made, 'id');
  t.deepEqual(list(await json(api.call(PROCESSES)), 'items'), [made]);
  t.deepEqual(await json(api.call(`${PROCESSES}/${id}`)), made);
  const signalled = await post(api, `${PROCESSES}/${id}/signals`, { signal: 'SIGUSR1' });
  t.is(signalled.status, 200);
  t.deepEqual(box.signals, ['SIGUSR1']);
  const state = box.all.get(started?.id ?? '');
  if (!state) throw new Error('it is not there');
  box.all.set(state.id, { ...state, ended: { at: 1_700_000_001_000, exitCode: 143, timedOut: false } });
  const ended = await json(api.call(`${PROCESSES}/${id}`));
  t.like(ended, { running: false, exitCode: 143, signal: 15, endTime: '2023-11-14T22:13:21.000Z' });
  t.is((await post(api, `${PROCESSES}/${id}/signals`, { signal: 'SIGTERM' })).status, 409);
  const late = await post(api, `${PROCESSES}/${id}/stdin`, 'x');
  t.is(late.status, 409);
  t.regex(String(at(await json(late), 'fix')), /start another one/);
});

test('a handle of an epoch that is over is told the present one, and one of another object is not found', async (t) => {
  const box = openBox();
  const api = await openTestApi(t, { commands: box.commands });
  const id = await begin(api);
  box.epoch = 3;
  for (const answer of [
    await api.call(`${PROCESSES}/${id}`),
    await api.call(`${PROCESSES}/${id}/output`),
    await post(api, `${PROCESSES}/${id}/stdin`, 'x'),
    await post(api, `${PROCESSES}/${id}/signals`, { signal: 'SIGTERM' }),
    await api.call(`${PROCESSES}?epoch=2`),
  ]) {
    t.is(answer.status, 409);
    const said = await json(answer);
    t.is(at(said, 'reason'), 'SandboxNotRunning');
    t.is(at(said, 'details.epoch'), 3);
  }
  const parsed = parseProcessId(id);
  const foreign = printProcessId({ uid: 'u-2', epoch: 3, id: parsed?.id ?? '' });
  t.is((await api.call(`${PROCESSES}/${foreign}`)).status, 404);
  t.is((await api.call(`${PROCESSES}/${foreign}/output`)).status, 404);
  t.is((await post(api, `${PROCESSES}/${foreign}/stdin`, 'x')).status, 404);
});

test('input is taken in parts, its end is told behind all of it, and a process that does not read is said to', async (t) => {
  const box = openBox();
  const api = await openTestApi(t, { commands: box.commands });
  const id = await begin(api);
  const send = (body: string, query = ''): Promise<Response> =>
    api.call(`${PROCESSES}/${id}/stdin${query}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/octet-stream' },
    });
  const big = 'x'.repeat(200_000);
  t.deepEqual(await json(send(big, '?end=false')), { written: big.length });
  t.is(Buffer.concat(box.input).toString(), big);
  t.false(box.closed);
  box.room = 0;
  const full = await send('more');
  t.is(full.status, 429);
  t.is(full.headers.get('retry-after'), '1');
  t.is(at(await json(full), 'reason'), 'StdinBackpressure');
  box.room = 70_000;
  t.deepEqual(await json(send(big, '?end=true')), { written: 65_536 });
  t.false(box.closed);
  box.room = 100;
  t.deepEqual(await json(send('last', '?end=true')), { written: 4 });
  t.true(box.closed);
  t.is((await send('', '?end=true')).status, 200);
  t.is((await send('x', '?ende=true')).status, 400);
});

test('input that comes with the start is all of it, and a process that does not take it does not go on', async (t) => {
  const box = openBox();
  const api = await openTestApi(t, { commands: box.commands });
  await begin(api, { stdin: 'whole' });
  t.is(Buffer.concat(box.input).toString(), 'whole');
  t.true(box.closed);
  box.room = 2;
  const answer = await post(api, PROCESSES, { command: ['sleep', '1'], stdin: 'too much' });
  t.is(answer.status, 429);
  t.deepEqual(box.signals, ['SIGKILL']);
});

test('output comes as frames, and the last one says how it stands', async (t) => {
  const box = openBox();
  const api = await openTestApi(t, { commands: box.commands });
  const id = await begin(api);
  box.lines = [
    { stream: 'stdout', time: 1_700_000_000_000, data: Buffer.from('line\n') },
    { stream: 'stderr', time: 1_700_000_000_001, data: Buffer.from([0xff]) },
  ];
  const frames = async (): Promise<unknown[]> => {
    const answer = await api.call(`${PROCESSES}/${id}/output?follow=true`);
    t.is(answer.headers.get('content-type'), 'application/x-ndjson');
    return (await answer.text())
      .trimEnd()
      .split('\n')
      .map((each): unknown => JSON.parse(each));
  };
  t.deepEqual(await frames(), [
    { stream: 'stdout', data: 'line\n', time: '2023-11-14T22:13:20.000Z' },
    { stream: 'stderr', data: '/w==', encoding: 'base64', time: '2023-11-14T22:13:20.001Z' },
    { running: true },
  ]);
  const state = [...box.all.values()][0];
  if (state) box.all.set(state.id, { ...state, ended: { at: 1_700_000_001_000, exitCode: 3, timedOut: true } });
  t.deepEqual((await frames()).at(-1), { exitCode: 3, timedOut: true });
});

test('a start that is sent twice under one key starts once, and another one under it is refused', async (t) => {
  const box = openBox();
  const api = await openTestApi(t, { commands: box.commands });
  const keyed = { 'idempotency-key': 'k-1' };
  const first = await begin(api, { stdin: 'once' }, keyed);
  const again = await post(api, PROCESSES, { command: ['sleep', '1'], stdin: 'once' }, keyed);
  t.is(again.status, 201);
  t.is(again.headers.get('idempotency-replayed'), 'true');
  t.is(text(await json(again), 'id'), first);
  t.is(box.all.size, 1);
  t.is(Buffer.concat(box.input).toString(), 'once');
  const other = await post(api, PROCESSES, { command: ['sleep', '2'] }, keyed);
  t.is(other.status, 422);
  t.is(at(await json(other), 'reason'), 'IdempotencyKeyReused');
  const theirs = await post(api, PROCESSES, { command: ['sleep', '1'], stdin: 'once' }, { 'idempotency-key': 'k-2' });
  t.is(theirs.status, 201);
  t.is(box.all.size, 2);
});

test('wrong requests are refused by their field, and nothing is started or signalled', async (t) => {
  const box = openBox();
  const api = await openTestApi(t, { commands: box.commands });
  const id = await begin(api);
  box.started.length = 0;
  for (const body of [
    {},
    { command: [] },
    { command: ['a'], tty: true },
    { command: ['a'], more: 1 },
    { command: 'a' },
  ]) {
    t.is((await post(api, PROCESSES, body)).status, 422, JSON.stringify(body));
  }
  const missing = await post(api, PROCESSES, { command: ['none'] });
  t.is(missing.status, 422);
  t.regex(JSON.stringify(await json(missing)), /CommandNotFound/);
  for (const body of [
    {},
    { signal: 'SIGWINCH' },
    { signal: 9 },
    { signal: 'sigterm' },
    { signal: 'SIGTERM', pid: 1 },
  ]) {
    t.is((await post(api, `${PROCESSES}/${id}/signals`, body)).status, 422, JSON.stringify(body));
  }
  for (const unknown of [
    'x',
    'a'.repeat(300),
    `${id}x`,
    '..',
    '%00',
    printProcessId({ uid: 'u-1', epoch: 2, id: 'other' }),
  ]) {
    t.is((await api.call(`${PROCESSES}/${unknown}`)).status, 404, unknown);
  }
  t.is((await api.call(`${PROCESSES}/${id}/more`)).status, 404);
  t.is((await api.call(`${PROCESSES}/${id}/output/more`)).status, 404);
  t.is((await api.call(`${PROCESSES}/${id}/stdin`)).status, 405);
  t.is((await api.call(`${PROCESSES}/${id}`, { method: 'DELETE' })).status, 405);
  t.is((await api.call(`${PROCESSES}/${id}?epoch=9`)).status, 400);
  t.is((await api.call(PROCESSES, { headers: bearer(KEYS.viewer) })).status, 403);
  t.is((await post(api, PROCESSES, { command: ['a'] }, bearer(KEYS.viewer))).status, 403);
  t.is(box.started.length, 0);
  t.is(box.signals.length, 0);
});
