/**
 * A command's input in frames (`../shared/frames.ts`): pieces of one frame each, and how many bytes may be under way.
 *
 * Bounds (I10): the window under way and one frame held; then `write` waits for room.
 */
import { PIECE } from '../shared/frames.js';

/** How input goes to a command: in the order of the calls. */
export interface Input {
  /** Resolves when there is room for more. */
  write(data: Uint8Array): Promise<void>;
  /** Resolves when all that was written has gone. */
  end(): Promise<void>;
  /** Nothing more goes; waiting writers go on. */
  close(): void;
}

/** Input in parts of at least so many bytes is a stream: it goes on in whole frames, and what is left over waits for what follows. */
const STREAM = 32 * 1024;
/** So long (ms), at most. */
const HOLD_MS = 2;

export class FrameInput implements Input {
  private readonly window: number;
  private readonly send: (parts: readonly Uint8Array[]) => void;
  private underWay = 0;
  /** Input that is to go on with what follows it. */
  private held: Uint8Array[] = [];
  private heldBytes = 0;
  private holdTimer: NodeJS.Timeout | undefined;
  private closed = false;
  private wake: () => void = () => undefined;
  /** The last that was asked for. */
  private last: Promise<void> = Promise.resolve();

  /** `window`: bytes that may be under way. */
  constructor(window: number, send: (parts: readonly Uint8Array[]) => void) {
    this.window = window;
    this.send = send;
  }

  write(data: Uint8Array): Promise<void> {
    return this.inTurn(() => this.put(data));
  }

  end(): Promise<void> {
    return this.inTurn(() => this.release());
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.holdTimer);
    this.wake();
  }

  /** So many bytes of it are with the program. */
  room(bytes: number): void {
    this.underWay -= bytes;
    this.wake();
  }

  private inTurn(act: () => Promise<void>): Promise<void> {
    this.last = this.last.then(act);
    return this.last;
  }

  private async put(data: Uint8Array): Promise<void> {
    let rest = data;
    while (!this.closed && this.heldBytes + rest.length >= PIECE) {
      const part = rest.subarray(0, PIECE - this.heldBytes);
      this.hold(part);
      rest = rest.subarray(part.length);
      await this.release();
    }
    if (this.closed) return;
    this.hold(rest);
    if (data.length < STREAM) return this.release();
    if (this.heldBytes > 0) this.holdTimer ??= setTimeout(() => void this.inTurn(() => this.release()), HOLD_MS);
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
    while (!this.closed && this.underWay + heldBytes > this.window)
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    if (this.closed) return;
    this.underWay += heldBytes;
    this.send(held);
  }
}
