/**
 * `npm run test:mutation [-- --mutants 300 --seed 1 --minutes 30 --workers 2 --only src/money --postgres]`: puts small faults into the pure code, one at a time,
 * and says how many of them a test notices. What no test notices is listed with its place: a missing test, or a fault that is none.
 *
 * A seeded sample, so that two runs of the same code with the same seed try the same faults. Each is tried in a copy of the build, by the
 * pure tests that run its place, the nearest first; the first that fails is enough. Each test file runs once without a fault before that:
 * one that fails is left out, and V8's coverage says which places it runs. A fault in a place that no test runs lives without a try.
 * With `--postgres` a server is started for the run, and there are faults in what the commit does about money as well, tried by the tests of
 * the ledger in storage. It measures tests, not code: no part of `npm test`.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readCoverage, wasRun } from './mutation/coverage.mjs';
import { mutantsOf } from './mutation/mutants.mjs';
import { HOME, prepare, step } from './prepare.mjs';
import { openScratch } from './scratch.mjs';

const { values: options } = parseArgs({
  options: {
    mutants: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '30' },
    workers: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
    postgres: { type: 'boolean', default: false },
  },
});

/** The pure code. */
const PURE = [
  /^src\/(money|api)\//,
  /^src\/kinds\/[^/]+\/(machine|reconcile|slots|ended|ending|placements|turns)\.js$/,
  /^src\/kinds\/(attempts|single-attempt)\//,
  /^actors\/(mailbox|hub\/ring)\.js$/,
];
/** What the commit does about money, and the tests that need nothing for it but a Postgres. */
const LEDGER = /^storage\/(ledger\/|commit\/admit-money)/;
const LEDGER_TESTS = /^test\/storage\/ledger/;
/** Tests that need a server, and so cannot be had for each fault. */
const IMPURE = /^(storage|http|src\/app)\/|^test\/(e2e|support\/postgres)/;
/** Test files that a fault is tried by. What runs as a module is loaded counts as run by all that load it. */
const MOST_TESTS = 16;
/** A fault that makes its tests run longer is noticed. */
const TRY_MS = 60_000;

const dist = join(HOME, 'dist');
const filesBelow = (directory) =>
  readdirSync(directory, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.js'));

/** What each built file imports of ours. */
const readImports = (files) => {
  const importsOf = new Map();
  for (const file of files) {
    const found = [...readFileSync(join(dist, file), 'utf8').matchAll(/(?:from|import) ['"](\.[^'"]+)['"]/g)];
    importsOf.set(
      file,
      found.map(([, path]) => resolve('/', dirname(file), path).slice(1)),
    );
  }
  return importsOf;
};

/** Everything that a file imports, by distance. */
const distancesFrom = (file, importsOf) => {
  const distances = new Map([[file, 0]]);
  for (const [at, distance] of distances) {
    for (const next of importsOf.get(at) ?? []) if (!distances.has(next)) distances.set(next, distance + 1);
  }
  return distances;
};

/** mulberry32. */
const openRandom = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
  return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
};

const sample = (all, count, random) => {
  const left = [...all];
  return Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(Math.floor(random() * left.length), 1)[0],
  );
};

/** A copy of the build, in which a fault harms nobody. */
const copyBuild = (scratch, name) => {
  const place = join(scratch, name);
  mkdirSync(place);
  for (const entry of readdirSync(HOME)) {
    if (entry !== 'dist' && entry !== '.data' && entry !== '.git') symlinkSync(join(HOME, entry), join(place, entry));
  }
  cpSync(dist, join(place, 'dist'), { recursive: true });
  return place;
};

/** Resolves to whether all of these tests pass. With `coverage`, V8 notes there what they run. */
const pass = (place, tests, coverage) =>
  new Promise((done, fail) => {
    const ava = join(HOME, 'node_modules', 'ava', 'entrypoints', 'cli.mjs');
    const args = [
      ava,
      '--fail-fast',
      '--concurrency=1',
      `--timeout=${TRY_MS / 2}ms`,
      ...tests.map((test) => join('dist', test)),
    ];
    const env = coverage === undefined ? process.env : { ...process.env, NODE_V8_COVERAGE: coverage };
    const child = spawn(process.execPath, args, { cwd: place, env, stdio: 'ignore', detached: true });
    const late = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), TRY_MS);
    child.once('error', fail);
    child.once('exit', (code) => {
      clearTimeout(late);
      done(code === 0);
    });
  });

