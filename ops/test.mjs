/**
 * `npm test`: makes the clone ready, starts the Postgres that tests talk to, runs the tests, and takes everything down
 * again. Arguments that name test files (`test/ops/x.test.ts`) narrow the run; others go to ava.
 *
 * With `CI_SKIPS=fail` a skipped test counts as failed. Its last line is `N passed, N failed[, N skipped]`.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { HOME, prepare, step } from './prepare.mjs';

/** The run is given up when no test ends for this long; crash tests start the service many times. */
const TEST_TIMEOUT = '8m';
/** Files at once. More than there are cores: most of them wait, for a process, a clock or a disk. */
const CONCURRENCY = Math.max(4, availableParallelism());
const SERVER_MS = 60_000;
const STOP_MS = 30_000;

/** Servers started here, stopped in reverse. */
const helpers = [];
const scratch = mkdtempSync(join(tmpdir(), 'troupe-test-'));

/** Starts `dist/test/support/<program>.js`, which ends with this process; resolves to the URL that it announces. */
const serve = async (program) => {
  const announcement = join(scratch, `${program}.json`);
  const child = spawn(
    process.execPath,
    [join(HOME, 'dist', 'test', 'support', `${program}.js`), String(process.pid), announcement],
    { stdio: ['ignore', 'ignore', 'inherit'], detached: true },
  );
  helpers.push(child);
  const until = performance.now() + SERVER_MS;
  while (!existsSync(announcement)) {
    if (child.exitCode !== null || performance.now() > until) throw new Error(`${program} did not start`);
    await delay(20);
  }
  return JSON.parse(readFileSync(announcement, 'utf8')).url;
};

const stopAll = async () => {
  for (const child of helpers.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })]);
  }
  rmSync(scratch, { recursive: true, force: true });
};

/** Runs ava, shows what it says, and resolves to its counts. */
const runTests = (patterns, environment) =>
  new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [
        join(HOME, 'node_modules', 'ava', 'entrypoints', 'cli.mjs'),
        `--timeout=${TEST_TIMEOUT}`,
        `--concurrency=${CONCURRENCY}`,
        ...patterns,
      ],
      { cwd: HOME, env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    helpers.push(child);
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      process.stdout.write(`${line}\n`);
      for (const [count, mark] of Object.entries(MARKS)) if (mark.test(line)) counts[count] += 1;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...counts, code: code ?? 1 }));
  });

/** How ava begins the line of a test (or of a file that broke). Its own sums leave out what passed when one failed. */
const MARKS = { passed: /^ {2,}✔ /, failed: /^ {2,}✘ /, skipped: /^ {2,}- \[skip\] / };

const main = async () => {
  await prepare();
  // Where `ops/setup-kubectl.sh` puts what it gets.
  const environment = { PATH: `${join(HOME, '.tools', 'bin')}${delimiter}${process.env.PATH ?? ''}` };
  if (!process.env.TEST_DATABASE_URL) {
    environment.TEST_DATABASE_URL = await step('starting Postgres for the tests', () => serve('postgres-server'));
  }
  const given = process.argv.slice(2).map((argument) => argument.replace(/^(\.\/)?(test\/.*)\.ts$/, 'dist/$2.js'));
  const files = given.some((argument) => argument.startsWith('dist/')) ? given : ['dist/test/**/*.test.js', ...given];
  const result = await runTests(files, environment);

  const strict = process.env.CI_SKIPS === 'fail';
  const refused = strict ? result.skipped : 0;
  // A run that ava calls failed has at least one failure, whatever it counted.
  const failed = Math.max(result.failed, result.code === 0 ? 0 : 1) + refused;
  process.stdout.write(
    `\n${result.passed} passed, ${failed} failed${result.skipped - refused > 0 ? `, ${result.skipped} skipped` : ''}\n`,
  );
  return failed > 0 ? 1 : 0;
};

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => void stopAll().then(() => process.exit(1)));
}
let code = 1;
try {
  code = await main();
} catch (error) {
  process.stderr.write(`troupe: ${error instanceof Error ? error.message : String(error)}\n`);
} finally {
  await stopAll();
}
process.exit(code);
