/**
 * Makes the directory in which a test run keeps its files (clusters, data directories, boxes), and clears what killed runs have left.
 *
 * It is in memory where the system has a place for that with enough room: what tests make is thrown away, and a file system on a
 * disk may need more time for tens of thousands of small files that come and go than all that is tested with them. A TMPDIR that is
 * set decides instead.
 */
import { accessSync, chmodSync, constants, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Bytes. A whole run holds less than a quarter of it at any time. */
const ROOM = 4 * 1024 ** 3;
/** As statfs(2) names it. */
const TMPFS = 0x01021994;

const PREFIX = 'troupe-test-';
const OF_A_RUN = new RegExp(`^${PREFIX}(\\d+)-\\w+$`);

/** A new directory; the runs' users may all make something in it, as in /tmp. It is the caller's to remove. */
export const openScratch = () => {
  const base = process.env.TMPDIR === undefined && inMemory() ? MEMORY : tmpdir();
  removeAbandoned(base);
  const path = mkdtempSync(join(base, `${PREFIX}${process.pid}-`));
  chmodSync(path, 0o1777);
  return path;
};

const inMemory = () => {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { type, bavail, bsize } = statfsSync(MEMORY);
    return type === TMPFS && bavail * bsize >= ROOM;
  } catch {
    return false;
  }
};

/** A run that was killed could not remove its own. */
const removeAbandoned = (base) => {
  for (const name of readdirSync(base)) {
    const pid = OF_A_RUN.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    try {
      rmSync(join(base, name), { recursive: true, force: true });
    } catch {
      // Another user's, or something of it is still in use.
    }
  }
};

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
};
