import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { deadline } from '../../src/deadline.js';

const never = (): AbortSignal => new AbortController().signal;

test('a wait ends after its time, also when nothing but the wait holds its signal while garbage is collected', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const collecting = setInterval(collect, 5);
  const wait = (): Promise<unknown> => once(deadline(50, never()).signal, 'abort');
  await t.notThrowsAsync(wait());
  clearInterval(collecting);
});

test('a caller that gives up ends the wait for its own reason, at once or later', (t) => {
  const caller = new AbortController();
  const before = deadline(60_000, caller.signal);
  t.false(before.signal.aborted);
  caller.abort(new Error('gone home'));
  t.is((before.signal.reason as Error).message, 'gone home');
  t.true(deadline(60_000, caller.signal).signal.aborted);
});

test('a wait that is over hears nothing any more', (t) => {
  const caller = new AbortController();
  const wait = deadline(60_000, caller.signal);
  wait.clear();
  caller.abort();
  t.false(wait.signal.aborted);
});
