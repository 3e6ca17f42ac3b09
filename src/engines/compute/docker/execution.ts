/**
 * Owns the service's end of one command in a container. The command ends with the stream: its process in the box kills all of it when
 * nobody holds the other end.
 *
 * Bounds (I10): output that nobody has taken yet is at most QUEUE bytes and what one read brought; then the stream is not read, which
 * fills the daemon's pipes and so stops the program. Input under way is at most STDIN_WINDOW bytes; `write` waits for room.
 */
import { setMaxListeners } from 'node:events';
import { constants } from 'node:os';
import { z } from 'zod';
import type { CommandSignal, ExecEnd, Execution, TerminalSize } from '../engine.js';
import { encodeFrame, FrameReader, MAX_FRAME, STDIN_WINDOW, type Frame } from '../runner/protocol/frames.js';
import { BOX_FRAME, type Entered } from './frames.js';

/** Bytes of output that wait for the reader before the stream is left unread. */
const QUEUE = 256 * 1024;

type Piece = { readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array };

/** What the box says is not to be trusted. */
const endSchema: z.ZodType<ExecEnd> = z.discriminatedUnion('end', [
  z.object({ end: z.literal('Exited'), exitCode: z.int().min(0).max(255), timedOut: z.boolean() }),
  z.object({
    end: z.literal('NotExecuted'),
    reason: z.enum(['CommandNotFound', 'CommandNotExecutable', 'WorkingDirNotFound', 'SandboxFailed']),
    message: z.string().max(10_000),
  }),
]);

export class BoxExecution implements Execution {
  readonly output: AsyncIterable<Piece>;
  readonly ended: Promise<ExecEnd>;
  private readonly entered: Entered;
  private readonly reader = new FrameReader();
  private readonly queue: Piece[] = [];
  private queued = 0;
  private dropping = false;
  private began = false;
  private end: ExecEnd | undefined;
  private tellEnd: (end: ExecEnd) => void = () => undefined;
  private wakeReader: () => void = () => undefined;
  private underWay = 0;
  private wakeWriter: () => void = () => undefined;
  private writes: Promise<void> = Promise.resolve();

  /** `brokenEnd` says what it means that the stream ended without a word. */
  constructor(entered: Entered, signal: AbortSignal, brokenEnd: (began: boolean) => Promise<ExecEnd>) {
    this.entered = entered;
    this.ended = new Promise((resolve) => {
      this.tellEnd = resolve;
    });
    this.output = { [Symbol.asyncIterator]: () => this.pieces() };
    setMaxListeners(0, signal);
    const abort = (): void => this.finish({ end: 'WorkGone' }, true);
    // Also when it has ended already, and nobody will take what it said.
    signal.addEventListener('abort', abort, { once: true });
    void this.ended.then(() => signal.removeEventListener('abort', abort));
    const { output } = entered;
    output.on('data', (chunk: Buffer) => this.read(chunk));
    output.once('end', () => {
      if (this.end === undefined) void brokenEnd(this.began).then((end) => this.finish(end, false));
    });
    if (signal.aborted) abort();
  }

  write(data: Uint8Array): Promise<void> {
    this.writes = this.writes.then(() => this.send(data));
    return this.writes;
  }

  endInput(): void {
    this.writes = this.writes.then(() => this.frame(BOX_FRAME.end, Buffer.alloc(0)));
  }

  signal(signal: CommandSignal): void {
    this.frame(BOX_FRAME.signal, Buffer.from(String(constants.signals[signal])));
  }

  resize({ columns, rows }: TerminalSize): void {
    this.frame(BOX_FRAME.size, Buffer.from(`${columns}x${rows}`));
  }

  private async send(data: Uint8Array): Promise<void> {
    for (let at = 0; at < data.length; at += MAX_FRAME) {
      const piece = data.subarray(at, at + MAX_FRAME);
      while (this.end === undefined && this.underWay + piece.length > STDIN_WINDOW) {
        await new Promise<void>((resolve) => {
          this.wakeWriter = resolve;
        });
      }
      if (this.end !== undefined) return;
      this.underWay += piece.length;
      this.frame(BOX_FRAME.input, piece);
    }
  }

  private frame(type: number, data: Uint8Array): void {
    const { stream } = this.entered;
    if (this.end === undefined && !stream.destroyed) stream.write(encodeFrame(type, data));
  }

  private read(chunk: Buffer): void {
    try {
      for (const frame of this.reader.read(chunk)) this.receive(frame);
    } catch {
      // Not what our program says: somebody inside has taken it over.
      this.entered.stream.destroy();
    }
    if (this.queued > QUEUE && !this.dropping) this.entered.output.pause();
    this.wakeReader();
  }

  private receive({ type, data }: Frame): void {
    switch (type) {
      case BOX_FRAME.stdout:
      case BOX_FRAME.stderr:
        if (this.dropping || data.length === 0) return;
        this.queue.push({ stream: type === BOX_FRAME.stdout ? 'stdout' : 'stderr', data });
        this.queued += data.length;
        return;
      case BOX_FRAME.connected:
        this.began = true;
        return;
      case BOX_FRAME.room:
        this.underWay = Math.max(0, this.underWay - data.readUInt32BE(0));
        this.wakeWriter();
        return;
      case BOX_FRAME.ended:
        this.finish(endSchema.parse(JSON.parse(data.toString('utf8'))), false);
        return;
      default:
        throw new Error('a frame that is not known');
    }
  }

  /** The first end counts. What was read before it can still be taken, unless the caller itself gave up. */
  private finish(end: ExecEnd, drop: boolean): void {
    if (drop) this.drop();
    if (this.end === undefined) {
      this.end = end;
      this.entered.stream.destroy();
    }
    this.wakeWriter();
    this.wakeReader();
    this.tellWhenTaken();
  }

  private tellWhenTaken(): void {
    if (this.end !== undefined && this.queue.length === 0) this.tellEnd(this.end);
  }

  private drop(): void {
    this.dropping = true;
    this.queue.length = 0;
    this.queued = 0;
    this.entered.output.resume();
  }

  private async *pieces(): AsyncGenerator<Piece> {
    try {
      for (;;) {
        const piece = this.queue.shift();
        if (piece !== undefined) {
          this.queued -= piece.data.length;
          if (this.queued <= QUEUE / 2) this.entered.output.resume();
          this.tellWhenTaken();
          yield piece;
          continue;
        }
        if (this.end !== undefined) return;
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
