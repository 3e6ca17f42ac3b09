/**
 * Makes a fresh clone ready to run: checks for the right Node, the packages, the build.
 * Plain JavaScript without dependencies, because it runs before there are any.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The clone. */
export const HOME = dirname(dirname(fileURLToPath(import.meta.url)));

const ROOMS = ['src', 'actors', 'http', 'storage', 'ops', 'test'];
const LEAST_NODE = [20, 19];

const at = (...parts) => join(HOME, ...parts);

/**
 * Does what is missing. Says what, and how long it took; says nothing when all is there. Where the build is there, what only
 * builds and tests need (`npm ci --omit=dev`) may be absent, unless `tests` are to run.
 */
export const prepare = async ({ tests } = { tests: true }) => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1])) {
    throw new Error(`Node ${LEAST_NODE.join('.')} or newer is needed; this is ${process.versions.node}`);
  }
  const sources = fingerprint();
  const stamp = at('dist', '.built');
  const built = existsSync(stamp) && readFileSync(stamp, 'utf8') === sources;
  if (!packagesAreThere(tests || !built)) {
    if (existsSync(at('node_modules')) && lstatSync(at('node_modules')).isSymbolicLink()) {
      throw new Error('node_modules is a link and does not match package-lock.json: run `npm ci` where it points to');
    }
    await step('installing packages (npm ci)', () =>
      run(
        'npm',
        ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'],
        'packages could not be installed',
      ),
    );
  }
  if (!built) {
    await step('building', async () => {
      await run(
        process.execPath,
        // What is here to be used has passed CI: to check its types again would take two thirds of the build.
        [at('node_modules', 'typescript', 'bin', 'tsc'), '--project', at('tsconfig.json'), '--noCheck'],
        'the build failed',
      );
      removeOrphans(at('dist'));
      await run(process.execPath, [at('ops', 'bundle.mjs')], 'the build failed');
      writeFileSync(stamp, sources);
    });
  }
};

/** Whether node_modules holds what the lock file asks for, with or without `dev`; npm keeps its own list of what it installed. */
const packagesAreThere = (dev) => {
  const installed = readJson(at('node_modules', '.package-lock.json'))?.packages;
  if (installed === undefined) return false;
  return Object.entries(readJson(at('package-lock.json'))?.packages ?? {}).every(([path, wanted]) => {
    if (path === '' || (wanted.dev && !dev)) return true;
    const found = installed[path];
    // Packages for other platforms are optional and absent.
    return found === undefined ? wanted.optional === true : found.version === wanted.version;
  });
};

const readJson = (file) => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
};

/** Changes when a source is changed, added or removed. */
const fingerprint = () => {
  const hash = createHash('sha256');
  for (const file of [
    at('tsconfig.json'),
    at('package-lock.json'),
    at('ops', 'bundle.mjs'),
    ...ROOMS.flatMap((room) => sourcesBelow(at(room))),
  ]) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${relative(HOME, file)} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
};

const sourcesBelow = (directory) =>
  existsSync(directory)
    ? readdirSync(directory, { recursive: true })
        .map(String)
        .filter((name) => /\.(ts|pl|sh)$/.test(name))
        .toSorted()
        .map((name) => join(directory, name))
    : [];

/** What was built from a source that is gone would still run as a test. */
const removeOrphans = (dist) => {
  mkdirSync(dist, { recursive: true });
  for (const name of readdirSync(dist, { recursive: true }).map(String)) {
    const source = at(name.replace(/\.js(\.map)?$/, '.ts'));
    if (/\.(js(\.map)?|pl|sh)$/.test(name) && !existsSync(source)) rmSync(join(dist, name));
  }
};

/** Runs a program with its output shown; fails with `failure` when it does. */
const run = (program, args, failure) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: HOME, stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', (error) => reject(new Error(`${failure}: ${error.message}`)));
    child.once('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`${failure} (${program} ended with ${signal ?? code})`)),
    );
  });

/** Runs `work` between a line that says what is being done and one that says how long it took. */
export const step = async (what, work) => {
  const began = performance.now();
  process.stderr.write(`${what} …\n`);
  const result = await work();
  process.stderr.write(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s\n`);
  return result;
};
