/**
 * Owns reading a request's body whole: bounded while it arrives, whatever content-length claims.
 * Resource bodies are read here and not by koa-body: their parser must see the bytes (duplicate members, surrogates,
 * `__proto__`), YAML must be possible, and koa-body leaves `body` undefined for merge patches and unknown types.
 *
 * I10: at most `limit` bytes per request are kept (setting TROUPE_BODY_BYTES, 3 MiB); more is answered 413 and the
 * connection is closed, because the rest of the body would otherwise have to be read.
 */
import type { IncomingMessage } from 'node:http';
import { refuse } from '../src/api/refusal.js';
import type { Exchange } from './exchange.js';

const EMPTY = Buffer.alloc(0);

function tooLarge(x: Exchange, limit: number): Error {
  x.res.setHeader('connection', 'close');
  return refuse('RequestEntityTooLarge', `the request body is larger than ${limit} bytes`);
}

function tooSlow(x: Exchange): Error {
  x.res.setHeader('connection', 'close');
  return refuse('BadRequest', `the request body did not arrive within ${BODY_MS / 1000} s`);
}

/** A body that trickles in is cut after this long: a slow client must not hold a place in flight for ever. */
const BODY_MS = 60_000;

/** The body, or an empty Buffer. Refuses with RequestEntityTooLarge, UnsupportedMediaType (compressed), BadRequest (cut short). */
export async function readBody(x: Exchange, limit: number): Promise<Buffer> {
  const { req } = x;
  const coding = req.headers['content-encoding'];
  if (coding !== undefined && coding !== 'identity') {
    throw refuse(
      'UnsupportedMediaType',
      `content-encoding "${coding.slice(0, 64)}" is not supported; send the body uncompressed`,
    );
  }
  const length = req.headers['content-length'];
  if (length !== undefined && Number(length) > limit) throw tooLarge(x, limit);
  if (length === '0' || (length === undefined && req.headers['transfer-encoding'] === undefined)) return EMPTY;
  return collect(
    req,
    limit,
    () => tooLarge(x, limit),
    () => tooSlow(x),
  );
}

function collect(req: IncomingMessage, limit: number, over: () => Error, slow: () => Error): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] | undefined;
    let first: Buffer | undefined;
    let size = 0;
    const timer = setTimeout(() => {
      finish(() => {
        req.pause();
        reject(slow());
      });
    }, BODY_MS);
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      req.off('data', onData);
      req.off('end', onEnd);
      req.off('close', onCut);
      req.off('error', onCut);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit) {
        finish(() => {
          req.pause();
          reject(over());
        });
      } else if (first === undefined) first = chunk;
      else (chunks ??= [first]).push(chunk);
    };
    const onEnd = (): void => finish(() => resolve(chunks ? Buffer.concat(chunks, size) : (first ?? EMPTY)));
    const onCut = (): void => finish(() => reject(refuse('BadRequest', 'the request body ended too early')));
    req.on('data', onData);
    req.on('end', onEnd);
    req.on('close', onCut);
    req.on('error', onCut);
  });
}
