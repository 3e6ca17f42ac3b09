/**
 * Holds what a command or port has said and its client has not taken yet, and how it ended: the half of an `Execution` that is the same
 * whatever carries it. The end comes once the last of the output is taken, unless the caller itself gave up.
 *
 * Bounds (I10): at most QUEUE bytes and what one read brought; then the source is paused, and so the program is.
 */
import type { ExecEnd } from '../contract/engine.js';

/** Bytes of output that wait for the reader before the source is left unread. */
const QUEUE = 256 * 1024;

type Piece = { readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array };

export interface Source {
  pause(): void;
  resume(): void;
  /** Nothing is wanted of it any more. */
  close(): void;
}

export class OutputBuffer {
  readonly output: AsyncIterable<Piece>;
  readonly ended: Promise<ExecEnd>;
  private readonly source: Source;
  private readonly queue: Piece[] = [];
  private queued = 0;
  /** The reader gave up: what still comes is dropped. */
  private dropping = false;
  private outputEnded = false;
  private known: ExecEnd | undefined;
  private tellEnd: (end: ExecEnd) => void = () => undefined;
  private wakeReader: () => void = () => undefined;

  constructor(source: Source) {
    this.source = source;
    this.ended = new Promise((resolve) => {
      this.tellEnd = resolve;
    });
    this.output = { [Symbol.asyncIterator]: () => this.pieces() };
  }

  /** The first end that was told of. */
  get end(): ExecEnd | undefined {
    return this.known;
  }

  add(stream: Piece['stream'], data: Uint8Array): void {
    if (this.dropping || data.length === 0) return;
    this.queue.push({ stream, data });
    this.queued += data.length;
  }

  /** More than is to wait does. */
  get full(): boolean {
    return this.queued > QUEUE && !this.dropping;
  }

  /** After all that one read brought was added. */
  settle(): void {
    if (this.full) this.source.pause();
    this.wakeReader();
  }

  /** No output follows; its end may take longer (a port whose input goes on). */
  endOutput(): void {
    this.outputEnded = true;
  }

  /** The first end counts. What was read before it can still be taken, unless the caller itself gave up (`drop`). */
  finish(end: ExecEnd, drop: boolean): void {
    if (drop) this.drop();
    if (this.known === undefined) {
      this.known = end;
      this.source.close();
    }
    this.wakeReader();
    this.tellWhenTaken();
  }

  private tellWhenTaken(): void {
    if (this.known !== undefined && this.queue.length === 0) this.tellEnd(this.known);
  }

  private drop(): void {
    this.dropping = true;
    this.queue.length = 0;
    this.queued = 0;
    this.source.resume();
  }

  private async *pieces(): AsyncGenerator<Piece> {
    try {
      for (;;) {
        const piece = this.queue.shift();
        if (piece !== undefined) {
          this.queued -= piece.data.length;
          if (this.queued <= QUEUE / 2) this.source.resume();
          this.tellWhenTaken();
          yield piece;
          continue;
        }
        if (this.known !== undefined || this.outputEnded) return;
        await new Promise<void>((resolve) => {
          this.wakeReader = resolve;
        });
      }
    } finally {
      this.drop();
      this.tellWhenTaken();
    }
  }
}
