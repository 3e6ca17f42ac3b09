/**
 * Server-sent events: frames out of bytes, however they are split. A line ends with LF, CR or CRLF; a byte order mark at the start, comments and
 * fields other than `event` and `data` are passed over; `data` lines are joined by LF. What is no UTF-8, and a line or a frame beyond its
 * bound, throws a `BrokenStreamError`; what ended before it has been taken by then, and the decoder is of no more use.
 *
 * I10: a line that has not ended is kept in one buffer of at most twice `mostLineBytes`, the lines of a frame up to `mostFrameBytes`.
 */
import { isUtf8 } from 'node:buffer';

/** One event: its `event:` name if any, and its `data:` lines joined. Comments are no frames. */
export interface SseFrame {
  readonly event: string | undefined;
  readonly data: string;
}

export class BrokenStreamError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BrokenStreamError';
  }
}

export interface SseBounds {
  readonly mostLineBytes: number;
  /** Of the `event` and `data` lines of one frame together. */
  readonly mostFrameBytes: number;
}

/** An answer that comes as one frame has room in it. */
export const SSE_BOUNDS: SseBounds = { mostLineBytes: 16 * 2 ** 20, mostFrameBytes: 16 * 2 ** 20 };

export interface SseDecoder {
  /** Hands the frames that this chunk completes to `take`, one by one. */
  push(chunk: Buffer): void;
  /** The stream is over: what stands there without its empty line counts as a frame. Whether it is a whole one, its data tells. */
  end(): void;
}

const LF = 10;
const CR = 13;
const COLON = 58;
const BLANK = 32;
const NONE = Buffer.alloc(0);

/** What `take` throws goes through. */
export function openSseDecoder(
  { mostLineBytes, mostFrameBytes }: SseBounds,
  take: (frame: SseFrame) => void,
): SseDecoder {
  /** The line that has not ended: the first `heldBytes` of it. */
  let held = NONE;
  let heldBytes = 0;
  let firstLine = true;
  /** The last chunk ended with CR: an LF at the start of the next one belongs to it. */
  let afterCr = false;
  let event: string | undefined;
  let data: string[] = [];
  let frameBytes = 0;

  const hold = (rest: Buffer): void => {
    const length = heldBytes + rest.length;
    if (length > mostLineBytes)
      throw new BrokenStreamError(`a line of the stream is longer than ${mostLineBytes} bytes`);
    if (length > held.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * held.length, 1024));
      held.copy(larger, 0, 0, heldBytes);
      held = larger;
    }
    rest.copy(held, heldBytes);
    heldBytes = length;
  };

  const dispatch = (): void => {
    const frame =
      data.length === 0 ? undefined : { event, data: data.length === 1 ? (data[0] ?? '') : data.join('\n') };
    if (data.length > 0) data = [];
    event = undefined;
    frameBytes = 0;
    if (frame !== undefined) take(frame);
  };

  /** `bytes` from `start` to `end`, without what ends the line. */
  const line = (bytes: Buffer, from: number, end: number): void => {
    const start = firstLine && startsWithMark(bytes, from, end) ? from + 3 : from;
    firstLine = false;
    if (start === end) return dispatch();
    if (end - start > mostLineBytes)
      throw new BrokenStreamError(`a line of the stream is longer than ${mostLineBytes} bytes`);
    const whole = bytes.subarray(start, end);
    if (!isUtf8(whole)) throw new BrokenStreamError('the stream is not UTF-8');
    const colon = whole.indexOf(COLON);
    if (colon === 0) return;
    const name = colon < 0 ? whole.toString('latin1') : whole.toString('latin1', 0, colon);
    if (name !== 'data' && name !== 'event') return;
    frameBytes += whole.length;
    if (frameBytes > mostFrameBytes) {
      throw new BrokenStreamError(`a frame of the stream is longer than ${mostFrameBytes} bytes`);
    }
    const value = colon < 0 ? '' : whole.toString('utf8', whole[colon + 1] === BLANK ? colon + 2 : colon + 1);
    if (name === 'data') data.push(value);
    else event = value === '' ? undefined : value;
  };

  const endLine = (chunk: Buffer, start: number, end: number): void => {
    if (heldBytes === 0) return line(chunk, start, end);
    hold(chunk.subarray(start, end));
    const [bytes, length] = [held, heldBytes];
    heldBytes = 0;
    // A long line is not kept in memory for the short ones that follow it.
    if (held.length > 64 * 1024) held = NONE;
    line(bytes, 0, length);
  };

  return {
    push(chunk) {
      let at = afterCr && chunk[0] === LF ? 1 : 0;
      if (chunk.length > 0) afterCr = false;
      let lf = chunk.indexOf(LF, at);
      let cr = chunk.indexOf(CR, at);
      while (lf >= 0 || cr >= 0) {
        const byCr = cr >= 0 && (lf < 0 || cr < lf);
        const end = byCr ? cr : lf;
        endLine(chunk, at, end);
        at = end + 1;
        if (byCr && at === chunk.length) afterCr = true;
        if (byCr && chunk[at] === LF) at += 1;
        if (lf >= 0 && lf < at) lf = chunk.indexOf(LF, at);
        if (cr >= 0 && cr < at) cr = chunk.indexOf(CR, at);
      }
      if (at < chunk.length) hold(chunk.subarray(at));
    },
    end() {
      if (heldBytes > 0) endLine(NONE, 0, 0);
      dispatch();
    },
  };
}

/** EF BB BF. */
function startsWithMark(bytes: Buffer, start: number, end: number): boolean {
  return end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf;
}
