/** Puts a time before each line of a log, also of lines that come in pieces: once, that of their first piece. */
import { rfc3339Millis } from '../src/api/time.js';
import type { LogLine } from '../src/engines/compute/contract/engine.js';

const NEWLINE = 10;

export class LineStamps {
  #stamp = { time: Number.NaN, bytes: Buffer.alloc(0) };
  /** Whose line has no end yet. */
  #open: LogLine['stream'] | undefined;

  /** A piece between those of another stream's line begins a line of its own. */
  stamped({ stream, time, data }: LogLine): Uint8Array {
    const open = this.#open;
    this.#open = data.at(-1) === NEWLINE ? undefined : stream;
    if (open === stream) return data;
    if (this.#stamp.time !== time) this.#stamp = { time, bytes: Buffer.from(`${rfc3339Millis(time)} `) };
    return Buffer.concat([...(open === undefined ? [] : [Buffer.of(NEWLINE)]), this.#stamp.bytes, data]);
  }
}
