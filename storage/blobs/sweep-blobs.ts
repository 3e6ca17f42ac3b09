/**
 * Removes blobs: rows that were not used for a day, files without rows, and uploads that were cut off.
 *
 * A file goes only together with the last row of its content. Both change under the content's lock, so a put of the
 * same content comes before or after, never between. The file is moved to `trash/` before the transaction commits:
 * a crash in between leaves a file there that the next sweep takes back or removes, by whether rows are left.
 */
import { opendir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { parseDigest, type Digest } from './digest.js';
import { place, removeFile, removePartials, type Layout } from './layout.js';
import { deleteUnused, isHeld, knownDigests, underLock, unusedBlobs, type UnusedBlob } from './rows.js';
import { systemCode } from './system-error.js';

/** Rows read, and files looked up, at once. A sweep goes on until a page is short. */
const PAGE = 1_000;

export interface Swept {
  readonly blobs: number;
  readonly orphans: number;
  readonly partials: number;
}

export async function sweepBlobs(
  pool: Pool,
  layout: Layout,
  unusedSeconds: number,
  now: number,
  signal: AbortSignal,
): Promise<Swept> {
  await emptyTrash(pool, layout);
  let blobs = 0;
  let after: UnusedBlob | undefined;
  for (let page: readonly UnusedBlob[] | undefined; page === undefined || page.length === PAGE; after = page.at(-1)) {
    page = await unusedBlobs(pool, unusedSeconds, PAGE, after);
    for (const digest of new Set(page.map((blob) => blob.digest))) {
      signal.throwIfAborted();
      if (await forget(pool, layout, digest, unusedSeconds)) blobs += 1;
    }
  }
  const orphans = await removeOrphans(pool, layout, now - unusedSeconds * 1_000, signal);
  return { blobs, orphans, partials: await removePartials(layout, now) };
}

async function forget(pool: Pool, layout: Layout, digest: Digest, unusedSeconds: number): Promise<boolean> {
  let moved = false;
  try {
    const last = await underLock(pool, digest, async (client) => {
      if (!(await deleteUnused(client, digest, unusedSeconds))) return false;
      await moveAway(layout, digest);
      moved = true;
      return true;
    });
    if (last) await removeFile(layout.trash(digest));
    return last;
  } catch (error) {
    // Whether the commit took place is not known; the rows say it.
    if (moved) await restoreOrRemove(pool, layout, digest);
    // An object has come to refer to it meanwhile.
    if (systemCode(error) === '23503') return false;
    throw error;
  }
}

async function moveAway(layout: Layout, digest: Digest): Promise<void> {
  try {
    await rename(layout.blob(digest), layout.trash(digest));
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}

async function emptyTrash(pool: Pool, layout: Layout): Promise<void> {
  for (const name of await readdir(join(layout.dir, 'trash'))) {
    const digest = parseDigest(name);
    if (digest !== undefined) await restoreOrRemove(pool, layout, digest);
  }
}

/** Under the rows' lock: back to its place while a row is left. */
async function restoreOrRemove(pool: Pool, layout: Layout, digest: Digest): Promise<void> {
  await underLock(pool, digest, async (client) => {
    if (await isHeld(client, digest)) await place(layout.trash(digest), layout.blob(digest));
  });
  await removeFile(layout.trash(digest));
}

/** Files that a crash left between their placing and their row. Young ones are left alone: their row may be on its way. */
async function removeOrphans(pool: Pool, layout: Layout, before: number, signal: AbortSignal): Promise<number> {
  let removed = 0;
  for await (const page of pagesOfFiles(layout)) {
    signal.throwIfAborted();
    const known = await knownDigests(pool, page);
    for (const digest of page) {
      if (!known.has(digest) && (await removeOrphan(pool, layout, digest, before))) removed += 1;
    }
  }
  return removed;
}

async function* pagesOfFiles(layout: Layout): AsyncGenerator<readonly Digest[]> {
  const root = join(layout.dir, 'sha256');
  let page: Digest[] = [];
  for (const prefix of await readdir(root)) {
    for await (const entry of await opendir(join(root, prefix))) {
      const digest = parseDigest(prefix + entry.name);
      if (digest !== undefined) page.push(digest);
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}

async function removeOrphan(pool: Pool, layout: Layout, digest: Digest, before: number): Promise<boolean> {
  if (!(await isOlder(layout.blob(digest), before))) return false;
  return underLock(pool, digest, async (client) => {
    if (await isHeld(client, digest)) return false;
    await removeFile(layout.blob(digest));
    return true;
  });
}

async function isOlder(path: string, before: number): Promise<boolean> {
  try {
    return (await stat(path)).ctimeMs <= before;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}
