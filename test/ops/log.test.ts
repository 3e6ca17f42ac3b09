import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import test from 'ava';
import { type Log, plainLine } from '../../src/app/log.js';
import { openMetrics } from '../../src/app/metrics.js';

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
  const script = `import('${new URL('../../src/app/log.js', import.meta.url).href}').then(({ openLog }) => openLog('info').log.warn({ port: 1 }, 'late'))`;
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const { level, time, msg, port } = JSON.parse(stderr) as Record<string, unknown>;
  t.deepEqual([level, msg, port], ['warn', 'late', 1]);
  t.regex(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('a fault that was survived is logged with the part of the service that it is of', (t) => {
  const lines: unknown[] = [];
  const log = { warn: (fields: object, said: string) => lines.push({ ...fields, said }) } as unknown as Log;
  const pool = { totalCount: 0, idleCount: 0, waitingCount: 0 };
  const { observe } = openMetrics({ log, lostLines: () => 0, version: '1', pool, active: () => true });
  observe.problem('the timers', 'no answer');
  t.deepEqual(lines, [{ message: 'no answer', said: 'a problem of the timers' }]);
});

const LOG = new URL('../../src/app/log.js', import.meta.url).href;
const OUTPUT_ERRORS = new URL('../../src/output-errors.js', import.meta.url).href;
/** Logs more than waits in memory, as a service does over a time, and says on standard output that it lives. */
const TALKS = `
const { openLog } = await import('${LOG}');
const { ignoreOutputErrors } = await import('${OUTPUT_ERRORS}');
ignoreOutputErrors();
const { log, lostLines } = openLog('info');
for (let n = 0; n < 40; n += 1) {
  for (let line = 0; line < 100; line += 1) log.info('x'.repeat(500));
  console.error('said by the console');
  await new Promise((resolve) => setTimeout(resolve, 1));
}
process.stdout.write(String(lostLines()));
`;

/** Its exit code, and how many lines it lost. */
async function talk(stderr: 'pipe' | number): Promise<readonly [code: unknown, lost: number]> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', TALKS], { stdio: ['ignore', 'pipe', stderr] });
  // Its reader is gone.
  child.stderr?.destroy();
  const exit = once(child, 'exit');
  const said = child.stdout === null ? '' : await text(child.stdout);
  const [code] = (await exit) as [unknown];
  return [code, Number(said)];
}

test('a process lives and ends well though nothing takes its log: a full disk, a reader that has gone', async (t) => {
  const full = openSync('/dev/full', 'w');
  t.teardown(() => closeSync(full));
  for (const stderr of [full, 'pipe'] as const) {
    const [code, lost] = await talk(stderr);
    t.is(code, 0, `${stderr}`);
    t.true(lost > 0, `${stderr}`);
  }
});

test('what does not fit in a full pipe waits, and is dropped line by line beyond a bound, with the rest whole', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', TALKS.replaceAll('console.error', 'void ')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Nothing reads the log before the program has logged all.
  const lost = Number((await once(child.stdout, 'data'))[0]);
  t.true(lost > 0);
  const lines = (await text(child.stderr)).split('\n');
  t.is(lines.pop(), '');
  t.is(lines.length + lost, 4_000);
  for (const line of lines) t.is((JSON.parse(line) as { msg: string }).msg.length, 500);
});
