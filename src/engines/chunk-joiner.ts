/**
 * Copies small chunks of a stream together, so that what they cost follows their bytes and not their number: those of the chunked coding in
 * HTTP, and what SSH clients send. Their sender is read no further until they have gone on, which they do in a later turn of the event loop,
 * CHUNKS_PER_TURN of all streams together.
 *
 * I10: JOINED bytes for each stream.
 */
import type { Readable } from 'node:stream';

/** Bytes from which on a chunk goes on as it is. */
const SMALL = 1024;
const JOINED = 16 * 1024;
const CHUNKS_PER_TURN = 1_000;

/** Those whose joined chunks have not gone on yet, in the order in which they began to wait. */
const waiting = new Set<ChunkJoiner>();

function passSome(): void {
  let chunks = 0;
  for (const joiner of waiting) {
    if (chunks >= CHUNKS_PER_TURN) break;
    chunks += joiner.count;
    joiner.flush();
  }
  if (waiting.size > 0) setImmediate(passSome);
}

export class ChunkJoiner {
  /** Chunks that wait. */
  count = 0;
  private readonly pass: (chunk: Buffer) => boolean;
  private first: Buffer | undefined;
  private joined: Buffer | undefined;
  private length = 0;

  /** `pass`: hands the bytes over, as `Readable.push`. */
  constructor(pass: (chunk: Buffer) => boolean) {
    this.pass = pass;
  }

  /** False: read no further until more is asked for. */
  push(chunk: Buffer): boolean {
    if (chunk.length >= SMALL || this.length + chunk.length > JOINED) this.flush();
    if (chunk.length >= SMALL) return this.pass(chunk);
    if (this.count === 0) {
      if (waiting.size === 0) setImmediate(passSome);
      waiting.add(this);
      this.first = chunk;
    } else {
      this.joined ??= Buffer.allocUnsafeSlow(JOINED);
      if (this.count === 1) this.first?.copy(this.joined);
      chunk.copy(this.joined, this.length);
    }
    this.count += 1;
    this.length += chunk.length;
    return false;
  }

  flush(): void {
    if (!waiting.delete(this)) return;
    // A copy: the next chunks are joined in the same place.
    const bytes = this.count === 1 ? this.first : this.joined && Buffer.from(this.joined.subarray(0, this.length));
    this.first = undefined;
    this.count = 0;
    this.length = 0;
    if (bytes !== undefined) this.pass(bytes);
  }

  /** What waits is dropped. */
  drop(): void {
    waiting.delete(this);
    this.first = undefined;
    this.joined = undefined;
  }
}

/** For what a library pushes to a stream in pieces as small as its peer likes, and none of which has come yet. Nothing is refused. */
export function joinChunks(stream: Readable): void {
  const pass = stream.push.bind(stream);
  const joiner = new ChunkJoiner(pass);
  stream.once('close', () => joiner.drop());
  stream.push = (chunk: Buffer | null) => {
    if (chunk !== null) return joiner.push(chunk);
    joiner.flush();
    return pass(null);
  };
}
