/** What commands write, over HTTP: how much of it is held for their answers, and how it is written for clients that read, and that do not. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { Command, Commands } from '../../actors/work/commands.js';
import type { Execution } from '../../src/engines/compute/contract/engine.js';
import { openAnswerMemory } from '../../http/answer-memory.js';
import { PART_BYTES, utf8Parts } from '../../http/utf8-parts.js';
import { steady, until } from '../e2e/until.js';
import { at, json } from './support/json.js';
import { bearer, IN_DEFAULT, KEYS, NO_COMMANDS, openTestApi, type TestApi } from './support/test-api.js';

const EXEC = `${IN_DEFAULT}/sandboxes/box/exec`;
const KIB = 1024;
const MIB = 1024 * KIB;

interface Seen {
  /** Commands whose output was taken. */
  written: number;
  /** Lets those end that hold on. */
  finish(): void;
}

/** `BYTES`: a command that writes so many NULs. `hold BYTES`: it ends when it may. */
function writers(): { readonly commands: Commands; readonly seen: Seen } {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const seen: Seen = { written: 0, finish };
  const commands: Commands = {
    ...NO_COMMANDS,
    async start(_owner: unknown, { command }: Command, signal: AbortSignal): Promise<Execution> {
      const [word = '', bytes = word] = command;
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return {
        output: (async function* () {
          const piece = Buffer.alloc(64 * KIB);
          for (let left = Number(bytes); left > 0; left -= piece.length)
            yield { stream: 'stdout', data: piece.subarray(0, left) } as const;
          seen.written += 1;
          if (word === 'hold') await Promise.race([finished, aborted]);
        })(),
        ended: Promise.resolve({ end: 'Exited', exitCode: 0, timedOut: false }),
        write: async () => undefined,
        endInput: () => undefined,
        signal: () => undefined,
        resize: () => undefined,
      };
    },
  };
  return { commands, seen };
}

/** A command that writes these pieces, and ends. */
function writing(pieces: readonly Uint8Array[], told: () => void = () => undefined): Commands {
  return {
    ...NO_COMMANDS,
    start: async () => ({
      output: (async function* () {
        for (const data of pieces) yield { stream: 'stdout', data } as const;
        told();
      })(),
      ended: Promise.resolve({ end: 'Exited', exitCode: 0, timedOut: false }),
      write: async () => undefined,
      endInput: () => undefined,
      signal: () => undefined,
      resize: () => undefined,
    }),
  };
}

function run(api: TestApi, command: readonly string[], init: RequestInit & { key?: string; accept?: string } = {}) {
  const { key = KEYS.owner, accept = 'application/json', signal = null } = init;
  const body = JSON.stringify({ command });
  const headers = { accept, 'content-type': 'application/json', ...bearer(key) };
  return api.call(EXEC, { method: 'POST', body, headers, signal });
}

async function outputOf(answer: Promise<Response> | Response) {
  const whole = await answer;
  const said = await json(whole);
  const { length } = String(at(said, 'stdout'));
  return { status: whole.status, length, truncated: at(said, 'truncated'), warning: whole.headers.get('warning') };
}

/** Until there is room for a command's output. */
function untilWhole(api: TestApi, bytes: number): Promise<boolean> {
  return until(`${bytes} bytes have room`, async () => {
    const { length, truncated } = await outputOf(run(api, [String(bytes)]));
    return length === bytes && truncated === false;
  });
}

