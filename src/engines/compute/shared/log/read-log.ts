/**
 * Reads one container's log from its segments: from the beginning, from the last so many lines, or from a time;
 * and on to what is written meanwhile. The runner writes, this reads, nobody locks: a frame counts once it is complete, and a
 * segment that vanishes under a slow reader is told of by a system line, as is what was cut before the first.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import type { LogLine } from '../../contract/engine.js';
import { segmentsOf, type Segment } from './append.js';
import { frameBefore, readFrame, readSegmentHead, SEGMENT_HEAD } from './frame.js';

/** Bytes read at once; every frame fits. */
const READ = 64 * 1024;
/** Frames that are walked over in one turn of the event loop: a segment of empty lines has hundreds of thousands. */
const FRAMES_PER_TURN = 1_000;

/** Where a reader stands. `segment` undefined: nothing was read yet. */
export class LogReader {
  private readonly directory: string;
  private readonly container: string;
  private file: FileHandle | undefined;
  private segment: number | undefined;
  private at = 0;

  constructor(directory: string, container: string) {
    this.directory = directory;
    this.container = container;
  }

  /** Goes to where the last `tail` lines begin; to the first line when undefined. */
  async seek(tail: number | undefined): Promise<void> {
    if (tail === undefined) return;
    const segments = await segmentsOf(this.directory, this.container);
    let wanted = tail;
    for (const segment of segments.toReversed()) {
      const found = await walkBack(segment, wanted);
      await this.enter(segment, found.at);
      wanted = found.wanted;
      if (wanted <= 0) return;
    }
  }

  /** Everything that is there now, in order. Ends at the end of what is written. */
  async *read(): AsyncGenerator<LogLine> {
    const buffer = Buffer.allocUnsafe(READ);
    for (;;) {
      if (this.file === undefined && !(yield* this.next())) return;
      // Asked before reading: once a later segment exists, this one grows no more.
      const later = (await segmentsOf(this.directory, this.container)).some(
        ({ number }) => number > (this.segment ?? -1),
      );
      yield* this.rest(buffer);
      if (!later) return;
      await this.leave();
    }
  }

  async close(): Promise<void> {
    await this.leave();
  }

  private async *rest(buffer: Buffer): AsyncGenerator<LogLine> {
    for (;;) {
      const file = this.file as FileHandle;
      const { bytesRead } = await file.read(buffer, 0, READ, this.at);
      const chunk = buffer.subarray(0, bytesRead);
      let used = 0;
      for (let frame = readFrame(chunk, 0); frame !== undefined; frame = readFrame(chunk, used)) {
        used += frame.size;
        this.at += frame.size;
        // A copy: the buffer is read into again while the line may still be in use.
        yield { stream: frame.stream, time: frame.time, data: Buffer.from(frame.data) };
      }
      if (used === 0) return;
    }
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
    let file: FileHandle;
    try {
      file = await open(segment.path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const buffer = Buffer.alloc(SEGMENT_HEAD);
    const { bytesRead } = await file.read(buffer, 0, SEGMENT_HEAD, 0);
    const head = bytesRead === SEGMENT_HEAD ? readSegmentHead(buffer) : { lines: 0, bytes: 0 };
    if (head === undefined) {
      await file.close();
      throw new Error('broken log');
    }
    this.file = file;
    this.segment = segment.number;
    this.at = Math.max(at, SEGMENT_HEAD);
    return head;
  }

  private async leave(): Promise<void> {
    await this.file?.close();
    this.file = undefined;
  }
}

/** Where the last `wanted` lines of a segment begin, and how many more are wanted from those before it. */
async function walkBack(segment: Segment, wanted: number): Promise<{ readonly at: number; readonly wanted: number }> {
  const bytes = await readWhole(segment.path);
  let end = SEGMENT_HEAD;
  let walked = 0;
  const step = (): Promise<void> | undefined => (++walked % FRAMES_PER_TURN === 0 ? turnOfLoop() : undefined);
  for (let frame = readFrame(bytes, end); frame !== undefined; frame = readFrame(bytes, end)) {
    end += frame.size;
    const rest = step();
    if (rest) await rest;
  }
  let left = wanted;
  let at = end;
  while (at > SEGMENT_HEAD) {
    const size = frameBefore(bytes.subarray(at - 4, at));
    if (size === undefined || at - size < SEGMENT_HEAD) break;
    const frame = readFrame(bytes, at - size);
    // A line ends in the frame that is not partial; what has no newline yet counts as a line when it is the last.
    if (frame !== undefined && (!frame.partial || at === end)) {
      if (left === 0) break;
      left--;
    }
    at -= size;
    const rest = step();
    if (rest) await rest;
  }
  return { at, wanted: left };
}

async function readWhole(path: string): Promise<Buffer> {
  try {
    const file = await open(path, 'r');
    try {
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
