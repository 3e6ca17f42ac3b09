/**
 * Writes a stream of bytes into a file and hashes it: never more than one chunk is in memory, and no file is left when the
 * stream breaks. The caller decides who may store it, and under which name.
 */
import { createHash, type Hash } from 'node:crypto';
import { open, statfs, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { refuse, type RefusalError } from '../../src/api/refusal.js';
import { SparseWriter } from '../../src/sparse-writer.js';
import { parseDigest, type Digest } from './digest.js';
import { removeFile } from './layout.js';
import { isDiskFull } from './system-error.js';

/** Free space is looked at again after so many bytes. */
const SPACE_CHECK_BYTES = 16 * 2 ** 20;
/** The caller may try again after so long (s): space comes back with a sweep or an operator. */
const FULL_RETRY_SECONDS = 60;

export interface Received {
  readonly digest: Digest;
  readonly size: number;
}

export interface ReceiveOptions {
  readonly path: string;
  /** Bytes; one more is refused with what `tooLarge` makes. */
  readonly limit: number;
  readonly tooLarge: () => RefusalError;
  /** What the sender says it is; anything else is refused with SHA256Mismatch. */
  readonly expected?: Digest | undefined;
  /** Bytes of the disk that stay free for everything else. */
  readonly reserve: number;
  readonly signal: AbortSignal;
}

/**
 * Writes the stream to a new file at `path`, durable and read-only when this resolves; no file when it rejects.
 * A refused stream is left as it is, unread: the answer to its sender may still need the connection. An aborted one
 * is destroyed.
 */
export async function receive(stream: Readable, options: ReceiveOptions): Promise<Received> {
  const { path, signal } = options;
  // A sender that sends nothing more is woken up by its stream's end.
  const stop = (): void => void stream.destroy(abortError(signal));
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    const handle = await open(path, 'wx', 0o600);
    try {
      const received = await write(stream, handle, options);
      await handle.chmod(0o444);
      await handle.sync();
      return received;
    } finally {
      await handle.close();
    }
  } catch (error) {
    await removeFile(path);
    throw isDiskFull(error) ? diskFull() : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function write(stream: Readable, handle: FileHandle, options: ReceiveOptions): Promise<Received> {
  const hash = createHash('sha256');
  const file = new SparseWriter(handle);
  let size = 0;
  let checkedAt = -SPACE_CHECK_BYTES;
  for await (const part of stream.iterator({ destroyOnReturn: false })) {
    const chunk = asBytes(part);
    size += chunk.length;
    if (size > options.limit) throw options.tooLarge();
    if (size - checkedAt >= SPACE_CHECK_BYTES) {
      checkedAt = size;
      await checkSpace(options.path, options.reserve);
    }
    hash.update(chunk);
    await file.write(chunk);
  }
  await file.end();
  options.signal.throwIfAborted();
  const digest = finished(hash);
  if (options.expected !== undefined && options.expected !== digest) {
    throw refuse('SHA256Mismatch', `the content has ${digest}, not ${options.expected}: it was changed on its way`);
  }
  return { digest, size };
}

/** Of a whole file, from its beginning. */
export async function digestOf(handle: FileHandle): Promise<Digest> {
  const hash = createHash('sha256');
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(asBytes(chunk));
  return finished(hash);
}

function asBytes(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw new TypeError('a blob is received from a stream of bytes');
}

function finished(hash: Hash): Digest {
  const digest = parseDigest(hash.digest('hex'));
  if (digest === undefined) throw new Error('a SHA-256 has 64 digits');
  return digest;
}

async function checkSpace(path: string, reserve: number): Promise<void> {
  const disk = await statfs(path);
  if (disk.bavail * disk.bsize < reserve) throw diskFull();
}

export function diskFull(): RefusalError {
  return refuse('Unavailable', 'the disk that holds blobs is full', {
    fix: 'Delete what is no longer needed, or ask the operator for more disk.',
    retryAfterSeconds: FULL_RETRY_SECONDS,
  });
}

function abortError(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
