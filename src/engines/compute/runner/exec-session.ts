/**
 * Owns a connection that carries one command: frames in and out, from the answer to the request on. The command ends with the
 * connection, and the connection with the command.
 *
 * Bounds (I10): unread output is what the socket's own buffer and one piece of each stream hold, then the pipes are not read and the
 * program waits; input is bounded by STDIN_WINDOW, and a client that sends more is cut off.
 */
import type { Socket } from 'node:net';
import type { ExecEnd } from '../engine.js';
import type { Sink } from './process/launch.js';
import { encodeFrame, FRAME, FrameReader, roomFrame, STDIN_WINDOW, type Frame } from './protocol/frames.js';
import type { CommandSignal, RunningCommand } from './work/command.js';

const SIGNALS: ReadonlySet<string> = new Set<CommandSignal>(['SIGINT', 'SIGTERM', 'SIGKILL', 'SIGHUP']);

export class ExecSession implements Sink {
  private readonly socket: Socket;
  private readonly reader = new FrameReader();
  private command: RunningCommand | undefined;
  private underWay = 0;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Once the client was told that it started; output of before waits in its pipes. */
  begin(command: RunningCommand): void {
    this.command = command;
    this.socket.once('close', () => command.kill());
    void command.ended.then((end) => this.end(end));
    if (this.socket.destroyed) command.kill();
  }

  /** Throws on what no client of ours sends. */
  read(chunk: Buffer): void {
    for (const frame of this.reader.read(chunk)) this.receive(frame);
  }

  feed(stream: 'stdout' | 'stderr', chunk: Buffer): boolean {
    return this.socket.destroyed || this.socket.write(encodeFrame(FRAME[stream], chunk));
  }

  whenReady(resume: () => void): void {
    this.socket.once('drain', resume);
  }

  private receive({ type, data }: Frame): void {
    const { command } = this;
    if (command === undefined) throw new Error('a frame before the command');
    switch (type) {
      case FRAME.stdin: {
        const { length } = data;
        this.underWay += length;
        if (this.underWay > STDIN_WINDOW) throw new Error('more input than there is room for');
        command.write(data, () => {
          this.underWay -= length;
          if (!this.socket.destroyed) this.socket.write(roomFrame(length));
        });
        return;
      }
      case FRAME.endOfInput:
        return command.endInput();
      case FRAME.signal: {
        const name = data.toString('latin1');
        if (SIGNALS.has(name)) return command.signal(name as CommandSignal);
        throw new Error('a signal that is not known');
      }
      default:
        throw new Error('a frame that is not known');
    }
  }

  private end(end: ExecEnd): void {
    if (this.socket.destroyed) return;
    this.socket.end(encodeFrame(FRAME.end, Buffer.from(JSON.stringify(end))));
  }
}
