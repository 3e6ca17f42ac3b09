/**
 * Owns the service's end of one command or port: a connection of its own to the runner (`carry.ts`), which carries frames
 * (`runner/protocol/frames.ts`) and dies with the caller's signal, by which the runner kills the command.
 *
 * Bounds (I10): output that nobody takes stops the reading of the socket (`../receipt.ts`), which stops the runner's reading and so the
 * program. Input under way is at most the window; `write` waits for room.
 */
import type { Socket } from 'node:net';
import { Receipt } from '../receipt.js';
import type { CommandSignal, ExecEnd, Execution, ExecOrder, ExecStart, TerminalSize } from '../engine.js';
import {
  FRAME,
  FrameReader,
  IN_PIECES,
  PIECE,
  STDIN_WINDOW,
  WIDE_STDIN_WINDOW,
  writeFrame,
  type Frame,
} from '../runner/protocol/frames.js';
import { AGENT_VERSION, type ExecAnswer } from '../runner/protocol/messages.js';
import { carry, type RunnerAddress } from './carry.js';
import { LongInput } from './input.js';

/** Input in parts of at least so many bytes is a stream: it goes on in whole frames, and what is left over waits for what follows. */
const STREAM = 32 * 1024;
/** So long (ms), at most. */
const HOLD_MS = 2;

/** Throws EngineRefusal, or the signal's reason when that comes first. */
export async function startExec(runner: RunnerAddress, order: ExecOrder, signal: AbortSignal): Promise<ExecStart> {
  const { socket, answer, rest } = await carry(runner, { op: 'exec', order }, signal);
  const said = answer as ExecAnswer;
  if (said.outcome === 'NotRunning') {
    socket.destroy();
    return { outcome: 'NotRunning' };
  }
  const input = said.input === undefined ? undefined : new LongInput(said.input);
  return { outcome: 'Started', execution: new SocketExecution(socket, rest, windowOf(said, runner), signal, input) };
}

/** Bytes of input that may be under way. */
export function windowOf({ window }: { readonly window?: number | undefined }, { version }: RunnerAddress): number {
  return window ?? (version >= AGENT_VERSION ? WIDE_STDIN_WINDOW : STDIN_WINDOW);
}

export class SocketExecution implements Execution {
  readonly output: Execution['output'];
  readonly ended: Promise<ExecEnd>;
  private readonly receipt: Receipt;
  private readonly socket: Socket;
  private readonly reader = new FrameReader(IN_PIECES);
  private readonly window: number;
  private readonly input: LongInput | undefined;
  private underWay = 0;
  /** Input that is to go on with what follows it. */
  private held: Uint8Array[] = [];
  private heldBytes = 0;
  private holdTimer: NodeJS.Timeout | undefined;
  private wakeWriter: () => void = () => undefined;
  /** Writes go out one after another, in the order in which they were asked for. */
  private writes: Promise<void> = Promise.resolve();

  constructor(socket: Socket, rest: Buffer, window: number, signal: AbortSignal, input?: LongInput) {
    this.socket = socket;
    this.input = input;
    this.window = window;
    this.receipt = new Receipt({
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      close: () => socket.destroy(),
    });
    this.output = this.receipt.output;
    this.ended = this.receipt.ended;
    // Also when it has ended already, and nobody will take what it said.
    const giveUp = (): void => this.finish({ end: 'WorkGone' }, true);
    signal.addEventListener('abort', giveUp, { once: true });
    void this.ended.then(() => signal.removeEventListener('abort', giveUp));
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.once('close', () => this.finish({ end: 'WorkGone' }, signal.aborted));
    this.read(rest);
    if (socket.destroyed) this.finish({ end: 'WorkGone' }, signal.aborted);
    else if (!this.receipt.full) socket.resume();
  }

  write(data: Uint8Array): Promise<void> {
    this.writes = this.writes.then(() => this.send(data));
    return this.writes;
  }

  endInput(): void {
    this.writes = this.writes.then(async () => {
      await (this.input === undefined ? this.release() : this.bring((input) => input.end()));
      this.frame(FRAME.endOfInput);
    });
  }

  resize({ columns, rows }: TerminalSize): void {
    const size = Buffer.alloc(4);
    size.writeUInt16BE(columns, 0);
    size.writeUInt16BE(rows, 2);
    this.frame(FRAME.resize, size);
  }

  /** The work ended under it. */
  get gone(): boolean {
    return this.receipt.end?.end === 'WorkGone';
  }

  /** Breaks the connection, by which the runner ends it. */
  abandon(): void {
    this.socket.destroy();
  }

  signal(signal: CommandSignal): void {
    this.frame(FRAME.signal, Buffer.from(signal));
  }

  /** Past the runner. A command whose input cannot be brought would wait for it for ever. */
  private async bring(act: (input: LongInput) => Promise<void>): Promise<void> {
    if (this.input === undefined || this.receipt.end !== undefined) return;
    await act(this.input).catch(() => this.abandon());
  }

  private async send(data: Uint8Array): Promise<void> {
    if (this.input !== undefined) return this.bring((input) => input.write(data));
    let rest = data;
    while (this.receipt.end === undefined && this.heldBytes + rest.length >= PIECE) {
      const part = rest.subarray(0, PIECE - this.heldBytes);
      this.hold(part);
      rest = rest.subarray(part.length);
      await this.release();
    }
    this.hold(rest);
    if (data.length < STREAM) return this.release();
    if (this.heldBytes > 0)
      this.holdTimer ??= setTimeout(() => {
        this.writes = this.writes.then(() => this.release());
      }, HOLD_MS);
  }

  private hold(part: Uint8Array): void {
    if (part.length === 0) return;
    this.held.push(part);
    this.heldBytes += part.length;
  }

  /** What is held goes, once there is room for it. */
  private async release(): Promise<void> {
    clearTimeout(this.holdTimer);
    this.holdTimer = undefined;
    const { held, heldBytes } = this;
    this.held = [];
    this.heldBytes = 0;
    if (heldBytes === 0) return;
    while (this.receipt.end === undefined && this.underWay + heldBytes > this.window) await this.room();
    this.underWay += heldBytes;
    this.frame(FRAME.stdin, ...held);
  }

  private room(): Promise<void> {
    return new Promise((resolve) => {
      this.wakeWriter = resolve;
    });
  }

  private frame(type: number, ...parts: readonly Uint8Array[]): void {
    if (this.receipt.end === undefined && !this.socket.destroyed) writeFrame(this.socket, type, ...parts);
  }

  private read(chunk: Buffer): void {
    try {
      for (const frame of this.reader.read(chunk)) this.receive(frame);
    } catch {
      // Not what a runner says: the close tells of the end.
      this.socket.destroy();
    }
    this.receipt.settle();
  }

  private receive({ type, data }: Frame): void {
    switch (type) {
      case FRAME.stdout:
      case FRAME.stderr:
        return this.receipt.add(type === FRAME.stdout ? 'stdout' : 'stderr', data);
      case FRAME.room:
        this.underWay -= data.readUInt32BE(0);
        this.wakeWriter();
        return;
      case FRAME.endOfOutput:
        return this.receipt.endOutput();
      case FRAME.end:
        this.finish(JSON.parse(data.toString('utf8')) as ExecEnd, false);
        return;
      default:
        throw new Error('a frame that is not known');
    }
  }

  private finish(end: ExecEnd, drop: boolean): void {
    this.receipt.finish(end, drop);
    this.input?.close();
    this.wakeWriter();
  }
}
