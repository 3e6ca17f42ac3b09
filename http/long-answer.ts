/**
 * An answer that may be long, written as it comes and with back-pressure. What fits into 128 KiB is held back and sent
 * whole with its length; so whatever fails until then is answered as any error. A longer one is streamed, compressed for
 * clients that ask for it.
 *
 * I10: at most 128 KiB are held here, one piece waits in the stream, and a client that takes nothing for the time of
 * `Exchange.stallMs` is cut.
 */
import { pipeline, type Writable } from 'node:stream';
import { acceptsGzip } from './accept-encoding.js';
import { COMPRESS_FROM, describeCoding, openGzip } from './coding.js';
import type { Exchange } from './exchange.js';
import { reply, writeHead, type Headers } from './reply.js';
import { Outflow } from './stream.js';

/** `AtOnce`: each piece is work done, which the client sees as it goes on; not compressed, which would hold it back. */
export type Begins = 'WhenLong' | 'AtOnce';

export class LongAnswer {
  readonly #x: Exchange;
  readonly #headers: Headers;
  readonly #begins: Begins;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #sink: Writable | undefined;
  #out: Outflow | undefined;

  constructor(x: Exchange, headers: Headers, begins: Begins) {
    this.#x = x;
    this.#headers = headers;
    this.#begins = begins;
  }

  /** True once the client is gone: stop producing. */
  get closed(): boolean {
    return this.#out?.closed ?? this.#x.res.destroyed;
  }

  /** Resolves when the next piece may come, or the client is gone. */
  async write(bytes: Buffer | string): Promise<void> {
    if (this.#out !== undefined) {
      if (!this.#out.write(bytes)) await this.#out.drained();
      return;
    }
    const piece = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    if (this.#begins === 'AtOnce' || this.#heldBytes > COMPRESS_FROM) await this.#begin();
  }

  /** The answer is complete. */
  async end(bytes: Buffer | string): Promise<void> {
    await this.write(bytes);
    if (this.#sink === undefined) reply(this.#x, 200, Buffer.concat(this.#held), this.#headers);
    else if (!this.closed) this.#sink.end();
  }

  /** An error of ours: what has begun is cut, so that it does not look whole. */
  abandon(): void {
    if (this.#sink === undefined) return;
    this.#sink.destroy();
    this.#x.res.destroy();
  }

  async #begin(): Promise<void> {
    const { res, req } = this.#x;
    const gzip = this.#begins === 'WhenLong' && acceptsGzip(req.headers['accept-encoding']);
    if (this.#begins === 'WhenLong') describeCoding(this.#headers, gzip);
    if (!res.destroyed) writeHead(this.#x, 200, this.#headers);
    this.#x.cutWhenStalled();
    this.#sink = gzip ? throughGzip(res) : res;
    this.#out = new Outflow(this.#sink);
    const held = Buffer.concat(this.#held);
    this.#held = [];
    if (!this.#out.write(held)) await this.#out.drained();
  }
}

function throughGzip(res: Writable): Writable {
  const gzip = openGzip();
  // What breaks it ends both; the producer sees that it is closed.
  pipeline(gzip, res, () => undefined);
  return gzip;
}
