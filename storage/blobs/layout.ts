/**
 * The directory of the blob store:
 *   sha256/ab/cdef…   whole blobs, never changed, mode 0444
 *   partial/…         uploads under way; named by host and process, so that what a crash left is recognised
 *   trash/…           blobs whose rows are being deleted (see `sweep-blobs.ts`)
 * All three are on one disk: a move between them is atomic.
 */
import { createHash, randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Digest } from './digest.js';
import { systemCode } from './system-error.js';

/** An upload that has not grown for so long is given up, also one of another process (ms). */
const STALLED_MS = 60 * 60_000;

export interface Layout {
  readonly dir: string;
  blob(digest: Digest): string;
  partial(): string;
  trash(digest: Digest): string;
}

export async function openLayout(dir: string): Promise<Layout> {
  for (const part of ['sha256', 'partial', 'trash']) await mkdir(join(dir, part), { recursive: true, mode: 0o700 });
  const here = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
  return {
    dir,
    blob: (digest) => join(dir, 'sha256', digest.slice(7, 9), digest.slice(9)),
    partial: () => join(dir, 'partial', `${here}-${process.pid}-${randomBytes(8).toString('hex')}`),
    trash: (digest) => join(dir, 'trash', digest.slice(7)),
  };
}

/** Gives the file `from` the name `to`, durably; `Exists` when that name is taken (its content is the same). */
export async function place(from: string, to: string): Promise<'Placed' | 'Exists'> {
  const folder = dirname(to);
  if ((await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined) await syncFolder(dirname(folder));
  try {
    await link(from, to);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    return 'Exists';
  }
  await syncFolder(folder);
  return 'Placed';
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}

/** Removes what dead processes of this host, and uploads that stalled, have left. Returns how many. */
export async function removePartials(layout: Layout, now: number): Promise<number> {
  const folder = dirname(layout.partial());
  const [here] = layout
    .partial()
    .slice(folder.length + 1)
    .split('-');
  let removed = 0;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const [host, pid] = name.split('-');
    const dead = host === here && Number(pid) !== process.pid && !isAlive(Number(pid));
    if (!dead && !(await isStalled(path, now))) continue;
    await removeFile(path);
    removed += 1;
  }
  return removed;
}

async function isStalled(path: string, now: number): Promise<boolean> {
  try {
    return now - (await stat(path)).mtimeMs > STALLED_MS;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
