/**
 * Reads one container's log from its segments: from the beginning, from the last so many lines, or from a time;
 * and on to what is written meanwhile. The runner writes, this reads, nobody locks: a frame counts once it is complete, and a
 * segment that vanishes under a slow reader is told of by a system line, as is what was cut before the first.
 *
 * I10: one chunk is in memory, also while the last lines are looked for, and each is read when the pace allows it. What is noted of chunks
 * where lines are looked for is two numbers of each.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import type { LogLine, LogPace } from '../../contract/engine.js';
import { segmentsOf, type Segment } from './append.js';
import { frameSize, frameTime, isPartial, readFrame, readSegmentHead, SEGMENT_HEAD } from './frame.js';

/** Bytes read at once; every frame fits. */
const READ = 64 * 1024;
/** Reads as fast as the disk gives. */
const UNPACED: LogPace = { begin: () => turnOfLoop(), end: () => Promise.resolve() };

/** Where a reader stands. `segment` undefined: nothing was read yet. */
export class LogReader {
  private readonly directory: string;
  private readonly container: string;
  private readonly pace: LogPace;
  private file: FileHandle | undefined;
  private segment: number | undefined;
  private at = 0;
  /** Another segment comes after this one, which therefore grows no more. */
  private hasLater = false;

  constructor(directory: string, container: string, pace = UNPACED) {
    this.directory = directory;
    this.container = container;
    this.pace = pace;
  }

  /** Goes to where the last `tail` lines begin; to the first line when undefined. */
  async seek(tail: number | undefined, signal: AbortSignal): Promise<void> {
    if (tail === undefined) return;
    const segments = await segmentsOf(this.directory, this.container);
    let wanted = tail;
    for (const segment of segments.toReversed()) {
      const found = await findTail(segment, wanted, this.pace, signal);
      await this.enter(segment, found.at);
      wanted = found.wanted;
      if (wanted <= 0) return;
    }
  }

  /** Everything that is there now and was written at `since` (ms) or later, in order. Ends at the end of what is written. */
  async *read(since?: number): AsyncGenerator<LogLine> {
    for (;;) {
      await this.pace.begin();
      const goesOn = yield* this.chunk(since);
      await this.pace.end();
      if (!goesOn) return;
    }
  }

  async close(): Promise<void> {
    await this.leave();
  }

  /** One chunk of lines. False: there is no more. */
  private async *chunk(since = Number.NEGATIVE_INFINITY): AsyncGenerator<LogLine, boolean> {
    if (this.file === undefined && !(yield* this.next())) return false;
    const chunk = await readChunk(this.file as FileHandle, this.at);
    let used = 0;
    for (let size = frameSize(chunk, 0); size !== undefined; size = frameSize(chunk, used)) {
      const frame = frameTime(chunk, used) < since ? undefined : readFrame(chunk, used);
      used += size;
      this.at += size;
      // A copy: a line that is kept keeps no chunk.
      if (frame) yield { stream: frame.stream, time: frame.time, data: Buffer.from(frame.data) };
    }
    if (used > 0) return true;
    if (this.hasLater) {
      await this.leave();
      return true;
    }
    const segments = await segmentsOf(this.directory, this.container);
    // What was written before the later one began is read once more.
    this.hasLater = segments.some(({ number }) => number > (this.segment ?? -1));
    return this.hasLater;
  }

  /** Opens the segment after the present one; false when there is none. Yields what was cut on the way. */
  private async *next(): AsyncGenerator<LogLine, boolean> {
    const before = this.segment;
    for (;;) {
      const segments = await segmentsOf(this.directory, this.container);
      const segment = segments.find(({ number }) => number > (before ?? -1));
      if (segment === undefined) return false;
      const head = await this.enter(segment, SEGMENT_HEAD);
      if (head === undefined) continue;
      if (head.bytes > 0 && (before === undefined || segment.number > before + 1)) {
        yield {
          stream: 'system',
          time: Date.now(),
          data: Buffer.from(
            `[the log is longer than is kept: everything before line ${head.lines + 1} (${head.bytes} bytes) was cut]\n`,
          ),
        };
      }
      return true;
    }
  }

  /** Undefined when the segment vanished meanwhile, or has no head yet. */
  private async enter(segment: Segment, at: number): Promise<{ lines: number; bytes: number } | undefined> {
    await this.leave();
    const file = await openIfThere(segment.path);
    if (file === undefined) return undefined;
    const buffer = Buffer.alloc(SEGMENT_HEAD);
    const { bytesRead } = await file.read(buffer, 0, SEGMENT_HEAD, 0);
    const head = bytesRead === SEGMENT_HEAD ? readSegmentHead(buffer) : { lines: 0, bytes: 0 };
    if (head === undefined) {
      await file.close();
      throw new Error('broken log');
    }
    this.file = file;
    this.segment = segment.number;
    this.hasLater = false;
    this.at = Math.max(at, SEGMENT_HEAD);
    return head;
  }

  private async leave(): Promise<void> {
    await this.file?.close();
    this.file = undefined;
  }
}

/**
 * Where the last `wanted` lines of a segment begin, and how many more are wanted from those before it. The ends of lines are counted from
 * the beginning on, as only there a frame is known to begin; of each chunk it is noted how many lay before it, so that the place is then
 * looked for in one.
 */
async function findTail(
  segment: Segment,
  wanted: number,
  pace: LogPace,
  signal: AbortSignal,
): Promise<{ readonly at: number; readonly wanted: number }> {
  const file = await openIfThere(segment.path);
  if (file === undefined) return { at: SEGMENT_HEAD, wanted };
  try {
    const chunks: { readonly at: number; readonly ends: number }[] = [];
    let at = SEGMENT_HEAD;
    let ends = 0;
    let isOpen = false;
    for (;;) {
      await pace.begin();
      signal.throwIfAborted();
      const walked = walk(await readChunk(file, at), Number.POSITIVE_INFINITY);
      if (walked.bytes === 0) break;
      chunks.push({ at, ends });
      at += walked.bytes;
      ends += walked.ends;
      isOpen = walked.isOpen;
    }
    // What has no newline yet counts as a line when it is the last.
    const lines = ends + (isOpen ? 1 : 0);
    if (lines <= wanted) return { at: SEGMENT_HEAD, wanted: wanted - lines };
    const before = lines - wanted;
    if (before > ends) return { at, wanted: 0 };
    const chunk = chunks.findLast((one) => one.ends < before) ?? { at: SEGMENT_HEAD, ends: 0 };
    const { bytes } = walk(await readChunk(file, chunk.at), before - chunk.ends);
    return { at: chunk.at + bytes, wanted: 0 };
  } finally {
    await file.close();
  }
}

/** Walks over whole frames, `most` ends of lines at most. `isOpen`: the line of the last one has not ended. */
function walk(
  chunk: Buffer,
  most: number,
): { readonly bytes: number; readonly ends: number; readonly isOpen: boolean } {
  let bytes = 0;
  let ends = 0;
  let isOpen = false;
  for (let size = frameSize(chunk, 0); size !== undefined && ends < most; size = frameSize(chunk, bytes)) {
    isOpen = isPartial(chunk, bytes);
    if (!isOpen) ends += 1;
    bytes += size;
  }
  return { bytes, ends, isOpen };
}

async function readChunk(file: FileHandle, at: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(READ);
  const { bytesRead } = await file.read(buffer, 0, READ, at);
  return buffer.subarray(0, bytesRead);
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
