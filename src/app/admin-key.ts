/**
 * `<data>/admin.key`: one line, the Owner key of the bootstrap org, 0600. The store keeps only its hash, so the
 * file is the only copy.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivate } from './private-file.js';

export const adminKeyFile = (dataDir: string): string => join(dataDir, 'admin.key');

/** Answers the path. */
export const writeAdminKey = async (dataDir: string, key: string): Promise<string> => {
  await writePrivate(adminKeyFile(dataDir), `${key}\n`);
  return adminKeyFile(dataDir);
};

/** The key, or undefined when the file is not there. */
export const readAdminKey = async (dataDir: string): Promise<string | undefined> => {
  const text = await readFile(adminKeyFile(dataDir), 'utf8').catch(() => '');
  return text.trim() === '' ? undefined : text.trim();
};
