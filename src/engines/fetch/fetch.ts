/**
 * Fetches an input by URL into a file: through the guarded dialer, bounded in bytes and time, checked by SHA-256,
 * and without a file left when it fails. Redirects are not followed: where one leads was not written by the user.
 *
 * The time that a fetch may take follows what has come (I10): after the first minute it fails when that is less than LEAST_BYTES for each
 * minute so far. A server that falls silent is the dialer's to end, so this is looked at whenever something comes.
 */
import { createHash } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dialer, DialFailure } from '../dialer/dialer.js';

/** Tries of what may go well a moment later, with a growing pause in between. */
const TRIES = 3;
const FIRST_PAUSE_MS = 500;
/** On average, of each minute (bytes). */
const LEAST_BYTES = 64 * 1024;
const MINUTE_MS = 60_000;

export interface FetchOptions {
  readonly dialer: Dialer;
  /** 64 hexadecimal digits, with or without `sha256:`. */
  readonly sha256?: string | undefined;
  /** Bytes; one more fails. */
  readonly limit: number;
  /** The file to make; must not exist. Mode 0444. */
  readonly to: string;
  readonly signal: AbortSignal;
  /** Monotonic, ms. */
  readonly now?: (() => number) | undefined;
}

/** Whether so many bytes in this time (ms) are too few for the fetch to go on. */
export function isTooSlow(bytes: number, elapsedMs: number): boolean {
  return elapsedMs > MINUTE_MS && bytes < (elapsedMs / MINUTE_MS) * LEAST_BYTES;
}

export type FetchResult =
  | { readonly outcome: 'Fetched'; readonly size: number; readonly sha256: string }
  | DialFailure
  | {
      readonly outcome: 'Failed';
      readonly reason: FetchFault;
      /** Names the host at most (I11). */
      readonly message: string;
      readonly retryable: boolean;
    };

type FetchFault = 'StatusRefused' | 'TooLarge' | 'TooSlow' | 'SHA256Mismatch' | 'MachineDiskFull' | 'InputUnwritable';

export async function fetchUrl(url: string, options: FetchOptions): Promise<FetchResult> {
  for (let tried = 1; ; tried += 1) {
    const result = await fetchOnce(url, options);
    if (result.outcome === 'Fetched' || !result.retryable || tried === TRIES) return result;
    try {
      await sleep(FIRST_PAUSE_MS * 2 ** (tried - 1), undefined, { signal: options.signal });
    } catch {
      return result;
    }
  }
}

async function fetchOnce(url: string, options: FetchOptions): Promise<FetchResult> {
  // Bytes as they lie on the server: what is hashed is what the user's digest is of.
  const dialled = await options.dialer.dial(url, {
    method: 'GET',
    headers: { accept: '*/*', 'accept-encoding': 'identity' },
    signal: options.signal,
  });
  if (dialled.outcome === 'Failed') return dialled;
  const { response } = dialled;
  const host = new URL(url).hostname;
  try {
    return refusedAtOnce(response, host, options.limit) ?? (await store(response, host, options));
  } finally {
    response.destroy();
  }
}

function refusedAtOnce(response: IncomingMessage, host: string, limit: number): FetchResult | undefined {
  const status = response.statusCode ?? 0;
  if (status >= 300 && status < 400) {
    return failed(
      'StatusRefused',
      `${host} answers with a redirect (${status}), which is not followed: give the final URL`,
      false,
    );
  }
  if (status !== 200) return failed('StatusRefused', `${host} answers ${status}`, status === 429 || status >= 500);
  if (Number(response.headers['content-length'] ?? 0) > limit) return tooLarge(host, limit);
  return undefined;
}

async function store(response: IncomingMessage, host: string, options: FetchOptions): Promise<FetchResult> {
  let handle: FileHandle;
  try {
    handle = await open(options.to, 'wx', 0o600);
  } catch (error) {
    return unwritable(error);
  }
  let result: FetchResult;
  try {
    result = await receive(response, host, handle, options);
    if (result.outcome === 'Fetched') await handle.chmod(0o444);
  } catch (error) {
    result = unwritable(error);
  } finally {
    await handle.close();
  }
  if (result.outcome === 'Failed') await unlink(options.to);
  return result;
}

/** Rejects only when the file cannot be written. */
async function receive(
  response: IncomingMessage,
  host: string,
  handle: FileHandle,
  options: FetchOptions,
): Promise<FetchResult> {
  const hash = createHash('sha256');
  const chunks = response[Symbol.asyncIterator]();
  const now = options.now ?? (() => performance.now());
  const began = now();
  let size = 0;
  for (;;) {
    let next: IteratorResult<unknown>;
    try {
      next = await chunks.next();
    } catch {
      return options.signal.aborted
        ? { outcome: 'Failed', reason: 'Aborted', message: `the request to ${host} was given up`, retryable: false }
        : {
            outcome: 'Failed',
            reason: 'ConnectionFailed',
            message: `${host} broke off after ${size} bytes`,
            retryable: true,
          };
    }
    if (next.done === true) break;
    const chunk = next.value;
    if (!(chunk instanceof Uint8Array)) throw new TypeError('a body is a stream of bytes');
    size += chunk.length;
    if (size > options.limit) return tooLarge(host, options.limit);
    if (isTooSlow(size, now() - began)) return tooSlow(host, size, now() - began);
    hash.update(chunk);
    for (let at = 0; at < chunk.length;) at += (await handle.write(chunk, at)).bytesWritten;
  }
  const sha256 = hash.digest('hex');
  const expected = options.sha256?.toLowerCase().replace(/^sha256:/, '');
  if (expected !== undefined && expected !== sha256) {
    return failed('SHA256Mismatch', `the content at ${host} has SHA-256 ${sha256}, not ${expected}`, false);
  }
  return { outcome: 'Fetched', size, sha256 };
}

function tooLarge(host: string, limit: number): FetchResult {
  return failed('TooLarge', `the content at ${host} is larger than ${limit} bytes`, false);
}

function tooSlow(host: string, size: number, elapsedMs: number): FetchResult {
  const said = `${host} sent ${size} bytes in ${Math.round(elapsedMs / 1_000)} s`;
  return failed('TooSlow', `${said}: at least ${LEAST_BYTES} bytes are expected in each minute`, false);
}

function unwritable(error: unknown): FetchResult {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  if (code === 'ENOSPC' || code === 'EDQUOT') return failed('MachineDiskFull', 'the disk for inputs is full', false);
  return failed('InputUnwritable', `the input's file cannot be written (${code})`, false);
}

function failed(reason: FetchFault, message: string, retryable: boolean): FetchResult {
  return { outcome: 'Failed', reason, message, retryable };
}
