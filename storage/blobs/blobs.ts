/**
 * The content-addressed store of blobs: bytes by their SHA-256 in a directory, rows in Postgres that say which org holds
 * what. The parts: `receive.ts` (stream to file), `layout.ts` (the directory), `rows.ts` (SQL), `sweep-blobs.ts` (removal).
 *
 * - A blob is there for an org when its row is. The row is written after the file is whole, durable and in place.
 * - I12: a digest alone opens nothing; each org, and each project of it, has to have put the content itself, although one
 *   file serves all.
 * - Refusals: SHA256Mismatch, FileTooLarge, QuotaExceeded, Unavailable (disk full), NotFound.
 */
import { constants } from 'node:fs';
import { link, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Pool } from 'pg';
import { refuse, type RefusalError } from '../../src/api/refusal.js';
import { parseDigest, type Digest } from './digest.js';
import { isThere, openLayout, place, removeFile, removePartials } from './layout.js';
import { digestOf, diskFull, receive } from './receive.js';
import {
  deleteRefs,
  findBlob,
  forgetPage,
  insertBlob,
  insertProject,
  insertRef,
  overdueMs,
  underLock,
  usedBytes,
} from './rows.js';
import { sweepBlobs, type Swept } from './sweep-blobs.js';
import { ignoreError, isDiskFull, systemCode } from './system-error.js';

export interface BlobsOptions {
  readonly dir: string;
  readonly pool: Pool;
  /** Bytes that one org may hold; more is QuotaExceeded. */
  readonly quotaBytes?: number | undefined;
  /** Something of this org was refused for that. Must be quick. */
  readonly onFull?: ((org: string, quotaBytes: number) => void) | undefined;
  /** Bytes of the disk that uploads leave free; below that they are refused. */
  readonly reserveBytes?: number | undefined;
  /** A blob without references is removed after so long without use (s). */
  readonly unusedSeconds?: number | undefined;
  /** ms; for the age of files. */
  readonly now: () => number;
}

export interface PutOptions {
  /** As in `X-Content-SHA256`: hexadecimal, with or without `sha256:`. */
  readonly sha256?: string | undefined;
  /** A project that may name it; absent: only the service itself reads it. */
  readonly project?: string | undefined;
  /** Bytes; one more is FileTooLarge. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface PutResult {
  /** `Exists`: the org (with a project: the project) had it already. */
  readonly outcome: 'Created' | 'Exists';
  /** `sha256:…` */
  readonly digest: string;
  readonly size: number;
}

/** First and last byte, both included, as in an HTTP range. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface FoundBlob {
  readonly digest: string;
  readonly size: number;
  /** To be read or destroyed by the caller; stays readable when the blob is removed meanwhile. */
  readonly stream: Readable;
}

export interface Blobs {
  /** Reads the stream to its end, or refuses and leaves the rest unread (see `receive.ts`). */
  put(org: string, stream: Readable, options: PutOptions): Promise<PutResult>;
  /** Takes a copy of a file of ours, such as a collected output. Links are not followed. */
  addFile(org: string, path: string, options: PutOptions): Promise<PutResult>;
  /**
   * Undefined: this org has no such blob. A range must lie within the size that `head` says. Here and below: with a
   * project, what a client names by its digest is there only if that project may name it.
   */
  get(org: string, digest: string, range?: ByteRange, project?: string): Promise<FoundBlob | undefined>;
  head(
    org: string,
    digest: string,
    project?: string,
  ): Promise<{ readonly digest: string; readonly size: number } | undefined>;
  /** Gives the content a second name on the same disk (read-only, mode 0444); NotFound when there is none. */
  linkTo(org: string, digest: string, path: string, project?: string): Promise<void>;
  /** The object keeps the blob alive until `dropRefs`; NotFound when the org has none. */
  addRef(org: string, digest: string, uid: string): Promise<void>;
  dropRefs(org: string, uid: string): Promise<void>;
  /** The project is going: one that has its name later can name none of its blobs. */
  forgetProject(org: string, project: string): Promise<void>;
  /** Bytes that the org holds. */
  used(org: string): Promise<number>;
  /** Whole store: removes what is unused, all of it. Once an hour is enough. */
  sweep(signal: AbortSignal): Promise<Swept>;
  /** Whole store: how long the oldest blob that should be gone has been overdue (ms). */
  overdueMs(): Promise<number>;
}

const QUOTA_BYTES = 100 * 2 ** 30;
const RESERVE_BYTES = 512 * 2 ** 20;
const UNUSED_SECONDS = 24 * 3_600;
/** Blobs that a project loses in one statement. */
const FORGET_AT_ONCE = 10_000;
/** A file of ours up to this size is hashed before it is copied; above, reading it twice would cost more than it saves. */
const READ_TWICE_BYTES = 16 * 2 ** 20;

