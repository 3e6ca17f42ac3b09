/**
 * One connection with the agent of a box (`PROTOCOL.md` in `src/engines/compute/shared`): its order, frames both ways, and how it ended. The
 * agent is not trusted: when it breaks the protocol, or is silent after a kill, the session calls `onBroken`, which ends the box.
 *
 * Bounds (I10): input under way is at most the caller's window; unread output is what the socket's own buffers hold, then the agent
 * waits, and so the program.
 */
import {
  executableNameTooLong,
  executableNotFound,
  shownName,
  TOO_LONG,
} from '../../engines/compute/shared/not-found.js';
import { createConnection, type Socket } from 'node:net';
import { getSystemErrorName } from 'node:util';
import type { CommandSignal, TerminalSize } from '../../engines/compute/contract/engine.js';
import type { Sink } from '../process/launch.js';
import { FRAME, FrameReader, IN_PIECES, PIECE, writeFrame, type Frame } from '../../engines/compute/shared/frames.js';
import { encodeOrder, type SessionOrder } from './order.js';

export type SessionEnd =
  /** 128 + n when signal n ended it; 0 of a port. */
  | { readonly end: 'Exited'; readonly exitCode: number }
  /** `CommandNotFound`, `CommandNotExecutable`, `WorkingDirNotFound`, `SandboxFailed`, of a port `Refused`. */
  | { readonly end: 'NotExecuted'; readonly reason: string; readonly message: string }
  /** The box ended. */
  | { readonly end: 'Gone' };

/** Who takes what a session says. */
export interface Listener extends Sink {
  /** It is executed, or connected; before any of its output. */
  started?(): void;
  /** So many bytes of input are in the program's pipe. */
  room?(bytes: number): void;
  /** Of a port. */
  endOfOutput?(): void;
}

/** What is killed may be in uninterruptible sleep this long; beyond it the box is ended. Time in which nobody reads is not the box's. */
const KILL_MS = 20_000;
/** Bytes of a frame that is taken whole. */
const MAX_WORDS = 64;
/** Orders and words that the agent has not read, beside the window of input. */
const MAX_UNREAD = 16 * 1024 * 1024;
const ENOENT = 2;
const E2BIG = 7;
const ENOTDIR = 20;
const ENAMETOOLONG = 36;

export class Session {
  /** True once the program is executed or the port connected; false when it ended without. */
  readonly started: Promise<boolean>;
  /** Never rejects. All output is with the listener by then. */
  readonly ended: Promise<SessionEnd>;
  private readonly socket: Socket;
  private readonly listener: Listener;
  private readonly reader = new FrameReader(IN_PIECES, MAX_WORDS);
  /** Port, or name of the program in any length. */
  private readonly what: string;
  private readonly isPort: boolean;
  private readonly onBroken: (why: string) => void;
  private underWay = 0;
  private over = false;
  private dropping = false;
  private paused = false;
  private killed = false;
  /** What is left of the time (ms) for the end of what is killed; since when it runs, and what ends it. */
  private killTimeLeft: number;
  private killTimeFrom = 0;
  private killTimer: NodeJS.Timeout | undefined;
  private tellStarted: (started: boolean) => void = () => undefined;
  private tellEnd: (end: SessionEnd) => void = () => undefined;

  constructor(
    path: string,
    order: SessionOrder,
    listener: Listener,
    onBroken: (why: string) => void,
    killMs: number = KILL_MS,
  ) {
    this.killTimeLeft = killMs;
    this.listener = listener;
    this.onBroken = onBroken;
    this.isPort = order.kind === 'port';
    this.what = order.kind === 'port' ? `port ${order.port}` : (order.command[0] ?? '');
    this.started = new Promise((resolve) => {
      this.tellStarted = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.tellEnd = resolve;
    });
    this.socket = createConnection(path);
    this.socket.on('error', () => undefined);
    this.socket.once('close', () => this.finish({ end: 'Gone' }));
    this.socket.on('data', (chunk: Buffer) => this.read(chunk));
    const bytes = encodeOrder(order);
    if (bytes === undefined) {
      const message = `${shownName(this.what)}: ${TOO_LONG}`;
      this.finish({ end: 'NotExecuted', reason: 'CommandNotExecutable', message });
    } else this.socket.write(bytes);
  }

  /** Bytes of input that are not in the program's pipe yet. */
  get inputUnderWay(): number {
    return this.underWay;
  }

  /** The caller keeps to its window. */
  write(data: Buffer): void {
    if (this.over) return;
    this.underWay += data.length;
    for (let at = 0; at < data.length; at += PIECE) this.send(FRAME.stdin, data.subarray(at, at + PIECE));
  }

  endInput(): void {
    this.send(FRAME.endOfInput, Buffer.alloc(0));
  }

