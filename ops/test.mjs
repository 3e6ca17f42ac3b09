/**
 * `npm test`: makes the clone ready, starts the Postgres that tests talk to, runs the tests, and takes everything down
 * again. Arguments that name test files (`test/ops/x.test.ts`) narrow the run; others go to ava.
 *
 * A few files that fail get a second try, alone: what was only unlucky on a busy machine is told from what is broken, and said. With
 * `CI_RETRIES=fail` a test that needed it has failed all the same, with `CI_SKIPS=fail` one that was skipped. At the end stand the
 * slowest files, and how long processors had none at the end; the last line is `N passed, N failed[, N skipped]`.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { HOME, prepare, step } from './prepare.mjs';
import { openScratch } from './scratch.mjs';

/** The run is given up when no test ends for this long; crash tests start the service many times. */
const TEST_TIMEOUT = '8m';
/**
 * Files at once. More than there are cores: most of them wait, for a process, a clock or a disk. All that CI tries besides works more, and so many
 * at once would be too slow for some of them.
 */
const CONCURRENCY = Math.max(process.env.TEST_EXTENT === 'whole' ? 4 : 6, availableParallelism());
/** More files than this are broken, not unlucky. */
const SECOND_TRIES = 5;
/** Files that are shown at the end. */
const SLOWEST = 20;
const SERVER_MS = 60_000;
const STOP_MS = 30_000;

/** Servers started here, stopped in reverse. */
const helpers = [];
/** What this run makes, tests included: they look into TMPDIR. */
const scratch = openScratch();
process.env.TMPDIR = scratch;
/** Where each test file notes what it took (`test/support/file-times.ts`). */
const times = join(scratch, 'times');
process.env.TEST_TIMES = times;
/** With `fail` a skipped test, and one that needed its second try, count as failed. */
const strict = { skips: process.env.CI_SKIPS === 'fail', retries: process.env.CI_RETRIES === 'fail' };

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
const runTests = (patterns, environment, concurrency) =>
  new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [
        '--import',
        pathToFileURL(join(HOME, 'dist', 'test', 'support', 'short-lived.js')).href,
        join(HOME, 'node_modules', 'ava', 'entrypoints', 'cli.mjs'),
        `--timeout=${TEST_TIMEOUT}`,
        `--concurrency=${concurrency}`,
        ...patterns,
      ],
      { cwd: HOME, env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    helpers.push(child);
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const files = new Set();
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      process.stdout.write(`${line}\n`);
      for (const [count, mark] of Object.entries(MARKS)) if (mark.test(line)) counts[count] += 1;
      const file = fileOf(line);
      if (file !== undefined) files.add(file);
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...counts, files, code: code ?? 1 }));
  });

/** How ava begins the line of a test (or of a file that broke). Its own sums leave out what passed when one failed. */
const MARKS = { passed: /^ {2,}✔ /, failed: /^ {2,}✘ /, skipped: /^ {2,}- \[skip\] / };

/**
 * The file of a test that failed, or that is still waited for at the end, or whose process ended before its tests did. Its path begins each
 * title, behind that of what it shares.
 */
const fileOf = (line) => {
  const broken = /^ {2,}✘ (\S+\.test\.js) exited /.exec(line);
  if (broken !== null) return broken[1];
  const pending = /^ *\d+ tests? (?:was|were) pending in (\S+)$/.exec(line);
  if (pending !== null) return pending[1];
  const title = /^ {2,}✘ (?:\[fail\]: )?(?:together › \S+ › )?(.*)$/.exec(line)?.[1];
  const words = title?.split(' › ') ?? [];
  for (let length = words.length; length > 0; length -= 1) {
    const file = `${join('dist', 'test', ...words.slice(0, length))}.test.js`;
    if (existsSync(join(HOME, file))) return file;
  }
  return undefined;
};

/** The files that failed once more, alone, when they are few. The counts are then those of both runs; in CI those of the first. */
const secondTry = async (first, environment) => {
  if (first.code === 0 || first.files.size === 0 || first.files.size > SECOND_TRIES) return first;
  process.stdout.write(`\nA second try, alone: ${[...first.files].join(', ')}\n`);
  const second = await runTests([...first.files], environment, 1);
  if (second.code !== 0) return strict.retries ? first : { ...first, failed: Math.max(second.failed, 1) };
  for (const file of first.files) process.stdout.write(`needed a second try: ${file}\n`);
  return strict.retries ? first : { ...first, passed: first.passed + first.failed, failed: 0, code: 0 };
};

/** What each test file has noted until now. */
const notes = () =>
  existsSync(times)
    ? readFileSync(times, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : [];

const source = (file) => file.replace(/^dist\/(test|bundled)\//, 'test/').replace(/\.js$/, '.ts');

/** How long at the end processors had no file, and the one that ended last: `ava.config.mjs` says which files begin first. */
const tailOf = (files) => {
  const [last, ...others] = files.toSorted((a, b) => b.ended - a.ended);
  const whileAllHadOne = others[availableParallelism() - 2]?.ended ?? last?.ended;
  return last && { file: source(last.file), seconds: (last.ended - whileAllHadOne) / 1000 };
};

/** The files that took the longest, each with all that it waited for. */
const tellSlowest = (tail) => {
  const files = notes();
  if (files.length < 2) return;
  const sum = (of) => files.reduce((all, file) => all + file[of], 0).toFixed(0);
  process.stdout.write(`\nThe slowest of ${files.length} files: seconds from start to end (all: ${sum('seconds')}), `);
  process.stdout.write(`seconds of processor time, with the processes that it waited for (all: ${sum('processor')})\n`);
  for (const { file, seconds, processor } of files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)) {
    process.stdout.write(`${seconds.toFixed(1).padStart(8)} ${processor.toFixed(1).padStart(8)}  ${source(file)}\n`);
  }
  if (tail === undefined) return;
  process.stdout.write(
    `For ${tail.seconds.toFixed(1)} s at the end not every processor had a file; last was ${tail.file}\n`,
  );
};

/** The pattern of all tests. Only now what bundles them is there. */
const bundled = async () => (await import('./test-bundles.mjs')).bundleTests();

const main = async () => {
  await prepare();
  // Where `ops/setup-kubectl.sh` puts what it gets.
  const environment = { PATH: `${join(HOME, '.tools', 'bin')}${delimiter}${process.env.PATH ?? ''}` };
  if (!process.env.TEST_DATABASE_URL) {
    environment.TEST_DATABASE_URL = await step('starting Postgres for the tests', () => serve('postgres-server'));
  }
  const given = process.argv.slice(2).map((argument) => argument.replace(/^(\.\/)?(test\/.*)\.ts$/, 'dist/$2.js'));
  const files = given.some((argument) => argument.startsWith('dist/'))
    ? given
    : [await step('bundling the tests', bundled), ...given];
  const first = await runTests(files, environment, CONCURRENCY);
  const tail = tailOf(notes());
  const result = await secondTry(first, environment);

  tellSlowest(tail);
  const refused = strict.skips ? result.skipped : 0;
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
