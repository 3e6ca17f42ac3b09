/** Commands over HTTP: what is asked for, how output is answered, and what becomes of a command nobody waits for. */
import test from 'ava';
import { refuse } from '../../src/api/refusal.js';
import type { Command, Commands } from '../../actors/work/commands.js';
import type { ExecEnd, Execution } from '../../src/engines/compute/contract/engine.js';
import { printProcessId } from '../../http/routes/process-id.js';
import { until } from '../e2e/until.js';
import { bearer, IN_DEFAULT, KEYS, NO_COMMANDS, openTestApi, type TestApi } from './support/test-api.js';
import { at, json } from './support/json.js';

const EXEC = `${IN_DEFAULT}/sandboxes/box/exec`;

interface Script {
  readonly output?: readonly (readonly ['stdout' | 'stderr', Uint8Array | string])[];
  readonly end?: ExecEnd;
  /** Output without an end, until the signal. */
  readonly endless?: boolean;
}

interface Seen {
  request?: Command;
  stdin: string;
  ended: boolean;
  aborted: boolean;
}

function scripted(script: Script, seen: Seen): Commands {
  return {
    ...NO_COMMANDS,
    async start(_owner: unknown, request: Command, signal: AbortSignal): Promise<Execution> {
      seen.request = request;
      signal.addEventListener('abort', () => (seen.aborted = true));
      return {
        output: (async function* () {
          for (const [stream, data] of script.output ?? []) yield { stream, data: Buffer.from(data) };
          while (script.endless === true && !signal.aborted) {
            yield { stream: 'stdout', data: Buffer.from('more\n') } as const;
            await new Promise((resolve) => setImmediate(resolve));
          }
        })(),
        ended: Promise.resolve(script.end ?? { end: 'Exited', exitCode: 0, timedOut: false }),
        async write(data) {
          seen.stdin += Buffer.from(data).toString();
        },
        endInput() {
          seen.ended = true;
        },
        signal: () => undefined,
        resize: () => undefined,
      };
    },
  };
}

function fresh(): Seen {
  return { stdin: '', ended: false, aborted: false };
}

function run(api: TestApi, body: object, headers: Record<string, string> = {}, query = ''): Promise<Response> {
  return api.call(`${EXEC}${query}`, { method: 'POST', body: JSON.stringify(body), headers });
}

test('a command gets what was asked for, and its answer has both streams and the code', async (t) => {
  const seen = fresh();
  const script: Script = {
    output: [
      ['stdout', 'a'],
      ['stderr', 'b'],
      ['stdout', 'c'],
    ],
    end: { end: 'Exited', exitCode: 3, timedOut: false },
  };
  const api = await openTestApi(t, { commands: scripted(script, seen) });
  const answer = await run(
    api,
    { command: ['sh', '-c', 'x'], env: { A: '1' }, workingDir: '/tmp', stdin: 'in', timeout: '90s' },
    {},
    '?epoch=4',
  );
  t.is(answer.status, 200);
  const said = await json(answer);
  t.is(at(said, 'stdout'), 'ac');
  t.is(at(said, 'stderr'), 'b');
  t.is(at(said, 'exitCode'), 3);
  t.is(at(said, 'truncated'), false);
  t.deepEqual(seen.request, {
    command: ['sh', '-c', 'x'],
    env: { A: '1' },
    workingDir: '/tmp',
    timeoutSeconds: 90,
    epoch: 4,
    waitMs: 0,
  });
  t.is(seen.stdin, 'in');
  t.true(seen.ended);
});

test('a signal and a timeout are told, and output beyond the bound is cut and said to be', async (t) => {
  const big = Buffer.alloc(9 * 1024 * 1024, 'x');
  const script: Script = { output: [['stdout', big]], end: { end: 'Exited', exitCode: 137, timedOut: true } };
  const api = await openTestApi(t, { commands: scripted(script, fresh()) });
  const said = await json(await run(api, { command: ['x'] }));
  t.is(at(said, 'signal'), 9);
  t.is(at(said, 'timedOut'), true);
  t.is(at(said, 'truncated'), true);
  t.is(String(at(said, 'stdout')).length, 8 * 1024 * 1024);
});

test('frames carry the bytes as they come, and the last one the code', async (t) => {
  const output = [
    ['stdout', 'line\n'],
    ['stderr', Buffer.from([0xff, 0x00])],
  ] as const;
  const api = await openTestApi(t, { commands: scripted({ output }, fresh()) });
  const answer = await run(api, { command: ['x'] }, { accept: 'application/x-ndjson' });
  t.is(answer.headers.get('content-type'), 'application/x-ndjson');
  const lines = (await answer.text()).trimEnd().split('\n');
  t.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    [{ stream: 'stdout', data: 'line\n' }, { stream: 'stderr', data: '/wA=', encoding: 'base64' }, { exitCode: 0 }],
  );
});

test('who leaves ends the command', async (t) => {
  const seen = fresh();
  const api = await openTestApi(t, { commands: scripted({ endless: true }, seen) });
  const leaving = new AbortController();
  const answer = await api.call(EXEC, {
    method: 'POST',
    body: JSON.stringify({ command: ['yes'] }),
    headers: { accept: 'application/x-ndjson' },
    signal: leaving.signal,
  });
  const reader = answer.body?.getReader();
  await reader?.read();
  leaving.abort();
  t.true(await until('the command is ended', () => seen.aborted));
});

