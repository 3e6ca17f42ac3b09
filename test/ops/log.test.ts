import test from 'ava';
import { plainLine } from '../../ops/log.js';

test('a person at a terminal reads lines, with the fields after the words', (t) => {
  const line = JSON.stringify({ level: 40, time: 0, pid: 7, port: 5432, by: 'x', msg: 'it is late' });
  t.regex(plainLine(line), /^\d\d:\d\d:\d\d warn {2}it is late port=5432 by=x\n$/);
});
