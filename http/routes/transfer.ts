/**
 * Sends stored bytes: length, ETag by content, one range, HEAD, and the end when the client leaves.
 * Counted as a stream, so that a drain ends it and a thousand downloads do not take all places in flight.
 */
import type { ServerResponse } from 'node:http';
import { Writable, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Caller } from '../../actors/resource-service.js';
import { isHeldAlready } from '../conditional.js';
import type { Exchange } from '../exchange.js';
import type { Headers } from '../reply.js';
import type { ServerContext } from '../server-context.js';

export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * One range of `Range: bytes=…`; `unsatisfiable` when it lies outside; undefined: send the whole, as for a range that makes no
 * sense, whose end comes before its beginning (RFC 9110, 14.1.1 and 14.2).
 */
export function readRange(header: string | undefined, size: number): Range | 'unsatisfiable' | undefined {
  const parts = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '');
  if (parts === null) return undefined;
  const [, from = '', to = ''] = parts;
  if (from === '' && to === '') return undefined;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return start > end || start >= size ? 'unsatisfiable' : { start, end };
}

export interface Sendable {
  readonly size: number;
  /** Hex SHA-256 of the whole. */
  readonly sha256: string;
  readonly headers: Headers;
  open(range: Range | undefined): Promise<Readable>;
}

/** What its caller must be allowed as long as it is sent. */
export interface Guarded extends Sendable {
  allows(caller: Caller): boolean;
}

export async function sendBytes(x: Exchange, context: ServerContext, what: Guarded): Promise<void> {
  const release = context.streams.add(x, { allows: what.allows, end: () => x.res.destroy() });
  try {
    await answerBytes(x, what);
  } finally {
    release();
  }
}

/** For one who counts it already. */
export async function answerBytes(x: Exchange, what: Sendable): Promise<void> {
  const { res } = x;
  const etag = `"${what.sha256}"`;
  const base: Headers = {
    'content-type': 'application/octet-stream',
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
    'cache-control': 'private, max-age=31536000, immutable',
    etag,
    'x-request-id': x.requestId,
    ...what.headers,
  };
  if (isHeldAlready(x.header('if-none-match'), what.sha256)) {
    res.writeHead(304, base).end();
    return;
  }
  const range =
    x.header('if-range') === undefined || x.header('if-range') === etag
      ? readRange(x.header('range'), what.size)
      : undefined;
  if (range === 'unsatisfiable') {
    res.writeHead(416, { ...base, 'content-range': `bytes */${what.size}`, 'content-length': 0 }).end();
    return;
  }
  const length = range === undefined ? what.size : range.end - range.start + 1;
  const head = { ...base, 'content-length': length };
  if (x.method === 'HEAD') {
    res.writeHead(200, head).end();
    return;
  }
  try {
    const stream = await what.open(range);
    if (range === undefined) res.writeHead(200, head);
    else res.writeHead(206, { ...head, 'content-range': `bytes ${range.start}-${range.end}/${what.size}` });
    // Not `x.gone`, which aborts at the end of a whole answer too, and that may come before the stream has ended.
    await pipeline(stream, sinkOf(res, length));
  } catch (error) {
    if (!x.abandoned) throw error;
  }
}

/**
 * Ends the answer with its last bytes: a client that has all of them may send its next request at once (`../pipelining.ts`).
 * Fails when the client leaves before that.
 */
function sinkOf(res: ServerResponse, length: number): Writable {
  let left = length;
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left > 0) res.write(chunk, done);
      else res.end(chunk, done);
    },
    final(done) {
      if (!res.writableEnded) res.end();
      done();
    },
    destroy(error, done) {
      if (error !== null) res.destroy();
      done(error);
    },
  });
  const closed = (): void => {
    if (!res.writableFinished) sink.destroy(new Error('the client has left'));
  };
  if (res.closed) closed();
  else res.once('close', closed);
  return sink;
}
