/**
 * Reads one container's log from its segments: from the beginning, from the last so many lines, or from a time;
 * and on to what is written meanwhile. The runner writes, this reads, nobody locks: a frame counts once it is complete, and where
 * segments were cut, before the first or under a slow reader, a system line says so: the head of the next segment counts more bytes than were read.
 *
 * I10: one chunk is in memory, also while the last lines are looked for, and each is read when the pace allows it. What is noted of chunks
 * where lines are looked for is two numbers of each. No reader keeps on the disk what was cut: a file without a name is left, and one that
 * is not read on for IDLE_MS is closed, and opened again.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import type { LogLine, LogPace } from '../../contract/engine.js';
import { segmentName, segmentsOf, type Segment } from './stored-segments.js';
import {
  FRAME_OVERHEAD,
  frameSize,
  frameTime,
  isPartial,
  readFrame,
  readSegmentHead,
  SEGMENT_HEAD,
  type SegmentHead,
} from './frame.js';

/** Bytes read at once; every frame fits. */
const READ = 64 * 1024;
const IDLE_MS = 1_000;
/** Reads as fast as the disk gives. */
const UNPACED: LogPace = { begin: () => turnOfLoop(), end: () => Promise.resolve() };

const NO_HEAD: SegmentHead = { owner: 0, lines: 0, bytes: 0, inLine: false };

/** Where a reader stands. `segment` undefined: nothing was read yet. */
export class LogReader {
  private readonly directory: string;
  private readonly container: string;
  private readonly pace: LogPace;
  private file: FileHandle | undefined;
  private segment: number | undefined;
  private at = 0;
  /** Where it ends; absent: where the log does. */
  private end: { readonly segment: number; readonly at: number } | undefined;
  private idle: NodeJS.Timeout | undefined;
  /** The segment was read to its end, and another one comes. */
  private finished = false;
  private head: SegmentHead = NO_HEAD;
  /** Bytes of output up to there, at the least. */
  private passed = 0;
  /** Another segment comes after this one, which therefore grows no more. */
  private hasLater = false;

  constructor(directory: string, container: string, pace = UNPACED) {
    this.directory = directory;
    this.container = container;
    this.pace = pace;
  }

