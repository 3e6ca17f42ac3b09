/**
 * Owns the writing of one container's log: cuts what the program prints into lines with stream and time, appends them to
 * segment files, and rotates.
 *
 * Bounds (I10): at most `logBytes` on disk (segments of a quarter each; the oldest is deleted when a fifth begins, and each
 * segment's head says how much of the log lies before it, so a reader can tell what was cut). At most PENDING bytes in
 * memory: while more wait for the disk, `feed` answers false and the caller stops reading the program's pipe, which stops the
 * program once the pipe is full. Nothing is opened before the first byte, so silent work costs no file.
 * A write that fails (a full disk) drops what it held and counts it; a system line says so once writing works again.
 */
import { close as closeCallback, mkdir, open, unlink, write } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LogLine } from '../../engine.js';
import { FRAME_OVERHEAD, MAX_PIECE, SEGMENT_HEAD, writeFrame, writeSegmentHead } from './frame.js';

/** Bytes that wait for the disk before the program is made to wait. */
const PENDING = 256 * 1024;
/** A line without its newline (a prompt, a progress bar) is shown after this long. */
const PARTIAL_MS = 200;
const SEGMENTS = 4;
/** Bytes written at once at most. */
const GROUP = 64 * 1024;
/** The least a segment may hold: a group and its head. Logs bounded to less than four of these take this much. */
const MIN_SEGMENT = GROUP + 1024;

const mkdirs = promisify(mkdir);
const opens = promisify(open);
const closes = promisify(closeCallback);
const unlinks = promisify(unlink);
const writes = promisify(write) as (fd: number, buffer: Buffer) => Promise<{ bytesWritten: number }>;

type Source = 'stdout' | 'stderr';

interface Piece {
  readonly data: Buffer;
  readonly partial: boolean;
}

/** Encoded frames that are written together. */
interface Group {
  readonly frames: Buffer;
  readonly lines: number;
  readonly bytes: number;
}

export function segmentName(container: string, segment: number): string {
  return `${container}.${segment}.log`;
}

export class LogWriter {
  private readonly directory: string;
  private readonly container: string;
  private readonly segmentBytes: number;
  private readonly now: () => number;
  private readonly onGrown: () => void;

  /** Per stream, bytes that wait for their newline. */
  private readonly unfinished: Record<Source, Buffer[]> = { stdout: [], stderr: [] };
  private readonly unfinishedBytes: Record<Source, number> = { stdout: 0, stderr: 0 };
  private partialTimer: NodeJS.Timeout | undefined;

  private queue: Group[] = [];
  private queuedBytes = 0;
  private writing: Promise<void> | undefined;
  private readonly paused: (() => void)[] = [];

  private fd: number | undefined;
  private segment = 0;
  private segmentSize = 0;
  private linesBefore = 0;
  private bytesBefore = 0;
  private dropped = 0;
  private over = false;
  private ending: Promise<void> | undefined;

  constructor(directory: string, container: string, logBytes: number, now: () => number, onGrown: () => void) {
    this.directory = directory;
    this.container = container;
    this.segmentBytes = Math.max(MIN_SEGMENT, Math.floor(logBytes / SEGMENTS));
    this.now = now;
    this.onGrown = onGrown;
  }

  /** Nothing was ever written, so there is no file. */
  get silent(): boolean {
    return this.segmentSize === 0;
  }

