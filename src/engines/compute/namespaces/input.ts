/**
 * Owns the service's end of a long input: a connection with the agent of the box itself (InputPlace in `runner/protocol/messages.ts`).
 * Nothing is read from it but the byte that says it is taken: what the box says is the runner's to judge.
 *
 * Bounds (I10): UNSENT bytes beside the socket's own buffer; then `write` waits.
 */
import { createConnection, type Socket } from 'node:net';
import { encodeOrder } from '../runner/agent/order.js';
import type { InputPlace } from '../runner/protocol/messages.js';

/** The agent has so long (ms) to take it. */
const TAKEN_MS = 20_000;
/** Bytes. */
const UNSENT = 128 * 1024;

export class LongInput {
  private readonly socket: Socket;
  /** False: it was never taken. */
  private readonly taken: Promise<boolean>;
  private wake: () => void = () => undefined;

  constructor({ socket: path, name }: InputPlace) {
    const socket = createConnection(path);
    this.socket = socket;
    // Its end is told by `close`.
    socket.on('error', () => undefined);
    socket.on('drain', () => this.wake());
    socket.once('close', () => this.wake());
    socket.write(encodeOrder({ kind: 'input', name }) ?? '');
    const timer = setTimeout(() => socket.destroy(), TAKEN_MS);
    this.taken = new Promise((resolve) => {
      socket.once('data', () => {
        clearTimeout(timer);
        resolve(true);
        socket.on('data', () => socket.destroy());
      });
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
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
  }

  /** Behind all that was written. */
  async end(): Promise<void> {
    await this.whenTaken();
    this.socket.end();
  }

  close(): void {
    this.socket.destroy();
  }

  private async whenTaken(): Promise<void> {
    if (!(await this.taken)) throw new Error('the input was not taken');
  }
}
