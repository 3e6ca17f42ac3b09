/**
 * Takes the bodies of requests from Node's parser, so that what they cost follows their bytes and not the number of their chunks.
 *
 * Why: Node copies and hands over each chunk of the chunked coding by itself, about a microsecond and 200 bytes for one byte, 10,000 of them
 * in one read, and up to 32 reads in one turn of the event loop.
 *
 * Small chunks are copied together (`chunk-joiner.ts`). A body that goes below CHUNK_COST bytes a chunk by more than CREDIT is refused: what is left
 * of the read is dropped by the parser itself, and the connection ends. CREDIT comes back with time, so that what is typed is never refused.
 *
 * I10: the joiner's bytes for each body. A body that nobody wants any more (its answer has been sent) is dropped as it comes, up to MAX_DROPPED,
 * in which each chunk counts as DROPPED_COST at least, and for DROP_MS; then, or when its chunks are too small, its connection ends.
 */
import { IncomingMessage } from 'node:http';
import { refuse, type RefusalError } from '../src/api/refusal.js';
import { ChunkJoiner } from '../src/engines/chunk-joiner.js';

/** Bytes that a chunk is to have on average. */
const CHUNK_COST = 64;
/** A thousand empty chunks; a hundred each second come back. */
const CREDIT = 1_000 * CHUNK_COST;
const CREDIT_PER_MS = CHUNK_COST / 10;
const MAX_DROPPED = 64 * 1024 * 1024;
const DROPPED_COST = 6 * 1024;
const DROP_MS = 60_000;
/** The client has so long to read the refusal, ms. */
const LINGER_MS = 2_000;

/** What is known of the chunks of one body. */
export class ChunkMeter {
  private owed = 0;
  private at: number | undefined;

  /** False: the chunks are too small. `now`: monotonic ms. */
  take(bytes: number, now: () => number = () => performance.now()): boolean {
    this.at ??= now();
    this.owed = Math.max(0, this.owed + CHUNK_COST - bytes);
    if (this.owed <= CREDIT) return true;
    const time = now();
    this.owed = Math.max(0, this.owed - (time - this.at) * CREDIT_PER_MS);
    this.at = time;
    return this.owed <= CREDIT;
  }
}

/** For `createServer`. */
export class MeteredRequest extends IncomingMessage {
  // Declared only: most requests have no body, and need none of them.
  declare private joiner: ChunkJoiner | undefined;
  declare private meter: ChunkMeter | undefined;
  /** Bytes that were dropped, and what their chunks cost besides; undefined: the body is wanted. */
  declare private dropped: number | undefined;
  /** Set once the body is refused, which its reader gets as the stream's error. */
  declare refusal: RefusalError | undefined;

  override push(chunk: Buffer | null): boolean {
    if (this.refusal !== undefined) return false;
    if (chunk === null) {
      this.joiner?.flush();
      return super.push(null);
    }
    if (this.joiner === undefined && String(chunk.length) === this.headers['content-length']) return super.push(chunk);
    const large = (this.meter ??= new ChunkMeter()).take(chunk.length);
    if (this.dropped !== undefined) return this.discard(chunk.length, large);
    if (!large) return this.refuse();
    return (this.joiner ??= new ChunkJoiner((bytes) => super.push(bytes))).push(chunk);
  }

  private discard(bytes: number, large: boolean): boolean {
    this.dropped = (this.dropped ?? 0) + Math.max(bytes, DROPPED_COST);
    if (large && this.dropped <= MAX_DROPPED) return true;
    muteParser(this);
    this.socket.destroy();
    return false;
  }

  private refuse(): boolean {
    const { socket } = this;
    this.joiner?.drop();
    this.refusal = refuse('BadRequest', `the request body comes in chunks of less than ${CHUNK_COST} bytes`, {
      fix: 'Send larger chunks: collect what is to be sent, or send the body with its length.',
    });
    muteParser(this);
    const late = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(late));
    this.destroy(this.refusal);
    return false;
  }

  /** A refused body leaves the connection to the answer. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // eslint-disable-next-line no-underscore-dangle -- as Node names it
    if (this.refusal === undefined || this.refusal !== error) super._destroy(error, done);
    else process.nextTick(() => done(this.listenerCount('error') > 0 ? error : null));
  }

  /** Node calls it when the answer has been sent and nobody has read the body. Its own would take the chunks from `push`. */
  _dump(): void {
    if (this.refusal !== undefined) this.socket.destroySoon();
    if (this.dropped === undefined && !this.complete) this.endLater();
    this.dropped ??= 0;
    this.removeAllListeners('data');
    this.resume();
  }

  /** How long a body that nobody wants is dropped, ms. */
  protected get dropMs(): number {
    return DROP_MS;
  }

  /** A client that sends a byte now and then would keep its connection for ever. */
  private endLater(): void {
    const { socket } = this;
    const late = setTimeout(() => socket.destroy(), this.dropMs);
    const over = (): void => clearTimeout(late);
    this.once('end', over);
    socket.once('close', over);
  }
}

/** Why the body of the request was refused before its reader came. */
export function refusalOf(req: IncomingMessage): RefusalError | undefined {
  return req instanceof MeteredRequest ? req.refusal : undefined;
}

/**
 * The parser of the connection drops what it still reads of bodies, at a twentieth of what a chunk costs otherwise: it hands over a body only
 * where it has a function for it. Node uses parsers again for other connections, so it gets the function back when this one has closed.
 */
function muteParser({ socket }: IncomingMessage): void {
  const { parser } = socket as { readonly parser?: Record<number, unknown> };
  if (parser === undefined || parser === null) return;
  for (let callback = 0; callback < 16; callback += 1) {
    const known = parser[callback];
    if (typeof known !== 'function' || known.name !== 'parserOnBody') continue;
    parser[callback] = undefined;
    socket.once('close', () => (parser[callback] = known));
  }
}
