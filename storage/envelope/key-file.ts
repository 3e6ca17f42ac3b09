/**
 * Finds the master key: the setting TROUPE_MASTER_KEY, else `<data>/master.key`, which is made at the
 * first start. A file that other users could have read or written is refused.
 *
 * Form of both: base64 of 32 bytes; in a setting separated by commas, in the file one per line. The first key seals,
 * the others only open what was sealed before a rotation.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../blobs/system-error.js';
import { MASTER_KEY_BYTES, masterKey, masterKeys, type MasterKeys } from './master-key.js';

/** Current and earlier keys together. More would be a sign of a wrong file. */
const MOST_KEYS = 8;
/** Bytes of a key file with `MOST_KEYS` lines of 44 characters, with room for line ends. */
const MOST_FILE_BYTES = 512;

/** The start must stop with this one line. Never holds key material (I11). */
export class MasterKeyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MasterKeyError';
  }
}

export interface MasterKeySource {
  /** TROUPE_MASTER_KEY, when it is set. */
  readonly setting?: string | undefined;
  /** The data directory. */
  readonly dir: string;
}

export async function loadMasterKeys(source: MasterKeySource): Promise<MasterKeys> {
  if (source.setting !== undefined) return parseKeys('TROUPE_MASTER_KEY', source.setting.split(','));
  const path = join(source.dir, 'master.key');
  const text = (await readKeyFile(path)) ?? (await makeKeyFile(source.dir, path));
  return parseKeys(path, text.trimEnd().split('\n'));
}

function parseKeys(where: string, parts: readonly string[]): MasterKeys {
  if (parts.length > MOST_KEYS)
    throw new MasterKeyError(`${where} has ${parts.length} keys; at most ${MOST_KEYS} are read`);
  const [current, ...previous] = parts.map((part, index) => {
    const text = part.trim();
    const bytes = Buffer.from(text, 'base64');
    // Node's decoder skips what it does not know; only a text that encodes back to itself is taken.
    if (bytes.length !== MASTER_KEY_BYTES || bytes.toString('base64') !== text) {
      throw new MasterKeyError(
        `key ${index + 1} of ${where} is not ${MASTER_KEY_BYTES} bytes in base64 (make one: openssl rand -base64 32)`,
      );
    }
    return masterKey(bytes);
  });
  if (current === undefined) throw new MasterKeyError(`${where} is empty`);
  return masterKeys(current, previous);
}

async function readKeyFile(path: string): Promise<string | undefined> {
  let handle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP') throw new MasterKeyError(`${path} is a symbolic link; put the file itself there`);
    throw new MasterKeyError(`${path} cannot be read (${code ?? 'unknown error'})`);
  }
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new MasterKeyError(`${path} is not a regular file`);
    const mode = stat.mode & 0o777;
    if (mode !== 0o600) {
      throw new MasterKeyError(
        `${path} has mode 0${mode.toString(8)}, must be 0600 (chmod 600 ${path}, and think about who could have read it)`,
      );
    }
    const uid = process.geteuid?.();
    if (uid !== undefined && stat.uid !== uid) {
      throw new MasterKeyError(`${path} belongs to uid ${stat.uid}, must belong to uid ${uid}, which runs the service`);
    }
    if (stat.size === 0 || stat.size > MOST_FILE_BYTES) {
      throw new MasterKeyError(`${path} has ${stat.size} bytes, must have 1 to ${MOST_FILE_BYTES}`);
    }
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** Two first starts at once agree on one key: the file appears whole under its name, once, or not at all. */
async function makeKeyFile(dir: string, path: string): Promise<string> {
  await mkdir(dir, { recursive: true });
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    // The process's umask may have taken bits away; the file says exactly 0600.
    await handle.chmod(0o600);
    await handle.writeFile(`${randomBytes(MASTER_KEY_BYTES).toString('base64')}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(temporary, path);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  } finally {
    await unlink(temporary);
  }
  const folder = await open(dir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  const text = await readKeyFile(path);
  if (text === undefined) throw new MasterKeyError(`${path} vanished while it was being made`);
  return text;
}