  /** True while the program may go on; false: stop reading until `whenReady` calls back. */
  feed(stream: Source, chunk: Buffer): boolean {
    const time = this.now();
    const lines: Piece[] = [];
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(10, from);
      if (end < 0) break;
      this.cut(this.take(stream, chunk.subarray(from, end + 1)), lines, true);
      from = end + 1;
    }
    if (from < chunk.length) this.keep(stream, chunk.subarray(from), lines);
    this.enqueue(stream, time, lines);
    return this.queuedBytes < PENDING;
  }

  /** Calls back once when there is room again. */
  whenReady(resume: () => void): void {
    if (this.queuedBytes < PENDING) resume();
    else this.paused.push(resume);
  }

  /** A line of the runner's own. */
  system(text: string): void {
    this.enqueue('system', this.now(), [{ data: Buffer.from(`${text}\n`), partial: false }]);
  }

  /** Writes what is left, also a last line without newline; resolves when all is in the file. Nothing can be added then. */
  end(): Promise<void> {
    this.ending ??= this.finish();
    return this.ending;
  }

  private async finish(): Promise<void> {
    this.flushPartial();
    this.over = true;
    while (this.writing !== undefined) await this.writing;
    if (this.fd !== undefined) await closes(this.fd);
    this.fd = undefined;
  }

  private take(stream: Source, last: Buffer): Buffer {
    const pieces = this.unfinished[stream];
    if (pieces.length === 0) return last;
    pieces.push(last);
    const line = Buffer.concat(pieces);
    pieces.length = 0;
    this.unfinishedBytes[stream] = 0;
    return line;
  }

  private keep(stream: Source, rest: Buffer, lines: Piece[]): void {
    this.unfinished[stream].push(rest);
    this.unfinishedBytes[stream] += rest.length;
    if (this.unfinishedBytes[stream] >= MAX_PIECE) {
      const line = this.take(stream, Buffer.alloc(0));
      const whole = line.length - (line.length % MAX_PIECE);
      this.cut(line.subarray(0, whole), lines, false);
      if (whole < line.length) {
        // A copy, so that a few bytes do not keep the whole chunk alive.
        this.unfinished[stream].push(Buffer.from(line.subarray(whole)));
        this.unfinishedBytes[stream] = line.length - whole;
      }
    }
    this.partialTimer ??= setTimeout(() => this.flushPartial(), PARTIAL_MS);
  }

  private cut(line: Buffer, lines: Piece[], complete: boolean): void {
    for (let at = 0; at < line.length; at += MAX_PIECE) {
      const end = Math.min(line.length, at + MAX_PIECE);
      lines.push({ data: line.subarray(at, end), partial: !(complete && end === line.length) });
    }
  }

  private flushPartial(): void {
    clearTimeout(this.partialTimer);
    this.partialTimer = undefined;
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.unfinishedBytes[stream] === 0) continue;
      this.enqueue(stream, this.now(), [{ data: this.take(stream, Buffer.alloc(0)), partial: true }]);
    }
  }

  private enqueue(stream: LogLine['stream'], time: number, lines: readonly Piece[]): void {
    if (this.over) return;
    let from = 0;
    while (from < lines.length) {
      // A group never exceeds a segment, so that segments keep their size; one piece always fits.
      let to = from;
      let size = 0;
      for (; to < lines.length; to++) {
        const next = (lines[to] as Piece).data.length + FRAME_OVERHEAD;
        if (size > 0 && size + next > GROUP) break;
        size += next;
      }
      const frames = Buffer.allocUnsafe(size);
      let at = 0;
      let count = 0;
      let bytes = 0;
      for (const { data, partial } of lines.slice(from, to)) {
        at = writeFrame(frames, at, stream, time, partial, data, 0, data.length);
        if (!partial) count++;
        bytes += data.length;
      }
      this.queue.push({ frames, lines: count, bytes });
      this.queuedBytes += size;
      from = to;
    }
    if (this.queue.length > 0) this.writing ??= this.drain();
  }

  private async drain(): Promise<void> {
    while (this.queue.length > 0) {
      const batch = this.queue;
      this.queue = [];
      for (const group of merge(batch)) {
        try {
          await this.append(group);
        } catch {
          this.dropped += group.bytes;
        }
        this.queuedBytes -= group.frames.length;
      }
      this.onGrown();
      if (this.queuedBytes < PENDING) for (const resume of this.paused.splice(0)) resume();
    }
    this.writing = undefined;
  }

  private async append(group: Group): Promise<void> {
    if (this.fd === undefined) {
      await mkdirs(this.directory, { recursive: true, mode: 0o700 });
      await this.rotate();
    } else if (this.segmentSize + group.frames.length > this.segmentBytes) await this.rotate();
    if (this.dropped > 0) {
      const note = Buffer.from(`[${this.dropped} bytes of output were lost: the log could not be written]\n`);
      const frame = Buffer.allocUnsafe(note.length + FRAME_OVERHEAD);
      writeFrame(frame, 0, 'system', this.now(), false, note, 0, note.length);
      await this.put(frame);
      this.dropped = 0;
    }
    await this.put(group.frames);
    this.linesBefore += group.lines;
    this.bytesBefore += group.bytes;
  }

  private async put(frames: Buffer): Promise<void> {
    const { bytesWritten } = await writes(this.fd as number, frames);
    this.segmentSize += bytesWritten;
    if (bytesWritten < frames.length) {
      // Half a frame would spoil what follows in this segment: begin a new one.
      await this.rotate();
      throw new Error('short write');
    }
  }

  private async rotate(): Promise<void> {
    if (this.fd !== undefined) {
      await closes(this.fd);
      this.segment++;
    }
    this.fd = undefined;
    const path = join(this.directory, segmentName(this.container, this.segment));
    this.fd = await opens(path, 'w', 0o600);
    await writes(this.fd, writeSegmentHead({ lines: this.linesBefore, bytes: this.bytesBefore }));
    this.segmentSize = SEGMENT_HEAD;
    if (this.segment >= SEGMENTS) {
      const oldest = join(this.directory, segmentName(this.container, this.segment - SEGMENTS));
      // Already gone is what we want.
      await unlinks(oldest).catch(() => undefined);
    }
  }
}

/** Joins small groups, so that one write carries the lines of many chunks. */
function* merge(batch: readonly Group[]): Generator<Group> {
  let joined: Group[] = [];
  let size = 0;
  for (const group of batch) {
    if (size > 0 && size + group.frames.length > GROUP) {
      yield joinGroups(joined);
      joined = [];
      size = 0;
    }
    joined.push(group);
    size += group.frames.length;
  }
  if (size > 0) yield joinGroups(joined);
}

function joinGroups(groups: readonly Group[]): Group {
  const [first] = groups;
  if (first !== undefined && groups.length === 1) return first;
  return {
    frames: Buffer.concat(groups.map((group) => group.frames)),
    lines: groups.reduce((sum, group) => sum + group.lines, 0),
    bytes: groups.reduce((sum, group) => sum + group.bytes, 0),
  };
}
