/**
 * A connection whose other end is hostile, read in slices, so that what it costs follows its work and not the haste of its peer: what SSH
 * clients send, and what servers and programs in boxes answer.
 *
 * Why: a parser does all that is in one read at once, and one read follows the next. An SSH packet of 36 bytes costs some 40 µs (decryption,
 * a question, an answer of its own), a TLS record of one byte or an answer `103` some 10: a megabyte of them holds the event loop for a
 * second.
 *
 * All such connections share one budget: TURN_MS of work, then a rest of REST times as long. Groups (addresses, orgs, hosts) take turns
 * for slices, which are the smaller the more they cost. What is written for one slice leaves in one write. A peer that does not read what is
 * written is read no further until it does.
 *
 * I10: each connection holds one read of its source (64 KiB).
 */
import { Duplex } from 'node:stream';

/** Bytes. */
const SMALLEST = 4 * 1024;
const LARGEST = 16 * 1024;
/** A slice that took less is followed by a larger one, one that took more by a smaller one (ms). */
const CHEAP_MS = 0.1;
const DEAR_MS = 0.5;
const TURN_MS = 1;
const REST = 2;
const UNSENT = 64 * 1024;

/** Connections with something that waits, by group, in the order of their turns. */
const waiting = new Map<string, Set<SlicedConnection>>();
let going = false;

function takeNext(): SlicedConnection | undefined {
  for (const [group, members] of waiting) {
    waiting.delete(group);
    for (const member of members) {
      members.delete(member);
      if (members.size > 0) waiting.set(group, members);
      return member;
    }
  }
  return undefined;
}

/** Passes slices for TURN_MS, and goes on after the rest. */
function pass(): void {
  const began = performance.now();
  let held = 0;
  for (let next = takeNext(); next !== undefined; next = held < TURN_MS ? takeNext() : undefined) {
    next.passSlice();
    held = performance.now() - began;
  }
  if (held < TURN_MS) going = false;
  else setTimeout(pass, held * REST);
}

/** Ends and breaks with its source. A source that may stay half open loses nothing of what has come before its end. */
export class SlicedConnection extends Duplex {
  readonly group: string;
  protected readonly source: Duplex;
  private unread: Buffer | undefined;
  private size = SMALLEST;
  private isWanted = false;
  private isOver = false;

  constructor(source: Duplex, group: string) {
    super({ writableHighWaterMark: UNSENT, allowHalfOpen: false });
    this.source = source;
    this.group = group;
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
    if (this.writableNeedDrain) {
      this.once('drain', () => this.wait());
      return;
    }
    const { unread } = this;
    if (unread === undefined) {
      if (this.isOver) this.push(null);
      return;
    }
    const slice = unread.subarray(0, this.size);
    this.unread = unread.length > slice.length ? unread.subarray(slice.length) : undefined;
    const began = performance.now();
    this.cork();
    this.push(slice);
    this.uncork();
    const took = performance.now() - began;
    if (took > DEAR_MS) this.size = Math.max(SMALLEST, this.size / 2);
    else if (took < CHEAP_MS) this.size = Math.min(LARGEST, this.size * 2);
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
    const others = waiting.get(this.group);
    if (others === undefined) waiting.set(this.group, new Set([this]));
    else others.add(this);
    if (going) return;
    going = true;
    setImmediate(pass);
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
    const others = waiting.get(this.group);
    if (others?.delete(this) === true && others.size === 0) waiting.delete(this.group);
    this.unread = undefined;
    this.source.destroy();
    done(error);
  }
}
