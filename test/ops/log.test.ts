import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { plainLine } from '../../src/app/log.js';

test('a person at a terminal reads lines, with the fields after the words', (t) => {
  const line = JSON.stringify({
    level: 'warn',
    time: '2026-01-02T03:04:05.678Z',
    pid: 7,
    port: 5432,
    by: 'x',
    msg: 'it is late',
  });
  t.regex(plainLine(line), /^\d\d:\d\d:\d\d warn {2}it is late port=5432 by=x\n$/);
});

test('a line for machines has the name of its level and an RFC 3339 time', async (t) => {
  const script = `import('${new URL('../../src/app/log.js', import.meta.url).href}').then(({ openLog }) => openLog('info').warn({ port: 1 }, 'late'))`;
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const { level, time, msg, port } = JSON.parse(stderr) as Record<string, unknown>;
  t.deepEqual([level, msg, port], ['warn', 'late', 1]);
  t.regex(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});