test('what cannot be executed, and work that ends under it, are refusals with their reason', async (t) => {
  const missing: ExecEnd = { end: 'NotExecuted', reason: 'CommandNotFound', message: 'no such program: nope' };
  const api = await openTestApi(t, { commands: scripted({ end: missing }, fresh()) });
  const refused = await run(api, { command: ['nope'] });
  t.is(refused.status, 422);
  t.regex(JSON.stringify(await json(refused)), /CommandNotFound/);
  const message = 'true: its arguments and environment are too long';
  const long: ExecEnd = { end: 'NotExecuted', reason: 'CommandNotExecutable', message };
  const tooLong = await run(await openTestApi(t, { commands: scripted({ end: long }, fresh()) }), {
    command: ['true'],
  });
  t.regex(String(at(await json(tooLong), 'fix')), /^Send less/);
  const gone = await openTestApi(t, { commands: scripted({ end: { end: 'WorkGone' } }, fresh()) });
  const ended = await run(gone, { command: ['x'] });
  t.is(ended.status, 409);
  t.is(at(await json(ended), 'reason'), 'SandboxNotRunning');
});

test('a wrong request is refused by its field, before anything runs', async (t) => {
  const seen = fresh();
  const api = await openTestApi(t, { commands: scripted({}, seen) });
  for (const [body, field] of [
    [{}, 'command'],
    [{ command: [] }, 'command'],
    [{ command: ['a'], workingDir: 'relative' }, 'workingDir'],
    [{ command: ['a'], timeout: 'soon' }, 'timeout'],
    [{ command: ['a'], tty: true }, 'tty'],
    [{ command: ['a'], env: { 'A-B': '1' } }, 'env'],
  ] as const) {
    const answer = await run(api, body);
    t.is(answer.status, 422, JSON.stringify(body));
    t.true(JSON.stringify(await json(answer)).includes(`"field":"${field}`), field);
  }
  t.is((await run(api, { command: ['a'], unknown: 1 })).status, 422);
  t.is((await run(api, { command: ['a'], user: 'nobody' })).status, 501);
  t.is((await run(api, { command: ['a'] }, {}, '?epoch=0')).status, 400);
  t.is((await run(api, { command: ['a'] }, bearer(KEYS.viewer))).status, 403);
  t.is((await api.call(EXEC)).status, 405);
  t.is(seen.request, undefined);
});

test('an Idempotency-Key, which would not keep a command from running twice, is refused, and nothing runs', async (t) => {
  const seen = fresh();
  const api = await openTestApi(t, { commands: scripted({}, seen) });
  const keyed = { 'idempotency-key': 'k-1' };
  const answer = await run(api, { command: ['true'] }, keyed);
  t.is(answer.status, 400);
  const said = await json(answer);
  t.regex(String(at(said, 'message')), /Idempotency-Key/);
  t.regex(String(at(said, 'fix')), /…\/processes/);
  const box = `${IN_DEFAULT}/sandboxes/box`;
  for (const [method, path] of [
    ['GET', 'terminal'],
    ['DELETE', 'files?path=/a'],
    ['POST', `processes/${printProcessId({ uid: 'u-1', epoch: 2, id: 'a' })}/signals`],
    ['POST', 'files/archive?path=/a'],
  ] as const) {
    const body = path.endsWith('signals') ? JSON.stringify({ signal: 'SIGHUP' }) : null;
    const refused = await api.call(`${box}/${path}`, { method, body, headers: keyed });
    t.is(refused.status, 400, path);
    t.regex(String(at(await json(refused), 'message')), /Idempotency-Key/, path);
  }
  t.is(seen.request, undefined);
});

test('what the Sandbox is like is told as it is', async (t) => {
  const api = await openTestApi(t, {
    commands: {
      ...NO_COMMANDS,
      start: async () => {
        throw refuse('SandboxStarting', 'it is Starting', { retryAfterSeconds: 1 });
      },
    },
  });
  const answer = await run(api, { command: ['true'] });
  t.is(answer.status, 409);
  t.is(answer.headers.get('retry-after'), '1');
});

test('a drain waits for a command that ends in time, and whoever waits for another is told that it was stopped', async (t) => {
  const begun: (() => void)[] = [];
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const commands: Commands = {
    ...NO_COMMANDS,
    async start(_owner: unknown, { command }: Command, signal: AbortSignal): Promise<Execution> {
      const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      const ends = command[0] === 'short' ? finished : stopped;
      for (const tell of begun) tell();
      return {
        // oxlint-disable-next-line require-yield -- it says nothing.
        output: (async function* () {
          await ends;
        })(),
        ended: ends.then(() =>
          signal.aborted ? { end: 'WorkGone' } : { end: 'Exited', exitCode: 0, timedOut: false },
        ),
        write: async () => undefined,
        endInput: () => undefined,
        signal: () => undefined,
        resize: () => undefined,
      };
    },
  };
  const api = await openTestApi(t, { commands });
  const start = async (word: string, headers: Record<string, string> = {}): Promise<{ answer: Promise<Response> }> => {
    const started = new Promise<void>((resolve) => begun.push(resolve));
    const answer = run(api, { command: [word] }, headers);
    await started;
    return { answer };
  };
  const short = await start('short');
  const long = await start('long');
  const framed = await start('long', { accept: 'application/x-ndjson' });
  const drained = api.http.drain();
  finish();
  t.is((await short.answer).status, 200);
  const answer = await long.answer;
  t.is(answer.status, 503);
  t.is(answer.headers.get('retry-after'), null, 'only its caller knows whether it may be run twice');
  const said = await json(answer);
  t.is(at(said, 'reason'), 'Unavailable');
  t.regex(String(at(said, 'message')), /stopped the command before it finished/);
  const lines = (await (await framed.answer).text()).trim().split('\n');
  t.regex(lines.at(-1) ?? '', /^\{"error":\{"reason":"Unavailable"/);
  await drained;
});
