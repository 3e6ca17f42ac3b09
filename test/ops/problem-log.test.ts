/** A problem that comes again and again is one line in ten seconds. */
import test from 'ava';
import { openProblemLog } from '../../src/app/problem-log.js';

test('the same problem is written once in ten seconds, and then with how often it was left out; others are not held up', (t) => {
  const lines: unknown[] = [];
  let now = 0;
  const problem = openProblemLog({ warn: (fields, text) => lines.push([fields, text]) }, () => now);
  for (; now < 5_000; now += 500) problem('the timers', 'Redis is away');
  problem('the timers', 'another');
  t.deepEqual(lines, [
    [{ message: 'Redis is away' }, 'a problem of the timers'],
    [{ message: 'another' }, 'a problem of the timers'],
  ]);
  now = 10_000;
  problem('the timers', 'Redis is away');
  t.deepEqual(lines[2], [{ message: 'Redis is away', leftOut: 9 }, 'a problem of the timers']);
  now = 10_001;
  problem('the timers', 'Redis is away');
  t.is(lines.length, 3);
  for (let n = 0; n < 300; n += 1) problem('the webhooks', `no ${n}`);
  problem('the timers', 'Redis is away');
  t.is(lines.length, 304, 'what is forgotten is written again');
});
