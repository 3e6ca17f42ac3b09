/**
 * The service's end of one command in a container (`../shared/PROTOCOL.md`). The command ends with the stream: its process in the box kills
 * all of it when the other end closes.
 *
 * Bounds (I10): output that nobody takes stops the reading of the stream (`../shared/output-buffer.ts`), which fills the daemon's pipes and so stops
 * the program. Input under way is at most STDIN_WINDOW bytes; `write` waits for room.
 */
import { setMaxListeners } from 'node:events';
import { constants } from 'node:os';
import { z } from 'zod';
import { OutputBuffer } from '../shared/output-buffer.js';
import type { CommandSignal, ExecEnd, Execution, TerminalSize } from '../contract/engine.js';
import { encodeFrame, FrameReader, MAX_FRAME, STDIN_WINDOW, type Frame } from '../shared/frames.js';
import { BOX_FRAME, type AttachedBox } from './frames.js';

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
  readonly output: Execution['output'];
  readonly ended: Promise<ExecEnd>;
  private readonly buffer: OutputBuffer;
  private readonly attached: AttachedBox;
  private readonly reader = new FrameReader();
  private began = false;
  private underWay = 0;
  private wakeWriter: () => void = () => undefined;
  private writes: Promise<void> = Promise.resolve();

  /** `brokenEnd` says what it means that the stream ended without a word. */
  constructor(attached: AttachedBox, signal: AbortSignal, brokenEnd: (began: boolean) => Promise<ExecEnd>) {
    this.attached = attached;
    this.buffer = new OutputBuffer({
      pause: () => attached.output.pause(),
      resume: () => attached.output.resume(),
      close: () => attached.stream.destroy(),
    });
    this.output = this.buffer.output;
    this.ended = this.buffer.ended;
    setMaxListeners(0, signal);
    const abort = (): void => this.finish({ end: 'WorkGone' }, true);
    // Also when it has ended already, and nobody will take what it said.
    signal.addEventListener('abort', abort, { once: true });
    void this.ended.then(() => signal.removeEventListener('abort', abort));
    const { output } = attached;
    output.on('data', (chunk: Buffer) => this.read(chunk));
    output.once('end', () => {
      if (this.buffer.end === undefined) void brokenEnd(this.began).then((end) => this.finish(end, false));
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
      while (this.buffer.end === undefined && this.underWay + piece.length > STDIN_WINDOW) {
        await new Promise<void>((resolve) => {
          this.wakeWriter = resolve;
        });
      }
      if (this.buffer.end !== undefined) return;
      this.underWay += piece.length;
      this.frame(BOX_FRAME.input, piece);
    }
  }

  private frame(type: number, data: Uint8Array): void {
    const { stream } = this.attached;
    if (this.buffer.end === undefined && !stream.destroyed) stream.write(encodeFrame(type, data));
  }

  private read(chunk: Buffer): void {
    try {
      for (const frame of this.reader.read(chunk)) this.receive(frame);
    } catch {
      // Not what our program says: work inside has taken it over.
      this.attached.stream.destroy();
    }
    this.buffer.settle();
  }

  private receive({ type, data }: Frame): void {
    switch (type) {
      case BOX_FRAME.stdout:
      case BOX_FRAME.stderr:
        return this.buffer.add(type === BOX_FRAME.stdout ? 'stdout' : 'stderr', data);
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

  private finish(end: ExecEnd, drop: boolean): void {
    this.buffer.finish(end, drop);
    this.wakeWriter();
  }
}
