/**
 * One connection as node:http's parser may see it: one request at a time. The parser would take every request that a client sends ahead,
 * and keep each with its answer until those before it are answered. Here the next request is not parsed before the answer to the last
 * one was handed to the operating system, so a client that sends ahead, or does not read, stops its own connection and nothing else.
 *
 *     const server = createServer((req, res) => { SerialRequests.began(req, res); … });
 *     server.emit('connection', new SerialRequests(socket, { idleMs: 60_000, group }));
 *
 * What is not parsed yet is fed piece by piece: up to the end of a head, as long as a body is, up to an empty line of a chunked body. So
 * a piece never holds two heads. Each piece is a slice, for which connections take turns (`slice-turns.ts`). Bound (I10): what the socket
 * read at once; it is paused while that waits.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { leaveTurn, SliceSize, waitForTurn, type TurnTaker } from '../../../slice-turns.js';

export interface SerialOptions {
  /** Whose turn it is: a box. */
  readonly group: string;
  /** A connection ends when the head of a request is not there so long (ms) after its beginning, or after its last answer. */
  readonly idleMs: number;
}

/** A client that has ended its side gets what is answered within this time (ms). */
const HALF_OPEN_MS = 60_000;
/** Of a body that nobody wants any more once its request was answered (bytes). */
const MAX_DISCARDED = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/** The request that is read or answered. */
interface Current {
  readonly req: IncomingMessage;
  /** Bytes of its body that are to come; undefined: it comes in chunks. */
  bodyLeft: number | undefined;
  answered: boolean;
}

export class SerialRequests extends Duplex implements TurnTaker {
  readonly inner: Duplex;
  readonly group: string;
  private readonly idleMs: number;
  private waiting: Buffer = NOTHING;
  private ended = false;
  /** The parser asked for more. */
  private wanted = false;
  private readonly size = new SliceSize();
  private current: Current | undefined;
  private idle: NodeJS.Timeout | undefined;

  constructor(inner: Duplex, { group, idleMs }: SerialOptions) {
    super({ allowHalfOpen: true });
    this.inner = inner;
    this.group = group;
    this.idleMs = idleMs;
    inner.on('data', this.onData);
    inner.on('end', this.onEnd);
    inner.once('close', this.onClose);
    inner.on('error', () => undefined);
    this.on('resume', () => waitForTurn(this));
    this.idle = setTimeout(() => this.destroy(), idleMs);
  }

  /** To be called for each request, in the turn in which it is emitted. */
  static began(req: IncomingMessage, res: ServerResponse): void {
    const connection: Duplex = req.socket;
    if (connection instanceof SerialRequests) connection.begin(req, res);
  }

  /** Gives the connection back as it is, and what was read of it beyond the last request: it becomes something else than HTTP. */
  release(head: Buffer): { readonly inner: Duplex; readonly rest: Buffer } {
    const { inner } = this;
    clearTimeout(this.idle);
    leaveTurn(this);
    inner.off('data', this.onData).off('end', this.onEnd).off('close', this.onClose);
    inner.pause();
    const rest = Buffer.concat([head, this.waiting]);
    this.waiting = NOTHING;
    return { inner, rest };
  }

  private begin(req: IncomingMessage, res: ServerResponse): void {
    clearTimeout(this.idle);
    // No piece holds two heads; should one ever, nothing of the connection can be relied on.
    if (this.current !== undefined) return void this.destroy();
    const length = req.headers['content-length'];
    const chunked = req.headers['transfer-encoding'] !== undefined;
    const current: Current = { req, bodyLeft: chunked ? undefined : Number(length ?? 0), answered: false };
    this.current = current;
    res.once('close', () => {
      if (this.destroyed) return;
      current.answered = true;
      clearTimeout(this.idle);
      if (!req.complete && (current.bodyLeft ?? Infinity) > MAX_DISCARDED) return void this.destroy();
      this.idle = setTimeout(() => this.destroy(), this.idleMs);
      waitForTurn(this);
    });
  }

  private readonly onData = (chunk: Buffer): void => {
    this.inner.pause();
    this.waiting = this.waiting.length === 0 ? chunk : Buffer.concat([this.waiting, chunk]);
    waitForTurn(this);
  };

  private readonly onEnd = (): void => {
    this.ended = true;
    if (this.current !== undefined) {
      clearTimeout(this.idle);
      this.idle = setTimeout(() => this.destroy(), HALF_OPEN_MS);
    }
    waitForTurn(this);
  };

  private readonly onClose = (): void => {
    this.destroy();
  };

  override _read(): void {
    this.wanted = true;
    waitForTurn(this);
  }

  /** One piece, parsed before it returns: it is not called within a read. */
  passSlice(): void {
    if (!this.wanted || this.destroyed || this.readableFlowing !== true || this.readableLength > 0) return;
    if (this.current?.req.complete === true) {
      if (!this.current.answered) return;
      this.current = undefined;
    }
    if (this.waiting.length === 0) {
      if (this.ended) this.push(null);
      else this.inner.resume();
      return;
    }
    const piece = this.waiting.subarray(0, this.pieceLength());
    if (piece.length === 0) return void this.inner.resume();
    this.waiting = this.waiting.subarray(piece.length);
    if (this.current?.bodyLeft !== undefined) this.current.bodyLeft -= piece.length;
    this.wanted = false;
    this.size.measure(() => this.push(piece));
    waitForTurn(this);
  }

  private pieceLength(): number {
    const left = this.current?.bodyLeft;
    if (left !== undefined && left > 0) return Math.min(left, this.waiting.length, this.size.bytes);
    const slice = this.waiting.subarray(0, this.size.bytes);
    const end = emptyLine(slice);
    if (end > 0) return end;
    if (this.ended && slice.length === this.waiting.length) return slice.length;
    // What could be the beginning of an empty line waits for what follows, or the next piece would hold its end and another head.
    if (slice.at(-1) === 10) return slice.length - 1;
    return slice.at(-2) === 10 && slice.at(-1) === 13 ? slice.length - 2 : slice.length;
  }

  /** Asked for by node:http after the last answer. */
  destroySoon(): void {
    this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.inner.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.inner.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.idle);
    leaveTurn(this);
    this.waiting = NOTHING;
    this.inner.destroy();
    done(error);
  }
}

/** Where the first empty line ends; -1 without one. Lines may end without a carriage return, which some parsers take. */
function emptyLine(bytes: Buffer): number {
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at + 1] === 10) return at + 2;
    if (bytes[at + 1] === 13 && bytes[at + 2] === 10) return at + 3;
  }
  return -1;
}
