/**
 * A connection whose other end is hostile, read in slices, so that what it costs follows its work and not the haste of its peer: what SSH
 * clients send, and what servers and programs in boxes answer.
 *
 * Why: a parser does all that is in one read at once, and one read follows the next. An SSH packet of 36 bytes costs some 40 µs (decryption,
 * a question, an answer of its own), a TLS record of one byte or an answer `103` some 10: a megabyte of them holds the event loop for a
 * second.
 *
 * All such connections take turns for slices out of one budget (`slice-turns.ts`). What is written for one slice leaves in one write.
 *
 * Where what a peer sends is answered by what is written to it, a peer that does not read is read no further until it does. Where the two
 * directions are streams of their own, as in HTTP that is passed on, they must not wait for each other: a server that unpacks what it gets
 * reads only as fast as its answer is taken.
 *
 * I10: each connection holds one read of its source (64 KiB).
 */
import { Duplex } from 'node:stream';
import { leaveTurn, SliceSize, waitForTurn, type TurnTaker } from './slice-turns.js';

/** Bytes. */
const UNSENT = 64 * 1024;

/** Whether what is read is what causes what is written. */
export type Directions = 'Answers' | 'Apart';

/** Ends and breaks with its source. A source that may stay half open loses nothing of what has come before its end. */
export class SlicedConnection extends Duplex implements TurnTaker {
  readonly group: string;
  protected readonly source: Duplex;
  private readonly directions: Directions;
  private unread: Buffer | undefined;
  private readonly size = new SliceSize();
  private isWanted = false;
  private isOver = false;

  constructor(source: Duplex, group: string, directions: Directions = 'Answers') {
    super({ writableHighWaterMark: UNSENT, allowHalfOpen: false });
    this.source = source;
    this.group = group;
    this.directions = directions;
    source.on('data', (chunk: Buffer) => {
      source.pause();
      this.unread = chunk;
      this.wait();
    });
    source.once('end', () => {
      this.isOver = true;
      this.wait();
    });
    source.once('close', () => this.destroy());
    source.on('error', (error) => this.destroy(error));
    // What is written after its end goes nowhere.
    this.on('error', () => undefined);
    source.pause();
  }

  /** One slice to its reader, which works on it at once. */
  passSlice(): void {
    if (this.destroyed) return;
    if (this.directions === 'Answers' && this.writableNeedDrain) {
      this.once('drain', () => this.wait());
      return;
    }
    const { unread } = this;
    if (unread === undefined) {
      if (this.isOver) this.push(null);
      return;
    }
    const slice = unread.subarray(0, this.size.bytes);
    this.unread = unread.length > slice.length ? unread.subarray(slice.length) : undefined;
    this.size.measure(() => {
      this.cork();
      this.push(slice);
      this.uncork();
    });
    this.isWanted = this.readableFlowing === true && this.readableLength === 0;
    this.wait();
  }

  /** Takes its turn when its reader wants more and there is more; else reads on. */
  private wait(): void {
    if (!this.isWanted || this.destroyed) return;
    if (this.unread === undefined && !this.isOver) {
      this.source.resume();
      return;
    }
    waitForTurn(this);
  }

  override _read(): void {
    this.isWanted = true;
    this.wait();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.sent(this.source.write(chunk), done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    const { source } = this;
    source.cork();
    let goesOn = true;
    for (const { chunk } of chunks) goesOn = source.write(chunk);
    source.uncork();
    this.sent(goesOn, done);
  }

  private sent(goesOn: boolean, done: () => void): void {
    if (goesOn) done();
    else this.source.once('drain', done);
  }

  override _final(done: () => void): void {
    this.source.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    leaveTurn(this);
    this.unread = undefined;
    this.source.destroy();
    done(error);
  }
}
