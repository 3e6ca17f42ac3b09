/**
 * The service's end of one command or port: a connection of its own to the runner (`open-stream.ts`), which carries frames
 * (`../shared/PROTOCOL.md`) and dies with the caller's signal, by which the runner kills the command. Of a command that carries much,
 * input and standard output go on a second one (`data.ts`).
 *
 * Bounds (I10): output that nobody takes stops the reading of the sockets (`../shared/output-buffer.ts`), which stops the runner's reading and so the
 * program. Input: `frame-input.ts`, `data.ts`.
 */
import type { Socket } from 'node:net';
import { OutputBuffer } from '../shared/output-buffer.js';
import type { CommandSignal, ExecEnd, Execution, ExecOrder, ExecStart, TerminalSize } from '../contract/engine.js';
import {
  FRAME,
  FrameReader,
  IN_PIECES,
  STDIN_WINDOW,
  WIDE_STDIN_WINDOW,
  writeFrame,
  type Frame,
} from '../shared/frames.js';
import { AGENT_VERSION, type DataPlace, type ExecAnswer } from '../../../runner/protocol/messages.js';
import { openStream, type RunnerAddress } from './open-stream.js';
import { DataConnection } from './data.js';
import { FrameInput, type Input } from './frame-input.js';

/** Throws EngineRefusal, or the signal's reason when that comes first. */
export async function startExec(runner: RunnerAddress, order: ExecOrder, signal: AbortSignal): Promise<ExecStart> {
  const { socket, answer, rest } = await openStream(runner, { op: 'exec', order }, signal);
  const said = answer as ExecAnswer;
  if (said.outcome === 'NotRunning') {
    socket.destroy();
    return { outcome: 'NotRunning' };
  }
  const execution = new SocketExecution(socket, rest, windowOf(said, runner), signal, said.data);
  return { outcome: 'Started', execution };
}

/** Bytes of input that may be under way. */
export function windowOf({ window }: { readonly window?: number | undefined }, { version }: RunnerAddress): number {
  return window ?? (version >= AGENT_VERSION ? WIDE_STDIN_WINDOW : STDIN_WINDOW);
}

export class SocketExecution implements Execution {
  readonly output: Execution['output'];
  readonly ended: Promise<ExecEnd>;
  private readonly buffer: OutputBuffer;
  private readonly socket: Socket;
  private readonly reader = new FrameReader(IN_PIECES);
  private readonly frames: FrameInput;
  private readonly data: DataConnection | undefined;
  private readonly input: Input;
  /** The runner has said how it ended: that its connection closes then means nothing. */
  private endKnown = false;

  constructor(socket: Socket, rest: Buffer, window: number, signal: AbortSignal, place?: DataPlace) {
    this.socket = socket;
    this.frames = new FrameInput(window, (parts) => this.frame(FRAME.stdin, ...parts));
    this.data = place === undefined ? undefined : new DataConnection(place, (data) => this.add(data));
    this.input = this.data ?? this.frames;
    this.buffer = new OutputBuffer({
      pause: () => {
        socket.pause();
        this.data?.pause();
      },
      resume: () => {
        socket.resume();
        this.data?.resume();
      },
      close: () => socket.destroy(),
    });
    this.output = this.buffer.output;
    this.ended = this.buffer.ended;
    // Also when it has ended already, and nobody will take what it said.
    const giveUp = (): void => this.finish({ end: 'WorkGone' }, true);
    signal.addEventListener('abort', giveUp, { once: true });
    void this.ended.then(() => signal.removeEventListener('abort', giveUp));
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    const broken = (): void => (this.endKnown ? undefined : this.finish({ end: 'WorkGone' }, signal.aborted));
    socket.once('close', broken);
    this.read(rest);
    if (socket.destroyed) broken();
    else if (!this.buffer.full) socket.resume();
  }

  async write(data: Uint8Array): Promise<void> {
    if (this.buffer.end === undefined) await this.go(this.input.write(data));
  }

  endInput(): void {
    void this.go(this.input.end()).then(() => this.frame(FRAME.endOfInput));
  }

  resize({ columns, rows }: TerminalSize): void {
    const size = Buffer.alloc(4);
    size.writeUInt16BE(columns, 0);
    size.writeUInt16BE(rows, 2);
    this.frame(FRAME.resize, size);
  }

  /** The work ended under it. */
  get gone(): boolean {
    return this.buffer.end?.end === 'WorkGone';
  }

  /** Breaks the connection, by which the runner ends it. */
  abandon(): void {
    this.socket.destroy();
  }

  signal(signal: CommandSignal): void {
    this.frame(FRAME.signal, Buffer.from(signal));
  }

  /** A command whose input cannot be brought would wait for it for ever. */
  private go(input: Promise<void>): Promise<void> {
    return input.catch(() => this.abandon());
  }

  private frame(type: number, ...parts: readonly Uint8Array[]): void {
    if (this.buffer.end === undefined && !this.socket.destroyed) writeFrame(this.socket, type, ...parts);
  }

  private read(chunk: Buffer): void {
    try {
      for (const frame of this.reader.read(chunk)) this.receive(frame);
    } catch {
      // Not what a runner says: the close tells of the end.
      this.socket.destroy();
    }
    this.buffer.settle();
  }

  private receive({ type, data }: Frame): void {
    switch (type) {
      case FRAME.stdout:
      case FRAME.stderr:
        return this.buffer.add(type === FRAME.stdout ? 'stdout' : 'stderr', data);
      case FRAME.room:
        return this.frames.room(data.readUInt32BE(0));
      case FRAME.endOfOutput:
        return this.buffer.endOutput();
      case FRAME.end:
        return this.end(JSON.parse(data.toString('utf8')) as ExecEnd);
      default:
        throw new Error('a frame that is not known');
    }
  }

  /** Of the data connection. */
  private add(data: Buffer): void {
    this.buffer.add('stdout', data);
    this.buffer.settle();
  }

  private end(end: ExecEnd): void {
    this.endKnown = true;
    if (this.data === undefined || end.end !== 'Exited') return this.finish(end, false);
    void this.data.lastOutput().then(() => this.finish(end, false));
  }

  private finish(end: ExecEnd, drop: boolean): void {
    this.buffer.finish(end, drop);
    this.input.close();
  }
}