  /** To all that the command started and that can be found. */
  signal(name: CommandSignal): void {
    this.send(FRAME.signal, Buffer.from(name));
  }

  resize({ columns, rows }: TerminalSize): void {
    const size = Buffer.alloc(4);
    size.writeUInt16BE(Math.min(columns, 0xffff), 0);
    size.writeUInt16BE(Math.min(rows, 0xffff), 2);
    this.send(FRAME.resize, size);
  }

  /** Ends all that the command started; its end comes as `ended`, after what it has said. */
  kill(): void {
    if (this.over || this.killed) return;
    // There is nothing of a port to wait for.
    if (this.isPort) return this.finish({ end: 'Gone' });
    this.killed = true;
    this.send(FRAME.kill, Buffer.alloc(0));
    if (!this.paused) this.startKillTimer();
  }

  /** The same where its output is not wanted any more. */
  drop(): void {
    this.dropping = true;
    this.resume();
    this.kill();
  }

  private startKillTimer(): void {
    this.killTimeFrom = performance.now();
    this.killTimer = setTimeout(() => this.broken('it does not end what it is told to'), this.killTimeLeft);
  }

  private send(type: number, data: Uint8Array): void {
    if (this.over) return;
    writeFrame(this.socket, type, data);
    if (this.socket.writableLength > MAX_UNREAD) this.broken('it does not read');
  }

  private read(chunk: Buffer): void {
    if (this.over) return;
    try {
      for (const frame of this.reader.read(chunk)) this.receive(frame);
    } catch (error) {
      this.broken((error as Error).message);
    }
  }

  private receive({ type, data }: Frame): void {
    if (this.over) return;
    switch (type) {
      case FRAME.stdout:
      case FRAME.stderr:
        // What it says can be heard before the word that it runs.
        this.tellStarted(true);
        if (this.dropping || this.listener.feed(type === FRAME.stdout ? 'stdout' : 'stderr', data)) return;
        this.pause();
        return;
      case FRAME.room: {
        const bytes = data.length === 4 ? data.readUInt32BE(0) : Infinity;
        if (bytes > this.underWay) throw new Error('more room than there was input');
        this.underWay -= bytes;
        this.listener.room?.(bytes);
        return;
      }
      case FRAME.started:
        this.tellStarted(true);
        return this.listener.started?.();
      case FRAME.endOfOutput:
        return this.listener.endOfOutput?.();
      case FRAME.end:
        return this.finish(this.endOf(data));
      default:
        throw new Error('a frame that is not known');
    }
  }

  /** Once, though what was read already may hold more frames. */
  private pause(): void {
    if (this.paused) return;
    this.paused = true;
    this.socket.pause();
    if (this.killed) {
      clearTimeout(this.killTimer);
      this.killTimeLeft -= performance.now() - this.killTimeFrom;
    }
    this.listener.whenReady(() => this.resume());
  }

  private resume(): void {
    if (!this.paused || this.over) return;
    this.paused = false;
    this.socket.resume();
    if (this.killed) this.startKillTimer();
  }

  private endOf(data: Buffer): SessionEnd {
    if (data.length !== 2) throw new Error('an end that is not known');
    const [what, number] = data as unknown as [number, number];
    if (what === 'X'.charCodeAt(0)) return { end: 'Exited', exitCode: number };
    const failed = (reason: string, text: string): SessionEnd => ({
      end: 'NotExecuted',
      reason,
      message: `${text}: ${getSystemErrorName(-(number || 1))}`,
    });
    switch (String.fromCharCode(what)) {
      case 'E':
        if (number === ENOENT || number === ENOTDIR) {
          return { end: 'NotExecuted', reason: 'CommandNotFound', message: executableNotFound(this.what) };
        }
        if (number === ENAMETOOLONG) {
          return { end: 'NotExecuted', reason: 'CommandNotFound', message: executableNameTooLong(this.what) };
        }
        if (number === E2BIG) {
          return {
            end: 'NotExecuted',
            reason: 'CommandNotExecutable',
            message: `${shownName(this.what)}: ${TOO_LONG}`,
          };
        }
        return failed('CommandNotExecutable', `${shownName(this.what)} cannot be executed`);
      case 'D':
        return failed('WorkingDirNotFound', 'the working directory cannot be entered');
      case 'C':
        return failed('Refused', `${this.what} cannot be connected to`);
      case 'F':
        return failed('SandboxFailed', `${shownName(this.what)} cannot be started`);
      default:
        throw new Error('an end that is not known');
    }
  }

  private broken(why: string): void {
    if (this.over) return;
    this.onBroken(why);
    this.finish({ end: 'Gone' });
  }

  private finish(end: SessionEnd): void {
    if (this.over) return;
    this.over = true;
    clearTimeout(this.killTimer);
    this.socket.destroy();
    this.tellStarted(end.end === 'Exited');
    this.tellEnd(end);
  }
}
