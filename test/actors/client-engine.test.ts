/** What an engine refuses, as a client gets it. */
import test from 'ava';
import { clientEngine } from '../../actors/work/client-engine.js';
import type { ErrorCode } from '../../src/api/errors/codes.js';
import { RefusalError } from '../../src/api/refusal.js';
import type { ComputeEngine, ExecOrder } from '../../src/engines/compute/contract/engine.js';
import { startExec } from '../../src/engines/compute/embedded/exec.js';
import { ConnectionEnded, EngineRefusal, type RefusalCode } from '../../src/engines/compute/shared/refusal.js';

const { signal } = new AbortController();
const ORDER: ExecOrder = { work: 'w', command: ['true'], env: {}, workingDir: '/' };

/** All that clients do inside, on an engine that fails with this. */
function failing(error: Error): Readonly<Record<string, () => Promise<unknown>>> {
  const fail = async (): Promise<never> => {
    throw error;
  };
  const lines = async function* (): AsyncGenerator<never> {
    yield await fail();
  };
  const inside = { exec: fail, startProcess: fail, processes: fail, writeProcess: fail, signalProcess: fail };
  const engine = clientEngine({ ...inside, connect: fail, logs: lines } as unknown as ComputeEngine);
  return {
    exec: () => engine.exec(ORDER, signal),
    script: () => engine.exec(ORDER, signal, 'AnyTimes'),
    startProcess: () => engine.startProcess({ ...ORDER, id: 'p' }, signal),
    processes: () => engine.processes('w', signal),
    writeProcess: () => engine.writeProcess('w', 'p', { data: Buffer.from('x'), end: false }, signal),
    signalProcess: () => engine.signalProcess('w', 'p', 'SIGTERM', signal),
    connect: () => engine.connect('w', 80, signal),
    logs: () => engine.logs('w', { container: 'main', follow: false }, signal)[Symbol.asyncIterator]().next(),
  };
}

const CODES: readonly (readonly [RefusalCode, ErrorCode])[] = [
  ['Unavailable', 'Unavailable'],
  ['StaleEpoch', 'Unavailable'],
  ['Busy', 'TooManyRequests'],
  ['Invalid', 'Invalid'],
];

test('whatever a client does inside, what the engine refuses is no fault of the service, and does not name other work', async (t) => {
  for (const [code, expected] of CODES) {
    for (const [name, act] of Object.entries(failing(new EngineRefusal(code, 'other-work')))) {
      const { refusal } = await t.throwsAsync<RefusalError>(act, { instanceOf: RefusalError }, `${name} ${code}`);
      t.is(refusal.code, expected, name);
      t.is(refusal.message.includes('other-work'), code === 'Busy' || code === 'Invalid', name);
    }
  }
});

test('a client is not told to try again by itself what may have been carried out, such as a command', async (t) => {
  for (const [name, act] of Object.entries(failing(new ConnectionEnded()))) {
    const { refusal } = await t.throwsAsync<RefusalError>(act, { instanceOf: RefusalError }, name);
    t.is(refusal.code, 'Unavailable', name);
    const once = ['exec', 'startProcess', 'writeProcess'].includes(name);
    t.is(refusal.retryAfterSeconds, once ? 'Never' : 1, name);
  }
});

test('what no runner has got is tried again by clients themselves, a command too', async (t) => {
  const nowhere = { path: '/nowhere/runner', version: 1, epoch: 1 };
  const exec = (order: ExecOrder): Promise<unknown> => startExec(nowhere, order, signal);
  const engine = clientEngine({ exec } as unknown as ComputeEngine);
  const { refusal } = await t.throwsAsync<RefusalError>(async () => engine.exec(ORDER, signal), {
    instanceOf: RefusalError,
  });
  t.is(refusal.code, 'Unavailable');
  t.is(refusal.retryAfterSeconds, 1);
});

test('a fault of ours and the end of the caller stay what they are', async (t) => {
  for (const error of [new TypeError('ours'), new DOMException('late', 'TimeoutError')]) {
    for (const act of Object.values(failing(error))) t.is(await t.throwsAsync(act, { any: true }), error);
  }
});
