/**
 * A connection that carries one command or one port for a client: frames in and out, from the answer to the request on. The command
 * ends with the connection, and the connection with the command.
 *
 * Bounds (I10): unread output is what the sockets' own buffers and one read hold, then the agent is not read and the program waits;
 * input is bounded by the window, and a client that sends more is cut off.
 */
import type { Socket } from 'node:net';
import type { ExecEnd } from '../engines/compute/contract/engine.js';
import { isCommandSignal } from '../engines/compute/shared/signals.js';
import type { Listener, Session } from './agent/session.js';
import {
  encodeFrame,
  FRAME,
  FrameReader,
  IN_PIECES,
  roomFrame,
  NAMED_STDIN_WINDOW,
  writeFrame,
  type Frame,
} from '../engines/compute/shared/frames.js';

/** Bytes of a frame that is taken whole. */
const MAX_WORDS = 64;
/** Room for so much input is told of at once (bytes), or as soon as none is under way: each word costs the client a read. */
const ROOM_TOLD = NAMED_STDIN_WINDOW / 4;

export class ExecSession implements Listener {
  private readonly socket: Socket;
  private readonly reader = new FrameReader(IN_PIECES, MAX_WORDS);
  private session: Session | undefined;
  private onStarted: (() => void) | undefined;
  /** The command's data does not come this way. */
  dataElsewhere = false;
  /** The client was told that it started: before that, its end is an answer and no frame. */
  private startSaid = false;
  private untoldRoom = 0;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Once the client was told that it started, or tells it in `onStarted`, before any frame. */
  begin(session: Session, ended: Promise<ExecEnd>, onStarted?: () => void): void {
    this.session = session;
    this.onStarted = onStarted;
    this.startSaid = onStarted === undefined;
    this.socket.once('close', () => session.drop());
    void ended.then((end) => this.end(end));
    if (this.socket.destroyed) session.drop();
  }

  /** Throws on what no client of ours sends. */
  read(chunk: Buffer): void {
    for (const frame of this.reader.read(chunk)) this.receive(frame);
  }

  started(): void {
    this.startSaid = true;
    this.onStarted?.();
  }

  feed(stream: 'stdout' | 'stderr', chunk: Buffer): boolean {
    return this.socket.destroyed || writeFrame(this.socket, FRAME[stream], chunk);
  }

  whenReady(resume: () => void): void {
    if (this.socket.destroyed) resume();
    else this.socket.once('drain', resume);
  }

  room(bytes: number): void {
    this.untoldRoom += bytes;
    if (this.socket.destroyed || (this.untoldRoom < ROOM_TOLD && this.session?.inputUnderWay !== 0)) return;
    this.socket.write(roomFrame(this.untoldRoom));
    this.untoldRoom = 0;
  }

  endOfOutput(): void {
    if (!this.socket.destroyed) this.socket.write(encodeFrame(FRAME.endOfOutput, Buffer.alloc(0)));
  }

  private receive({ type, data }: Frame): void {
    const { session } = this;
    if (session === undefined) throw new Error('a frame before the command');
    switch (type) {
      case FRAME.stdin:
        if (session.inputUnderWay + data.length > NAMED_STDIN_WINDOW)
          throw new Error('more input than there is room for');
        return session.write(data);
      case FRAME.endOfInput:
        return session.endInput();
      case FRAME.signal: {
        const name = data.toString('latin1');
        if (isCommandSignal(name)) return session.signal(name);
        throw new Error('a signal that is not known');
      }
      case FRAME.resize:
        if (data.length !== 4) throw new Error('a size that is not known');
        return session.resize({ columns: data.readUInt16BE(0), rows: data.readUInt16BE(2) });
      default:
        throw new Error('a frame that is not known');
    }
  }

  private end(end: ExecEnd): void {
    if (this.socket.destroyed || !this.startSaid) return;
    this.socket.end(encodeFrame(FRAME.end, Buffer.from(JSON.stringify(end))));
  }
}