/** Asks for a command, and takes nothing of its answer. */
function runAndTakeNothing(t: ExecutionContext, api: TestApi, command: readonly string[]): void {
  const socket = connect(api.http.httpPort, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.pause();
  const body = JSON.stringify({ command });
  const head = `POST ${EXEC} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.owner}\r\ncontent-type: application/json`;
  socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
}

function countSlices(api: TestApi): { count: number } {
  const slices = { count: 0 };
  api.resources.slice = async () => void (slices.count += 1);
  return slices;
}

test('commands of one org hold half of the memory for their answers, small output of more of them is whole all the same, and so is that of other orgs', async (t) => {
  const { commands, seen } = writers();
  const api = await openTestApi(t, { commands, limits: { answerBytes: 2 * MIB } });
  const leaving = new AbortController();
  const holding = [1, 2, 3].map(() => run(api, ['hold', String(MIB)]));
  const left = run(api, ['hold', String(MIB)], { signal: leaving.signal }).catch(() => undefined);
  await until('all have written', () => seen.written === 4);
  const small = await outputOf(run(api, [String(4 * KIB)]));
  t.like(small, { status: 200, length: 4 * KIB, truncated: false, warning: null });
  const large = await outputOf(run(api, [String(512 * KIB)]));
  t.like(large, { status: 200, truncated: true });
  t.true(large.length >= 4 * KIB && large.length < 512 * KIB);
  t.regex(large.warning ?? '', /^299 - "the output was cut: .*application\/x-ndjson"$/);
  const other = await outputOf(run(api, [String(400 * KIB)], { key: KEYS.other }));
  t.like(other, { status: 200, length: 400 * KIB, truncated: false, warning: null });
  leaving.abort();
  await left;
  seen.finish();
  const held = await Promise.all(holding.map(outputOf));
  const bytes = held.reduce((sum, { length }) => sum + length, 0);
  t.true(bytes <= MIB + 3 * 4 * KIB, `${bytes} bytes of one org`);
  await untilWhole(api, 900 * KIB);
});

test('what was kept for a client that has left is free for the next one', async (t) => {
  const { commands, seen } = writers();
  const api = await openTestApi(t, { commands, limits: { answerBytes: 2 * MIB } });
  const leaving = new AbortController();
  const left = run(api, ['hold', String(MIB)], { signal: leaving.signal }).catch(() => undefined);
  await until('it has written', () => seen.written === 1);
  t.true((await outputOf(run(api, [String(512 * KIB)]))).truncated);
  leaving.abort();
  await left;
  await untilWhole(api, 900 * KIB);
  t.pass();
});

test('a long answer of a command is read and written in slices of the event loop', async (t) => {
  let atEnd = 0;
  const pieces = Array.from({ length: 256 }, () => Buffer.alloc(64 * KIB));
  const api = await openTestApi(t, { commands: writing(pieces, () => (atEnd = slices.count)) });
  const slices = countSlices(api);
  t.like(await outputOf(run(api, ['x'])), { length: 8 * MIB, truncated: true, warning: null });
  t.true(atEnd >= 64, `${atEnd} slices for reading 16 MiB`);
  t.true(slices.count - atEnd >= 512, `${slices.count - atEnd} slices for writing 8 MiB`);
});

test('a long answer of a command says what its bytes say, wherever they are cut, also where they are no text', async (t) => {
  const text = Buffer.from('€𝄞é"\\\n\u0001a'.repeat(10_000));
  const bytes = Buffer.concat([text, randomBytes(200 * KIB), Buffer.from([0xf0, 0x9d])]);
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += 997) pieces.push(bytes.subarray(from, from + 997));
  const api = await openTestApi(t, { commands: writing(pieces) });
  const said = await json(await run(api, ['x']));
  t.true(at(said, 'stdout') === bytes.toString('utf8'));
  t.is(at(said, 'stderr'), '');
  t.is(at(said, 'exitCode'), 0);
  t.is(at(said, 'truncated'), false);
});

test('for a client that does not read its answer no more of it is made than the system takes', async (t) => {
  const { commands, seen } = writers();
  const api = await openTestApi(t, { commands, limits: { answerBytes: 16 * MIB } });
  const slices = countSlices(api);
  runAndTakeNothing(t, api, [String(8 * MIB)]);
  await until('its output is read', () => seen.written === 1);
  const made = await steady('the answer waits for its client', () => slices.count);
  t.true(made > 32 && made < 32 + 400, `${made} slices`);
  t.true((await outputOf(run(api, [String(512 * KIB)]))).truncated, 'its bytes are held');
});

test('a client that does not read its answer is cut, and what was kept for it is free', async (t) => {
  const { commands, seen } = writers();
  const api = await openTestApi(t, { commands, limits: { stalledSeconds: 0.5, answerBytes: 16 * MIB } });
  runAndTakeNothing(t, api, [String(8 * MIB)]);
  await until('its output is read', () => seen.written === 1);
  await untilWhole(api, 7 * MIB);
  t.pass();
});

test('frames of a command are made in slices, a bounded part of its output in each', async (t) => {
  const api = await openTestApi(t, { commands: writing([Buffer.alloc(MIB), Buffer.from([0xff])]) });
  const slices = countSlices(api);
  const answer = await run(api, ['x'], { accept: 'application/x-ndjson' });
  const frames = (await answer.text()).trimEnd().split('\n');
  t.deepEqual(JSON.parse(frames.pop() ?? ''), { exitCode: 0 });
  t.deepEqual(JSON.parse(frames.pop() ?? ''), { stream: 'stdout', data: '/w==', encoding: 'base64' });
  t.is(frames.length, MIB / PART_BYTES);
  for (const frame of frames) t.is(String(at(JSON.parse(frame), 'data')).length, PART_BYTES);
  t.true(slices.count > frames.length, `${slices.count} slices`);
});

test('parts of bytes decode to what the whole does, whatever the bytes are', (t) => {
  const alphabet = [0x00, 0x41, 0x80, 0xbf, 0xc3, 0xe2, 0x82, 0xac, 0xed, 0xa0, 0xf0, 0x9f, 0xf4, 0xff];
  for (let round = 0; round < 300; round += 1) {
    const blocks = Array.from({ length: 40 }, () =>
      Buffer.from(Array.from(randomBytes(1 + (round % 7)), (byte) => alphabet[byte % alphabet.length] ?? 0)),
    );
    const parts = [...utf8Parts(blocks)].map((part) => part.toString('utf8')).join('');
    t.is(parts, Buffer.concat(blocks).toString('utf8'));
  }
});

test('an org holds as many bytes for its answers as it leaves free, and what is given back twice counts once', (t) => {
  const memory = openAnswerMemory(1_000);
  const [first, second, third] = [memory.open('acme'), memory.open('acme'), memory.open('globex')];
  t.true(first.hold(300));
  t.true(second.hold(200));
  t.false(second.hold(1));
  t.true(third.hold(250));
  t.false(third.hold(1));
  first.free();
  first.free();
  t.false(first.hold(1), 'its answer is over');
  t.true(second.hold(175));
  t.false(second.hold(1));
});
