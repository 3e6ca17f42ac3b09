/**
 * The form of a log on disk: segments of frames, one frame per line (or per piece of a long line). Pure.
 *
 * Segment: a head of 24 bytes (magic, number of the org, lines and bytes of this log that lie before it), then frames.
 * Frame: a head of 12 bytes (length, stream, flags, time), the bytes, and the length again. Little endian. A frame that is cut
 * at the end of a file is one that is still being written; so frames are only found from the beginning of a segment on.
 */
import type { LogLine } from '../../contract/engine.js';

export const SEGMENT_HEAD = 24;
const MAGIC = 0x31_4c_52_54; // "TRL1"
const FRAME_HEAD = 12;
const FRAME_TAIL = 4;
export const FRAME_OVERHEAD = FRAME_HEAD + FRAME_TAIL;
/** Longer lines are cut into pieces of this many bytes. */
export const MAX_PIECE = 16 * 1024;

/** Up to so many bytes a loop is quicker than a call. */
const SHORT = 32;

const STREAMS: readonly LogLine['stream'][] = ['stdout', 'stderr', 'system'];

export interface Frame extends LogLine {
  /** The line goes on in a later frame of the same stream. */
  readonly partial: boolean;
  /** Bytes in the file. */
  readonly size: number;
}

/** What lies before a segment. */
export interface SegmentHead {
  /** Number of the org whose log it is (`org-logs.ts`); 0 in segments of older programs. */
  readonly owner: number;
  /** Whole ones. */
  readonly lines: number;
  readonly bytes: number;
  /** The last line before it goes on in it. */
  readonly inLine: boolean;
}

export function writeSegmentHead(head: SegmentHead): Buffer {
  const buffer = Buffer.alloc(SEGMENT_HEAD);
  buffer.writeUInt32LE(MAGIC, 0);
  buffer.writeUInt32LE(head.owner, 4);
  // Lines are whole, so the half says that one is not.
  buffer.writeDoubleLE(head.lines + (head.inLine ? 0.5 : 0), 8);
  buffer.writeDoubleLE(head.bytes, 16);
  return buffer;
}

/** Undefined when the bytes are not the head of a segment. */
export function readSegmentHead(buffer: Buffer): SegmentHead | undefined {
  if (buffer.length < SEGMENT_HEAD || buffer.readUInt32LE(0) !== MAGIC) return undefined;
  const lines = buffer.readDoubleLE(8);
  const inLine = !Number.isInteger(lines);
  return { owner: buffer.readUInt32LE(4), lines: Math.floor(lines), bytes: buffer.readDoubleLE(16), inLine };
}

/** The caller has made sure of the room, which `writeUInt32LE` would check again for each line. */
function put32(target: Buffer, at: number, value: number): void {
  target[at] = value & 255;
  target[at + 1] = (value >>> 8) & 255;
  target[at + 2] = (value >>> 16) & 255;
  target[at + 3] = value >>> 24;
}

/** Writes one frame at `at`; returns where it ends. The caller has made room for `FRAME_OVERHEAD + to - from`. */
export function writeFrame(
  target: Buffer,
  at: number,
  stream: LogLine['stream'],
  time: number,
  partial: boolean,
  source: Buffer,
  from: number,
  to: number,
): number {
  const length = to - from;
  put32(target, at, length);
  // Times fit into 48 bits until the year 10889.
  const high = Math.floor(time / 2 ** 32);
  put32(target, at + 4, time % 2 ** 32);
  target[at + 8] = high & 255;
  target[at + 9] = high >>> 8;
  target[at + 10] = STREAMS.indexOf(stream);
  target[at + 11] = partial ? 1 : 0;
  if (length > SHORT) source.copy(target, at + FRAME_HEAD, from, to);
  else for (let byte = 0; byte < length; byte++) target[at + FRAME_HEAD + byte] = source[from + byte] as number;
  put32(target, at + FRAME_HEAD + length, length);
  return at + FRAME_OVERHEAD + length;
}

/** Bytes of the frame that begins at `at`, or undefined when it is not complete. Throws when the bytes are no frame. */
export function frameSize(buffer: Buffer, at: number): number | undefined {
  if (buffer.length - at < FRAME_HEAD) return undefined;
  const length = buffer.readUInt32LE(at);
  if (length > MAX_PIECE) throw new Error('broken log');
  return buffer.length - at < FRAME_OVERHEAD + length ? undefined : FRAME_OVERHEAD + length;
}

/** Whether the line of the frame that begins at `at` goes on in a later one. */
export function isPartial(buffer: Buffer, at: number): boolean {
  return buffer[at + 11] === 1;
}

/** When the frame that begins at `at` was written, ms. */
export function frameTime(buffer: Buffer, at: number): number {
  return buffer.readUIntLE(at + 4, 6);
}

/** The frame that begins at `at`, or undefined when it is not complete. Throws when the bytes are no frame. */
export function readFrame(buffer: Buffer, at: number): Frame | undefined {
  const size = frameSize(buffer, at);
  if (size === undefined) return undefined;
  return {
    stream: STREAMS[buffer[at + 10] ?? 0] ?? 'system',
    time: frameTime(buffer, at),
    partial: isPartial(buffer, at),
    data: buffer.subarray(at + FRAME_HEAD, at + size - FRAME_TAIL),
    size,
  };
}
