/**
 * How a complete answer is written: status, headers, one write; a long one is compressed for clients that ask for it.
 * Streams write themselves (`stream.ts`).
 * Koa's own response is bypassed here: an answer is ready-made bytes, and its length and type are known.
 */
import { pipeline } from 'node:stream';
import { acceptsGzip } from './accept-encoding.js';
import { COMPRESS_FROM, describeCoding, openGzip } from './coding.js';
import type { Exchange } from './exchange.js';

export const JSON_TYPE = 'application/json';

export type Headers = Record<string, string | number | string[]>;

/** `Warning: 299 - "text"`; RFC 7234 quoting, control characters dropped, at most 16 of 512 characters (headers are bounded). */
export function warningHeaders(warnings: readonly string[]): string[] {
  return warnings.slice(0, 16).map((text) => {
    // eslint-disable-next-line no-control-regex -- control characters are what must not reach a header
    const plain = text.slice(0, 512).replace(/[\u0000-\u001f\u007f-\uffff]/g, '?');
    return `299 - "${plain.replace(/["\\]/g, '\\$&')}"`;
  });
}

export function reply(x: Exchange, status: number, body: Buffer | string, headers: Headers): void {
  if (body.length > COMPRESS_FROM && x.method !== 'HEAD') {
    x.cutWhenStalled();
    const gzip = acceptsGzip(x.req.headers['accept-encoding']);
    describeCoding(headers, gzip);
    if (gzip) {
      writeHead(x, status, headers);
      const packed = openGzip();
      // A client that leaves ends both.
      pipeline(packed, x.res, () => undefined);
      packed.end(body);
      return;
    }
  }
  headers['content-length'] = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  writeHead(x, status, headers);
  if (x.method === 'HEAD') x.res.end();
  else x.res.end(body);
}

/** Status and headers of an answer, with what every answer has. */
export function writeHead(x: Exchange, status: number, headers: Headers): void {
  headers['x-request-id'] = x.requestId;
  if (x.warnings.length > 0) headers['warning'] = warningHeaders(x.warnings);
  x.res.writeHead(status, headers);
}

/** A plain value as JSON. */
export function replyJson(x: Exchange, status: number, value: unknown, headers: Headers = {}): void {
  headers['content-type'] ??= JSON_TYPE;
  reply(x, status, JSON.stringify(value), headers);
}

/** The client has the object of this tag already. */
export function replyNotModified(x: Exchange, etag: string): void {
  x.res.writeHead(304, { ...objectHeaders(etag), 'x-request-id': x.requestId });
  x.res.end();
}

function objectHeaders(etag: string): Headers {
  // One version is the same tag in every form, so caches have to tell the forms apart.
  return { etag: `"${etag}"`, 'cache-control': 'no-cache, private', vary: 'Accept' };
}

/** An object's stamped bytes. */
export function replyObject(x: Exchange, status: number, body: Buffer, etag: string, headers: Headers = {}): void {
  headers['content-type'] ??= JSON_TYPE;
  reply(x, status, body, Object.assign(headers, objectHeaders(etag)));
}