const main = async () => {
  await prepare();
  const files = ['src', 'actors', 'test', 'storage', 'http'].flatMap((room) =>
    filesBelow(join(dist, room)).map((file) => join(room, file)),
  );
  const importsOf = readImports(files);
  const tests = files
    .filter((file) => file.startsWith('test/') && file.endsWith('.test.js'))
    .map((file) => ({ file, reaches: distancesFrom(file, importsOf) }))
    .filter(
      ({ file, reaches }) =>
        (options.postgres && LEDGER_TESTS.test(file)) || ![...reaches.keys()].some((other) => IMPURE.test(other)),
    );
  const tried = options.postgres ? [...PURE, LEDGER] : PURE;
  const pure = files.filter((file) => tried.some((part) => part.test(file)) && file.startsWith(options.only));
  const all = pure.flatMap((file) => mutantsOf(readFileSync(join(dist, file), 'utf8')).map((at) => ({ file, ...at })));
  const chosen = sample(all, Number(options.mutants), openRandom(Number(options.seed)));
  process.stdout.write(`${chosen.length} of ${all.length} faults in ${pure.length} files, seed ${options.seed}\n`);

  const scratch = openScratch();
  const server = options.postgres ? await startPostgres(scratch) : undefined;
  try {
    await tryAll(chosen, tests, scratch);
  } finally {
    if (server !== undefined) await stop(server);
    rmSync(scratch, { recursive: true, force: true });
  }
};

/** One for all tests of the run: each makes a database of its own there. */
const startPostgres = async (scratch) => {
  const announcement = join(scratch, 'postgres.json');
  const program = join(dist, 'test', 'support', 'postgres-server.js');
  const child = spawn(process.execPath, [program, String(process.pid), announcement], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (const until = performance.now() + TRY_MS; !existsSync(announcement); await delay(20))
    if (child.exitCode !== null || performance.now() > until) throw new Error('Postgres did not start');
  process.env.TEST_DATABASE_URL = JSON.parse(readFileSync(announcement, 'utf8')).url;
  return child;
};

const stop = (child) =>
  new Promise((done) => {
    child.once('exit', done);
    child.kill('SIGTERM');
  });

const tryAll = async (chosen, tests, scratch) => {
  const copies = Array.from({ length: Number(options.workers) }, (_, index) => copyBuild(scratch, `copy-${index}`));
  /** Each copy takes the next one until none is left. */
  const share = (list, work) => {
    const queue = [...list];
    return Promise.all(
      copies.map(async (copy) => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) await work(next, copy);
      }),
    );
  };

  const touched = new Set(chosen.map(({ file }) => file));
  const used = tests.filter(({ reaches }) => [...reaches.keys()].some((file) => touched.has(file)));
  const sound = [];
  await step(`${used.length} test files without a fault`, () =>
    share(used, async (test, copy) => {
      const notes = join(scratch, 'coverage', test.file);
      const started = performance.now();
      if (await pass(copy, [test.file], notes)) {
        const coverage = readCoverage(notes, join(copy, 'dist'));
        sound.push({ ...test, coverage, ms: performance.now() - started });
      } else process.stdout.write(`left out, since it fails by itself here: ${test.file}\n`);
      rmSync(notes, { recursive: true, force: true });
    }),
  );
  /** Those that run this place, the nearest first, and of those the quickest. */
  const testsOf = ({ file, start }) =>
    sound
      .filter(({ coverage }) => wasRun(coverage.get(file), start))
      .toSorted((one, other) => one.reaches.get(file) - other.reaches.get(file) || one.ms - other.ms)
      .slice(0, MOST_TESTS)
      .map((test) => test.file);

  const until = performance.now() + Number(options.minutes) * 60_000;
  const outcomes = [];
  await share(chosen, async (fault, copy) => {
    if (performance.now() > until) return;
    const able = testsOf(fault);
    const lives = able.length === 0 || (await passWith(fault, able, copy));
    outcomes.push(lives);
    if (!lives) return;
    const words = (text) => text.slice(0, 80).replaceAll(/\s+/g, ' ');
    const why = able.length === 0 ? '  (no test runs it)' : '';
    process.stdout.write(`lives  ${fault.file}:${fault.line}  ${words(fault.was)} → ${words(fault.text)}${why}\n`);
  });
  const killed = outcomes.filter((lives) => !lives).length;
  process.stdout.write(
    `\n${killed} of ${outcomes.length} faults were noticed: ${((100 * killed) / outcomes.length).toFixed(1)} %\n`,
  );
};

/** Resolves to whether these tests pass with this fault in the copy. */
const passWith = async (fault, tests, copy) => {
  const path = join(copy, 'dist', fault.file);
  const sound = readFileSync(path, 'utf8');
  writeFileSync(path, sound.slice(0, fault.start) + fault.text + sound.slice(fault.end));
  try {
    return await pass(copy, tests);
  } finally {
    writeFileSync(path, sound);
  }
};

await main();
