/**
 * The service's end of a command's data connection (DataPlace in `runner/protocol/messages.ts`), with the agent of the box itself: input
 * one way, standard output the other, as plain bytes.
 *
 * Nothing that comes here is believed but that it is output: what became of the command the runner says. A box that says more, less or
 * nothing deceives only those who read what it says.
 *
 * Bounds (I10): UNSENT bytes beside the socket's own buffer, then `write` waits; output that is not wanted is not read.
 */
import { createConnection, type Socket } from 'node:net';
import { encodeOrder } from '../../../runner/agent/order.js';
import type { DataPlace } from '../../../runner/protocol/messages.js';
import type { Input } from './frame-input.js';

/** The agent has so long (ms) to take it. */
const TAKEN_MS = 20_000;
/** What was sent before the command's end was told is here: so long (ms) it is waited for at most. */
const LATE_MS = 5_000;
/** Bytes. */
const UNSENT = 128 * 1024;

export class DataConnection implements Input {
  /** When no output follows, whatever ended it. */
  private readonly outputEnded: Promise<void>;
  private readonly lateMs: number;
  private readonly socket: Socket;
  /** False: it was never taken. */
  private readonly taken: Promise<boolean>;
  private begun = false;
  private late = false;
  /** Writers that wait for room. */
  private readonly waiting: (() => void)[] = [];

  constructor({ socket: path, name }: DataPlace, onOutput: (data: Buffer) => void, lateMs: number = LATE_MS) {
    this.lateMs = lateMs;
    const socket = createConnection({ path, allowHalfOpen: true });
    this.socket = socket;
    // Its end is told by `close`.
    socket.on('error', () => undefined);
    const wake = (): void => this.waiting.splice(0).forEach((go) => go());
    socket.on('drain', wake);
    socket.once('close', wake);
    socket.on('timeout', () => {
      if (!socket.isPaused()) socket.destroy();
    });
    socket.write(encodeOrder({ kind: 'data', name }) ?? '');
    this.outputEnded = new Promise((resolve) => {
      socket.once('end', resolve);
      socket.once('close', () => resolve());
    });
    const timer = setTimeout(() => socket.destroy(), TAKEN_MS);
    this.taken = new Promise((resolve) => {
      socket.once('data', (chunk: Buffer) => {
        clearTimeout(timer);
        this.begun = true;
        resolve(true);
        socket.on('data', onOutput);
        if (chunk.length > 1) onOutput(chunk.subarray(1));
      });
      socket.once('end', () => (this.begun ? undefined : socket.destroy()));
      socket.once('close', () => {
        clearTimeout(timer);
        resolve(false);
      });
    });
  }

  /** Resolves when there is room for more; what the program does not read any more goes nowhere. Throws when it was never taken. */
  async write(data: Uint8Array): Promise<void> {
    await this.whenTaken();
    const { socket } = this;
    if (!socket.destroyed) socket.write(data);
    while (!socket.destroyed && socket.writableLength > UNSENT)
      await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** Behind all that was written. */
  async end(): Promise<void> {
    await this.whenTaken();
    this.socket.end();
  }

  /** Of the output; that it is taken is heard all the same. */
  pause(): void {
    if (this.begun) this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
    if (this.late) this.hurry();
  }

  /** Resolves when all of the output of a command that has ended was taken. */
  lastOutput(): Promise<void> {
    this.late = true;
    this.hurry();
    return this.outputEnded;
  }

  close(): void {
    this.socket.destroy();
  }

  private hurry(): void {
    this.socket.setTimeout(this.lateMs);
  }

  private async whenTaken(): Promise<void> {
    if (!(await this.taken)) throw new Error('the data connection was not taken');
  }
}
