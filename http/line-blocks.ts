/**
 * Writes the lines of a log in blocks, each in a slice of the event loop (`actors/slices.ts`) and in one write: a short line costs as much as
 * a long one, and orgs take turns. Lines that have come go on at the end of the turn at the latest, so a follower waits for none.
 *
 * I10: the reader of the log reads a chunk when this answer has a place (`answer-places.ts`), which it gives back when the client has
 * taken all of the chunk. Within a chunk BLOCK_LINES and BLOCK_BYTES wait, then the reader waits until the client takes them. An answer
 * without a place, as of a follower that has seen everything, holds no lines.
 */
import type { Writable } from 'node:stream';
import type { LogPace } from '../src/engines/compute/contract/engine.js';
import type { AnswerPlace, AnswerPlaces } from './answer-places.js';
import { Outflow } from './stream.js';

const BLOCK_LINES = 100;
const BLOCK_BYTES = 64 * 1024;

export interface LineBlocksDeps {
  readonly org: string;
  readonly places: AnswerPlaces;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
  nextSlice(): Promise<void>;
}

export class LineBlocks {
  /** For what reads the log. */
  readonly pace: LogPace = { begin: () => this.#beginChunk(), end: () => this.#endChunk() };
  readonly #res: Writable;
  readonly #deps: LineBlocksDeps;
  readonly #out: Outflow;
  #place: AnswerPlace | undefined;
  #waiting: Uint8Array[] = [];

  constructor(res: Writable, deps: LineBlocksDeps) {
    this.#res = res;
    this.#deps = deps;
    this.#out = new Outflow(res);
  }

  /**
   * True when all lines are written, or `bytesOf` wants no more of them (undefined); false when the answer is over before that.
   * Throws what the lines throw.
   */
  async write<Line>(lines: AsyncIterable<Line>, bytesOf: (line: Line) => Uint8Array | undefined): Promise<boolean> {
    let blockLines = 0;
    let blockBytes = 0;
    await this.#deps.nextSlice();
    for await (const line of lines) {
      if (this.#isOver) return false;
      const bytes = bytesOf(line);
      if (bytes === undefined) break;
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push(bytes);
      blockLines += 1;
      blockBytes += bytes.length;
      if (blockLines < BLOCK_LINES && blockBytes < BLOCK_BYTES) continue;
      blockLines = 0;
      blockBytes = 0;
      this.#flush();
      await this.#untilTaken(this.#out.drained());
      await this.#deps.nextSlice();
    }
    this.#flush();
    return !this.#isOver;
  }

  /** Gives back what it has. Harmless twice. */
  free(): void {
    this.#place?.free();
    this.#place = undefined;
  }

  get #isOver(): boolean {
    return this.#out.closed || this.#res.writableEnded;
  }

  async #beginChunk(): Promise<void> {
    this.#place ??= await this.#deps.places.take(this.#deps.org, this.#deps.gone);
    await this.#deps.nextSlice();
  }

  async #endChunk(): Promise<void> {
    this.#flush();
    await this.#untilTaken(this.#out.taken());
    this.free();
  }

  #flush(): void {
    if (this.#waiting.length > 0 && !this.#isOver) this.#out.write(Buffer.concat(this.#waiting));
    this.#waiting = [];
  }

  async #untilTaken(taken: Promise<void>): Promise<void> {
    await (this.#place === undefined ? taken : this.#place.untilTaken(taken, () => this.#res.destroy()));
  }
}
