/**
 * Records which processes use an embedded Postgres, so that the last one stops it: a leader and its standby on one data directory share one server.
 *
 * One file per process, named by its id and holding its start time, since ids are used again. A file whose process is gone
 * counts for nothing. Not covered: a process that registers in the very moment in which the last one has looked; its
 * first connection fails then, and it starts the server again.
 */
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processStart } from '../../process-start.js';

export const register = async (directory: string): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(join(directory, String(process.pid)), processStart(process.pid));
};

/**
 * Takes ourselves off; true when no other living process is left. Some tiny files, read at once: a process does this also in its
 * last moment, in which nothing can be waited for.
 */
export const deregister = (directory: string): boolean => {
  const file = (name: string): string => join(directory, name);
  rmSync(file(String(process.pid)), { force: true });
  let last = true;
  for (const name of named(directory)) {
    const start = written(file(name));
    if (start !== '' && start === processStart(Number(name))) last = false;
    else rmSync(file(name), { force: true });
  }
  return last;
};

const named = (directory: string): string[] => {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
};

/** '' when the process has taken itself off meanwhile. */
const written = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};
