/**
 * Files that only their owner may read (0600): keys, passwords, what kubectl needs.
 * A reader never sees half of one, and a crash leaves either the old content or the new.
 */
import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes or replaces. */
export const writePrivate = async (file: string, content: string | Uint8Array): Promise<void> => {
  const made = await draft(file, content);
  await rename(made, file);
};

/**
 * Makes the file when it is missing, and answers what it holds then: the content that the first process wrote.
 * So two processes that start together agree.
 */
export const privateOnce = async (file: string, make: () => string): Promise<string> => {
  const present = await readFile(file, 'utf8').catch(() => undefined);
  if (present !== undefined) return present;
  const made = await draft(file, make());
  try {
    await link(made, file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await rm(made, { force: true });
  }
  return readFile(file, 'utf8');
};

const draft = async (file: string, content: string | Uint8Array): Promise<string> => {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const made = `${file}.${randomBytes(6).toString('hex')}`;
  const handle = await open(made, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return made;
};