  /**
   * Goes to where the last `tail` lines begin; to the first line when undefined. `goesOn`: what is written from now on is read, too; else
   * reading ends behind the last of these lines.
   */
  async seek(tail: number | undefined, goesOn: boolean, signal: AbortSignal): Promise<void> {
    if (tail === undefined) return;
    const segments = await segmentsOf(this.directory, this.container);
    let wanted = tail;
    for (const segment of segments.toReversed()) {
      const found = await findTail(segment, wanted, this.pace, signal);
      if (!goesOn) this.end ??= { segment: segment.number, at: found.end };
      await this.enter(segment, found.at);
      wanted = found.wanted;
      if (wanted > 0) continue;
      // What lies before is not asked for, cut or not.
      this.passed = this.head.bytes + this.at - SEGMENT_HEAD;
      return;
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
    clearTimeout(this.idle);
    await this.leave();
  }

  /** One chunk of lines. False: there is no more. */
  private async *chunk(since = Number.NEGATIVE_INFINITY): AsyncGenerator<LogLine, boolean> {
    const file = await this.opened();
    if (file === undefined) return false;
    const chunk = await readChunk(file, this.at);
    if (frameSize(chunk, 0) === undefined) {
      const { mtimeMs } = await file.stat();
      const goesOn = await this.atEnd(file);
      yield* this.whatWasCut(Math.round(mtimeMs), since);
      return goesOn;
    }
    // Its lines are in memory; who takes them may be slow.
    this.idle = setTimeout(() => void this.leave(), IDLE_MS);
    yield* this.whatWasCut(frameTime(chunk, 0), since);
    let used = 0;
    for (let size = frameSize(chunk, 0); size !== undefined; size = frameSize(chunk, used)) {
      if (this.isAtEnd()) return false;
      const frame = frameTime(chunk, used) < since ? undefined : readFrame(chunk, used);
      used += size;
      this.at += size;
      this.passed += size - FRAME_OVERHEAD;
      // A copy: a line that is kept keeps no chunk.
      if (frame) yield { stream: frame.stream, time: frame.time, data: Buffer.from(frame.data) };
    }
    return true;
  }

  private isAtEnd(): boolean {
    const { end, segment = -1, at } = this;
    return end !== undefined && (segment > end.segment || (segment === end.segment && at >= end.at));
  }

  /** The file to read on in. Undefined: there is none. */
  private async opened(): Promise<FileHandle | undefined> {
    clearTimeout(this.idle);
    if (this.file === undefined && this.segment !== undefined && !this.finished)
      this.file = await openIfThere(join(this.directory, segmentName(this.container, this.segment)));
    if (this.file !== undefined && (await this.file.stat()).nlink === 0) await this.leave();
    if (this.file === undefined && !(await this.next())) return undefined;
    return this.file;
  }

  /** True: there may be more. */
  private async atEnd(file: FileHandle): Promise<boolean> {
    const head = await readHead(file);
    if (head !== undefined && head.bytes > this.passed) {
      // It was cut meanwhile (`cut-log.ts`).
      this.head = head;
      this.at = SEGMENT_HEAD;
      return true;
    }
    if (this.hasLater) {
      this.finished = true;
      await this.leave();
      return true;
    }
    const segments = await segmentsOf(this.directory, this.container);
    // What was written before the later one began is read once more.
    this.hasLater = segments.some(({ number }) => number > (this.segment ?? -1));
    return this.hasLater;
  }

  /** Opens the segment after the present one; false when there is none. */
  private async next(): Promise<boolean> {
    const before = this.segment ?? -1;
    for (;;) {
      const segments = await segmentsOf(this.directory, this.container);
      const segment = segments.find(({ number }) => number > before);
      if (segment === undefined) return false;
      if (await this.enter(segment, SEGMENT_HEAD)) return true;
    }
  }

  /** `time`: of what comes next (ms). */
  private *whatWasCut(time: number, since: number): Generator<LogLine> {
    const { lines, bytes, inLine } = this.head;
    if (bytes <= this.passed) return;
    this.passed = bytes;
    if (time < since) return;
    const line = inLine ? `${lines + 1}, and the beginning of that` : String(lines + 1);
    const words = `everything before line ${line} (${bytes} bytes) was cut: this log, or those of its org together, are longer than is kept`;
    yield { stream: 'system', time, data: Buffer.from(`[${words}]\n`) };
  }

  /** False when the segment vanished meanwhile. */
  private async enter(segment: Segment, at: number): Promise<boolean> {
    await this.leave();
    const file = await openIfThere(segment.path);
    if (file === undefined) return false;
    const head = await readHead(file);
    if (head === undefined) {
      await file.close();
      throw new Error('broken log');
    }
    this.file = file;
    this.segment = segment.number;
    this.head = head;
    this.hasLater = false;
    this.finished = false;
    this.at = Math.max(at, SEGMENT_HEAD);
    return true;
  }

  private async leave(): Promise<void> {
    const { file } = this;
    this.file = undefined;
    await file?.close();
  }
}

/**
 * Where the last `wanted` lines of a segment begin and end, and how many more are wanted from those before it. The ends of lines are counted from
 * the beginning on, as only there a frame is known to begin; of each chunk it is noted how many lay before it, so that the place is then
 * looked for in one.
 */
async function findTail(
  segment: Segment,
  wanted: number,
  pace: LogPace,
  signal: AbortSignal,
): Promise<{ readonly at: number; readonly wanted: number; readonly end: number }> {
  const file = await openIfThere(segment.path);
  if (file === undefined) return { at: SEGMENT_HEAD, wanted, end: SEGMENT_HEAD };
  try {
    const chunks: { readonly at: number; readonly ends: number }[] = [];
    let at = SEGMENT_HEAD;
    let ends = 0;
    let isOpen = false;
    for (;;) {
      await pace.begin();
      signal.throwIfAborted();
      if ((await file.stat()).nlink === 0) break;
      const walked = walk(await readChunk(file, at), Number.POSITIVE_INFINITY);
      if (walked.bytes === 0) break;
      chunks.push({ at, ends });
      at += walked.bytes;
      ends += walked.ends;
      isOpen = walked.isOpen;
    }
    // What has no newline yet counts as a line when it is the last.
    const lines = ends + (isOpen ? 1 : 0);
    const end = at;
    if (lines <= wanted) return { at: SEGMENT_HEAD, wanted: wanted - lines, end };
    const before = lines - wanted;
    if (before > ends) return { at, wanted: 0, end };
    const chunk = chunks.findLast((one) => one.ends < before) ?? { at: SEGMENT_HEAD, ends: 0 };
    const { bytes } = walk(await readChunk(file, chunk.at), before - chunk.ends);
    return { at: chunk.at + bytes, wanted: 0, end };
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

/** A head that is not written yet counts as zeros. Undefined: the file is no segment. */
async function readHead(file: FileHandle): Promise<SegmentHead | undefined> {
  const buffer = Buffer.alloc(SEGMENT_HEAD);
  const { bytesRead } = await file.read(buffer, 0, SEGMENT_HEAD, 0);
  return bytesRead === SEGMENT_HEAD ? readSegmentHead(buffer) : NO_HEAD;
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
