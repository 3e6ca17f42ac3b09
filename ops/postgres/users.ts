/**
 * Owns the record of which processes use an embedded Postgres, so that the last one stops it: an active service and
 * its standby on one data directory share one server.
 *
 * One file per process, named by its id and holding its start time, since ids come again. A file whose process is gone
 * counts for nothing. Not covered: a process that registers in the very moment in which the last one has looked; its
 * first connection fails then, and it starts the server again.
 */
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processStart } from '../../src/process-start.js';

export const register = async (directory: string): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(join(directory, String(process.pid)), processStart(process.pid));
};

/** Takes ourselves off; true when no other living process is left. */
export const deregister = async (directory: string): Promise<boolean> => {
  await rm(join(directory, String(process.pid)), { force: true });
  let last = true;
  for (const name of await readdir(directory).catch(() => [])) {
    const written = await readFile(join(directory, name), 'utf8').catch(() => '');
    if (written !== '' && written === processStart(Number(name))) last = false;
    else await rm(join(directory, name), { force: true });
  }
  return last;
};