export async function openBlobs(options: BlobsOptions): Promise<Blobs> {
  const { pool, now } = options;
  const quota = options.quotaBytes ?? QUOTA_BYTES;
  const reserve = options.reserveBytes ?? RESERVE_BYTES;
  const unusedSeconds = options.unusedSeconds ?? UNUSED_SECONDS;
  const layout = await openLayout(options.dir);
  await removePartials(layout, now());

  function overQuota(org: string, room: number): RefusalError {
    options.onFull?.(org, quota);
    return refuse('QuotaExceeded', `org ${org} may hold ${quota} bytes of blobs and has room for ${room}`, {
      fix: 'Delete what is no longer needed; unreferenced blobs go a day after their last use.',
    });
  }

  /** Most outputs of a large Job are alike: what the org has is neither written nor committed again. */
  async function held(org: string, digest: Digest, project: string | undefined): Promise<PutResult | undefined> {
    const size = await findBlob(pool, org, digest, project);
    const there = size !== undefined && (await isThere(layout.blob(digest)));
    return there ? { outcome: 'Exists', digest, size } : undefined;
  }

  const blobs: Blobs = {
    async put(org, stream, { sha256, project, limit, signal }) {
      // For the stream's whole life: it may break before it is read, or after it was refused.
      stream.on('error', ignoreError);
      let expected: Digest | undefined;
      if (sha256 !== undefined) {
        expected = parseDigest(sha256);
        if (expected === undefined) throw refuse('BadRequest', 'X-Content-SHA256 is not a SHA-256 in hexadecimal');
      }
      const path = layout.partial();
      const room = Math.max(0, quota - (await usedBytes(pool, org)));
      const received = await receive(stream, {
        path,
        limit: Math.min(limit, room),
        tooLarge: () =>
          limit <= room ? refuse('FileTooLarge', `the content is larger than ${limit} bytes`) : overQuota(org, room),
        expected,
        reserve,
        signal,
      });
      try {
        const outcome = await underLock(pool, received.digest, async (client) => {
          const inserted = await insertBlob(client, org, received.digest, received.size, quota);
          if (inserted === 'QuotaExceeded') throw overQuota(org, room);
          const named = project === undefined ? undefined : await insertProject(client, org, project, received.digest);
          await place(path, layout.blob(received.digest));
          // Whether another project has the content already is not for this one to know.
          return named === undefined ? inserted : named ? 'Created' : 'Exists';
        });
        return { outcome, ...received };
      } catch (error) {
        throw isDiskFull(error) ? diskFull() : error;
      } finally {
        await removeFile(path);
      }
    },

    async addFile(org, path, put) {
      const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const stat = await handle.stat();
      if (!stat.isFile()) {
        await handle.close();
        throw refuse('Invalid', 'an output must be a regular file');
      }
      try {
        const known = stat.size > READ_TWICE_BYTES ? undefined : await held(org, await digestOf(handle), put.project);
        if (known !== undefined) return known;
        return await blobs.put(org, handle.createReadStream({ start: 0, autoClose: false }), put);
      } finally {
        await handle.close();
      }
    },

    async get(org, digest, range, project) {
      const name = parseDigest(digest);
      const size = name === undefined ? undefined : await findBlob(pool, org, name, project);
      if (name === undefined || size === undefined) return undefined;
      if (range !== undefined && !(range.start >= 0 && range.start <= range.end && range.end < size)) {
        throw new RangeError('the range is outside of the blob');
      }
      const handle = await open(layout.blob(name), 'r').catch((error: unknown) => {
        throw systemCode(error) === 'ENOENT' ? missing(name) : error;
      });
      return { digest: name, size, stream: handle.createReadStream(range) };
    },

    async head(org, digest, project) {
      const name = parseDigest(digest);
      const size = name === undefined ? undefined : await findBlob(pool, org, name, project);
      return name === undefined || size === undefined ? undefined : { digest: name, size };
    },

    async linkTo(org, digest, path, project) {
      const found = await blobs.head(org, digest, project);
      const name = found === undefined ? undefined : parseDigest(found.digest);
      if (name === undefined) throw refuse('NotFound', `there is no blob ${digest}`);
      await link(layout.blob(name), path).catch((error: unknown) => {
        throw systemCode(error) === 'ENOENT' ? missing(name) : error;
      });
    },

    async addRef(org, digest, uid) {
      const name = parseDigest(digest);
      if (name === undefined || !(await insertRef(pool, org, name, uid))) {
        throw refuse('NotFound', `there is no blob ${digest}`);
      }
    },

    dropRefs: (org, uid) => deleteRefs(pool, org, uid),
    async forgetProject(org, project) {
      let after: string | undefined = '';
      while (after !== undefined) after = await forgetPage(pool, org, project, after, FORGET_AT_ONCE);
    },
    used: (org) => usedBytes(pool, org),
    overdueMs: () => overdueMs(pool, unusedSeconds),
    sweep: (signal) => sweepBlobs(pool, layout, unusedSeconds, now(), signal),
  };
  return blobs;
}

/** A row without its file: it was removed from the directory by hand. */
function missing(digest: Digest): RefusalError {
  return refuse('Unavailable', `the content of ${digest} is not on this machine's disk`, { retryAfterSeconds: 60 });
}
