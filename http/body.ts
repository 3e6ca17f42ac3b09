/**
 * Reads a request's body whole: bounded in size while it arrives, whatever content-length claims, and in time.
 * Resource bodies are read here and not by koa-body: their parser must see the bytes (duplicate members, surrogates,
 * `__proto__`), YAML must be possible, and koa-body leaves `body` undefined for merge patches and unknown types.
 *
 * While it waits, the request has no place in flight, and what is kept of all bodies is bounded (`admission.ts`).
 * Chunks come joined, and a body of tiny ones is refused (`small-chunks.ts`).
 * I10: at most `usual` bytes per request are kept (setting TROUPE_BODY_BYTES, 3 MiB), or 32 MiB of a list; more is answered 413. A body that
 * trickles in is cut after BODY_MS: a slow client must not hold a place in flight. A body that says beforehand that it is
 * too large is thrown away as it comes, up to MAX_DISCARDED; all others close the connection, because the rest of the
 * body would otherwise have to be read. One sweep looks after all bodies; a timer each would cost more than
 * reading a small one.
 */
import { refuse, RefusalError } from '../src/api/refusal.js';
import { copyTogether } from './copy-in-turns.js';
import type { Exchange } from './exchange.js';
import type { HeavyTurns } from './heavy-turns.js';
import { refusalOf } from './small-chunks.js';
import { openYamlReader, type YamlReader } from './yaml/reader.js';

const BODY_MS = 60_000;
const SWEEP_MS = 5_000;
/** Bytes of a body that is too large, read only so that its sender gets to see the answer. */
const MAX_DISCARDED = 64 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

export interface Bodies {
  /**
   * The body, or an empty Buffer. `most`: a larger bound in bytes, for routes that take more.
   * Refuses with RequestEntityTooLarge, UnsupportedMediaType (compressed), BadRequest (cut short or too slow).
   */
  read(x: Exchange, most?: number): Promise<Buffer>;
  /** The same of a body that is not parsed, or beside the event loop: it waits for no turn (`heavy-turns.ts`). */
  take(x: Exchange, most?: number): Promise<Buffer>;
  /** The same with a smaller bound, `most`. */
  takeSmall(x: Exchange, most: number): Promise<Buffer>;
  /** What a YAML body says; a large one is read in a thread of its own. */
  readYaml: YamlReader['read'];
  /** Refuses a body that was read with a larger bound and is none of those that may be so large. */
  checkSize(body: Buffer): void;
  close(): void;
}

interface Pending {
  /** performance.now() from which on it is too slow. */
  readonly until: number;
  cut(error: Error): void;
}

export function openBodies(usual: number, turns?: HeavyTurns): Bodies {
  const pending = new Set<Pending>();
  const yaml = openYamlReader();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const body of pending) {
      if (now < body.until) break; // in order of arrival
      body.cut(refuse('BadRequest', `the request body did not arrive within ${BODY_MS / 1000} s`));
    }
  }, SWEEP_MS);
  timer.unref();

  const take: Bodies['take'] = (x, most = 0) => takeUpTo(x, Math.max(usual, most));

  function takeUpTo(x: Exchange, limit: number): Promise<Buffer> {
    const { headers } = x.req;
    const coding = headers['content-encoding'];
    if (coding !== undefined && coding !== 'identity') {
      const message = `content-encoding "${coding.slice(0, 64)}" is not supported; send the body uncompressed`;
      const fix = 'Send the body as it is, without the header Content-Encoding.';
      return Promise.reject(refuse('UnsupportedMediaType', message, { fix }));
    }
    const length = headers['content-length'];
    if (length === '0' || (length === undefined && headers['transfer-encoding'] === undefined)) {
      return Promise.resolve(EMPTY);
    }
    if (length !== undefined && Number(length) > limit) {
      // What is still on its way is thrown away: a connection closed over it would take the answer with it.
      if (Number(length) <= MAX_DISCARDED) x.req.resume();
      else x.res.setHeader('connection', 'close');
      return Promise.reject(tooLarge(limit));
    }
    return collect(x, limit, pending);
  }

  return {
    take,
    takeSmall: (x, most) => takeUpTo(x, Math.min(usual, most)),
    async read(x, most) {
      const bytes = await take(x, most);
      await turns?.ofBody(x, bytes.length);
      return bytes;
    },
    readYaml: yaml.read,
    checkSize(body) {
      if (body.length > usual) throw tooLarge(usual);
    },
    close() {
      clearInterval(timer);
      yaml.close();
    },
  };
}

function tooLarge(limit: number): Error {
  return refuse('RequestEntityTooLarge', `the request body is larger than ${limit} bytes`);
}

function noRoom(): Error {
  return refuse('TooManyRequests', 'too many request bodies are held in memory at once', { retryAfterSeconds: 1 });
}

function collect(x: Exchange, limit: number, pending: Set<Pending>): Promise<Buffer> {
  const { req, res, place } = x;
  try {
    place?.awaitBody();
    const early = refusalOf(req);
    if (early !== undefined) throw early;
  } catch (error) {
    res.setHeader('connection', 'close');
    return Promise.reject(error);
  }
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] | undefined;
    let first: Buffer | undefined;
    let size = 0;
    const entry: Pending = {
      until: x.startedAt + BODY_MS,
      cut(error) {
        finish();
        req.pause();
        if (!res.headersSent) res.setHeader('connection', 'close');
        reject(error);
      },
    };
    const finish = (): void => {
      pending.delete(entry);
      req.off('data', onData);
      req.off('end', onEnd);
      req.off('close', onCut);
      req.off('error', onCut);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit) entry.cut(tooLarge(limit));
      else if (place?.hold(chunk.length) === false) entry.cut(noRoom());
      else if (first === undefined) first = chunk;
      else (chunks ??= [first]).push(chunk);
    };
    const onEnd = (): void => {
      finish();
      try {
        place?.resume();
      } catch (error) {
        reject(error);
        return;
      }
      resolve(chunks ? copyTogether(chunks, size) : (first ?? EMPTY));
    };
    const onCut = (error?: Error): void => {
      if (error instanceof RefusalError) return entry.cut(error);
      finish();
      reject(refuse('BadRequest', 'the request body ended too early'));
    };
    pending.add(entry);
    req.on('data', onData);
    req.on('end', onEnd);
    req.on('close', onCut);
    req.on('error', onCut);
  });
}
