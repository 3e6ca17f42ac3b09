/**
 * Writes the lines of the log to a descriptor. The process never ends, waits or fails because of its log: lines that cannot be written (a
 * full disk, a reader that has gone, a terminal that was closed) are dropped and counted, and the next ones are tried again. A reader
 * that is slow costs lines and nothing else.
 *
 * Bound (I10): MAX_BYTES wait; what is logged beyond them is dropped. One write at a time, at the side of the event loop.
 */
import { write, writeSync } from 'node:fs';

const MAX_BYTES = 1024 * 1024;
/** Bytes that are given to the system at once. */
const AT_ONCE = 64 * 1024;
/** Until a descriptor that takes nothing at the moment is tried again (ms). */
const RETRY_MS = 100;
/** Of those, at the end of the process. */
const TRIES_AT_END = 20;
const SLEEP = new Int32Array(new SharedArrayBuffer(4));

export class LogWriter {
  private readonly descriptor: number;
  private lostLines = 0;
  private readonly waiting: Buffer[] = [];
  private waitingBytes = 0;
  /** What the system has now, or is to have again. */
  private chunk: Buffer = Buffer.alloc(0);
  private writing = false;
  private retry: NodeJS.Timeout | undefined;
  /** The last that was written is the beginning of a line whose rest was dropped. */
  private cutLine = false;

  constructor(descriptor: number) {
    this.descriptor = descriptor;
    process.once('exit', () => this.flush());
  }

  /** Lines that were dropped. */
  get lost(): number {
    return this.lostLines;
  }

  /** One line, with its end. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.waitingBytes + bytes.length > MAX_BYTES) {
      this.lostLines += 1;
      return;
    }
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
    if (!this.writing) this.next();
  }

  private next(): void {
    if (this.chunk.length === 0) this.chunk = this.take();
    if (this.chunk.length === 0) return;
    this.writing = true;
    write(this.descriptor, this.chunk, (error, written) => {
      this.writing = false;
      if (error === null) this.wrote(written);
      else if (isBusy(error)) {
        this.writing = true;
        this.retry = setTimeout(() => {
          this.retry = undefined;
          this.next();
        }, RETRY_MS).unref();
        return;
      } else this.drop();
      this.next();
    });
  }

  /** Whole lines. */
  private take(): Buffer {
    const parts: Buffer[] = this.cutLine && this.waiting.length > 0 ? [Buffer.from('\n')] : [];
    let size = 0;
    while (size < AT_ONCE) {
      const line = this.waiting.shift();
      if (line === undefined) break;
      parts.push(line);
      size += line.length;
    }
    this.waitingBytes -= size;
    return Buffer.concat(parts);
  }

  private wrote(bytes: number): void {
    if (bytes > 0) this.cutLine = this.chunk[bytes - 1] !== 10;
    this.chunk = this.chunk.subarray(bytes);
  }

  private drop(): void {
    // One at the beginning only ends the line before.
    for (const byte of this.chunk.subarray(1)) if (byte === 10) this.lostLines += 1;
    this.chunk = Buffer.alloc(0);
  }

  /** What waits at the end of the process, when nothing can be done at its side any more: for a moment also a slow reader is waited for. */
  private flush(): void {
    // What the system has at the moment comes out by itself.
    if (this.writing && this.retry === undefined) this.chunk = Buffer.alloc(0);
    clearTimeout(this.retry);
    let tries = TRIES_AT_END;
    while (this.chunk.length > 0 || this.waiting.length > 0) {
      if (this.chunk.length === 0) this.chunk = this.take();
      try {
        this.wrote(writeSync(this.descriptor, this.chunk));
      } catch (error) {
        tries -= 1;
        // Nobody is left to hear of what is lost.
        if (!isBusy(error as NodeJS.ErrnoException) || tries === 0) return;
        Atomics.wait(SLEEP, 0, 0, RETRY_MS);
      }
    }
  }
}

function isBusy({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EBUSY' || code === 'EINTR';
}
