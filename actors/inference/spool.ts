/**
 * Files for what a request brings that is too large for memory, and is read more than once: it is sent to one upstream after the other. They have no
 * name: what was written is gone with the request, and with the process.
 *
 * I10: MOST_FILES at once, of one org as many as it leaves free; further ones are refused (429). The caller bounds their bytes; the disk keeps its reserve.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, open, statfs, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { refuse } from '../../src/api/refusal.js';

const MOST_FILES = 256;

export interface SpooledFile {
  /** At the end. */
  write(chunk: Uint8Array): Promise<void>;
  /** From the beginning, again. */
  read(): Readable;
  /** The first bytes. */
  head(bytes: number): Promise<Buffer>;
  close(): Promise<void>;
}

export interface Spool {
  /** Rejects with a refusal. */
  open(org: string): Promise<SpooledFile>;
}

/** `reserve`: bytes of the disk that stay free for everything else. */
export function openSpool(directory: string, reserve: number): Spool {
  const orgs = new Map<string, number>();
  let all = 0;
  return {
    async open(org) {
      const own = orgs.get(org) ?? 0;
      if (own >= MOST_FILES - all)
        throw refuse('TooManyRequests', 'too many files are on their way to models at once', { retryAfterSeconds: 1 });
      all += 1;
      orgs.set(org, own + 1);
      const leave = (): void => {
        all -= 1;
        const left = (orgs.get(org) ?? 1) - 1;
        if (left > 0) orgs.set(org, left);
        else orgs.delete(org);
      };
      try {
        return spooled(await openNameless(directory, reserve), leave);
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}

async function openNameless(directory: string, reserve: number): Promise<FileHandle> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const disk = await statfs(directory);
  if (disk.bavail * disk.bsize < reserve)
    throw refuse('Unavailable', 'the disk of the service has no room for the file now', { retryAfterSeconds: 60 });
  const path = join(directory, randomUUID());
  const handle = await open(path, 'wx+', 0o600);
  await unlink(path);
  return handle;
}

function spooled(handle: FileHandle, leave: () => void): SpooledFile {
  let size = 0;
  let closed = false;
  return {
    async write(chunk) {
      await handle.write(chunk, 0, chunk.length, size);
      size += chunk.length;
    },
    read: () => handle.createReadStream({ start: 0, autoClose: false }),
    async head(bytes) {
      const head = Buffer.alloc(Math.min(bytes, size));
      await handle.read(head, 0, head.length, 0);
      return head;
    },
    async close() {
      if (closed) return;
      closed = true;
      leave();
      await handle.close();
    },
  };
}
