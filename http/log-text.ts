/**
 * The lines of a log as text. With times, each line begins with one: the time of its first piece, also when the line comes in pieces. A system
 * line, in which the service says something of the log, is a line of its own.
 */
import { rfc3339Millis } from '../src/api/time.js';
import type { LogLine } from '../src/engines/compute/contract/engine.js';

const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

export class LogText {
  readonly #timestamps: boolean;
  #stamp = { time: Number.NaN, bytes: NOTHING };
  /** Whose line has no end yet. */
  #open: LogLine['stream'] | undefined;

  constructor(timestamps: boolean) {
    this.#timestamps = timestamps;
  }

  /** With times, a piece between those of another stream's line begins a line of its own. */
  bytesOf({ stream, time, data }: LogLine): Uint8Array {
    const open = this.#open;
    this.#open = data.at(-1) === NEWLINE ? undefined : stream;
    if (open === stream || (!this.#timestamps && stream !== 'system')) return data;
    const end = open === undefined ? NOTHING : Buffer.of(NEWLINE);
    return Buffer.concat([end, this.#stampOf(time), data]);
  }

  #stampOf(time: number): Buffer {
    if (!this.#timestamps) return NOTHING;
    if (this.#stamp.time !== time) this.#stamp = { time, bytes: Buffer.from(`${rfc3339Millis(time)} `) };
    return this.#stamp.bytes;
  }
}
