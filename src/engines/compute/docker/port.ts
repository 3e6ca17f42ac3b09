/**
 * A connection to a port of a box's own loopback, carried by a process of ours inside: the container has no network of its own to
 * reach it by, and a program that listens on loopback alone is reached, too. Half-open ends are kept.
 *
 * Bounds (I10): what is not read stops the reading of the box; input waits while STDIN_WINDOW bytes are under way.
 */
import { Duplex } from 'node:stream';
import type { PortStart } from '../contract/engine.js';
import { encodeFrame, FrameReader, MAX_FRAME, STDIN_WINDOW } from '../shared/frames.js';
import { BOX_FRAME, type AttachedBox } from './frames.js';

/** Resolves when the box has said whether a program listens. */
export function openPort(attached: AttachedBox, signal: AbortSignal): Promise<PortStart> {
  return new Promise((done) => {
    const stream = new PortStream(attached, (refused) => {
      if (refused === undefined) done({ outcome: 'Connected', stream });
      else done({ outcome: 'Refused', message: refused });
    });
    const abort = (): void => {
      stream.destroy();
      done({ outcome: 'NotRunning' });
    };
    signal.addEventListener('abort', abort, { once: true });
    stream.once('close', () => {
      signal.removeEventListener('abort', abort);
      done({ outcome: 'NotRunning' });
    });
    // The owner of the stream hears its errors; before that its end is the answer.
    stream.on('error', () => undefined);
    if (signal.aborted) abort();
  });
}

class PortStream extends Duplex {
  private readonly attached: AttachedBox;
  private readonly reader = new FrameReader();
  private over = false;
  private underWay = 0;
  private room: () => void = () => undefined;

  constructor(attached: AttachedBox, answer: (refused: string | undefined) => void) {
    super({ allowHalfOpen: true });
    this.attached = attached;
    const { output } = attached;
    output.on('data', (chunk: Buffer) => {
      try {
        for (const { type, data } of this.reader.read(chunk)) {
          if (type === BOX_FRAME.stdout) {
            if (!this.push(data)) output.pause();
          } else if (type === BOX_FRAME.end) {
            this.over = true;
            this.push(null);
          } else if (type === BOX_FRAME.room) {
            this.underWay = Math.max(0, this.underWay - data.readUInt32BE(0));
            this.room();
          } else if (type === BOX_FRAME.connected) answer(undefined);
          else if (type === BOX_FRAME.refused) answer(data.toString('utf8').slice(0, 200));
          else throw new Error('a frame that is not known');
        }
      } catch (error) {
        this.destroy(error as Error);
      }
    });
    output.once('end', () => {
      if (this.over && this.writableFinished) this.destroy();
      else this.destroy(new Error('the work ended'));
    });
  }

  override _read(): void {
    this.attached.output.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    void this.send(chunk, done);
  }

  /** One write at a time: the next comes when this one is done. */
  private async send(chunk: Buffer, done: () => void): Promise<void> {
    for (let at = 0; at < chunk.length; at += MAX_FRAME) {
      const piece = chunk.subarray(at, at + MAX_FRAME);
      while (this.underWay + piece.length > STDIN_WINDOW && !this.destroyed) {
        await new Promise<void>((resolve) => {
          this.room = resolve;
        });
      }
      if (this.destroyed) break;
      this.underWay += piece.length;
      this.attached.stream.write(encodeFrame(BOX_FRAME.input, piece));
    }
    done();
  }

  override _final(done: () => void): void {
    if (!this.attached.stream.destroyed) this.attached.stream.write(encodeFrame(BOX_FRAME.end, Buffer.alloc(0)));
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.room();
    this.attached.stream.destroy();
    this.attached.output.resume();
    done(error);
  }
}
