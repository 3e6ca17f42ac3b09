/**
 * Writes one container's log: cuts what the program prints into lines with stream and time, and appends them to
 * segment files (`segments.ts`).
 *
 * Bounds (I10): at most `logBytes` on disk (segments of a quarter each; the oldest is deleted when a fifth begins, and each
 * segment's head says how much of the log lies before it, so a reader can tell what was cut), and less where the logs of its org take too
 * much together (`org-logs.ts`, by `cut`). At most PENDING bytes in
 * memory: while more wait for the disk, `feed` answers false and the caller stops reading the program's pipe, which stops the
 * program once the pipe is full. At most TURN_LINES lines of it are taken in one turn of the event loop. Nothing is opened before the first byte, so silent work costs no file.
 * What a failed write (a full disk) leaves is held, HELD bytes of it, and written when it can be: with the next output, and every few seconds
 * without any. What comes beyond that is dropped and counted, and a system line in its place says so. A program never waits for a full
 * disk; the end of the work does (`complete`), as long as its patience lasts. While the logs of its org are cut, a program that prints waits.
 */
import type { LogLine } from '../../contract/engine.js';
import { machineFault } from '../machine-fault.js';
import { Retry, type Patience } from '../retry.js';
import { GROUP, merge, type Group } from './groups.js';
import type { LiveLog, WorkLogSpace } from './org-logs.js';
import { SEGMENTS, Segments } from './segments.js';
import { FRAME_OVERHEAD, MAX_PIECE, writeFrame } from './frame.js';

/** Bytes that wait for the disk before the program is made to wait. */
const PENDING = 256 * 1024;
/** Bytes of a log that are held while they cannot be written. */
const HELD = 256 * 1024;
/** Between tries to write what is held (ms). */
const AGAIN_MS = 2_000;
/** A line without its newline (a prompt, a progress bar) is shown after this long. */
const PARTIAL_MS = 200;
/** Lines of one log that are taken in one turn of the event loop: a program that prints empty lines costs most, and others wait meanwhile. */
const TURN_LINES = 2_048;
/** The least a segment may hold: a group and its head. Logs bounded to less than four of these take this much. */
const MIN_SEGMENT = GROUP + 1024;

/** Frames are made here, for all logs: a group is complete before the next one begins. */
const scratch = Buffer.allocUnsafe(GROUP);

type Source = 'stdout' | 'stderr';

/** A piece of output of which frames are still to be made, from `from` on. */
interface Untaken {
  readonly stream: LogLine['stream'];
  readonly time: number;
  readonly chunk: Buffer;
  from: number;
}

/** Of a log that counts nowhere. */
const UNCOUNTED: WorkLogSpace = {
  owner: 0,
  began: () => undefined,
  left: () => undefined,
  changed: () => undefined,
  room: () => undefined,
};

export class LogWriter implements LiveLog {
  private readonly now: () => number;
  private readonly onGrown: () => void;
  private readonly segments: Segments;
  private readonly space: WorkLogSpace;

  /** Per stream, bytes that wait for their newline. */
  private readonly unfinished: Record<Source, Buffer[]> = { stdout: [], stderr: [] };
  private readonly unfinishedBytes: Record<Source, number> = { stdout: 0, stderr: 0 };
  private partialTimer: NodeJS.Timeout | undefined;

  private readonly untaken: Untaken[] = [];
  private later: NodeJS.Immediate | undefined;
  /** What of the group that is being made lies in the scratch. */
  private draft = { size: 0, lines: 0, bytes: 0, inLine: false };
  private queue: Group[] = [];
  private queuedBytes = 0;
  private writing: Promise<void> | undefined;
  private readonly paused: (() => void)[] = [];

  /** Who waits for a cut, for how many bytes it was. */
  private cutAsked: ((bytes: number) => void)[] = [];
  private wake: (() => void) | undefined;
  /** What could not be written, in order. */
  private held: Group[] = [];
  private heldBytes = 0;
  /** Bytes of output behind it that are lost and not told of yet, and all that ever were. */
  private dropped = 0;
  private lost = 0;
  private trouble: unknown;
  private againTimer: NodeJS.Timeout | undefined;
  private over = false;
  private ending: Promise<void> | undefined;

  constructor(
    directory: string,
    container: string,
    logBytes: number,
    now: () => number,
    onGrown: () => void,
    space = UNCOUNTED,
  ) {
    const segmentBytes = Math.max(MIN_SEGMENT, Math.floor(logBytes / SEGMENTS));
    this.segments = new Segments({ directory, container, segmentBytes, space, log: this });
    this.space = space;
    this.now = now;
    this.onGrown = onGrown;
  }

  /** Nothing was ever written, so there is no file. */
  get silent(): boolean {
    return !this.segments.touched;
  }

  get size(): number {
    return this.segments.size;
  }

  /** Nothing waits for the disk to take it. */
  get isWhole(): boolean {
    return this.held.length === 0 && this.dropped === 0;
  }

  /** True while the program may go on; false: stop reading until `whenReady` calls back. The chunk is the writer's from now on. */
  feed(stream: Source, chunk: Buffer): boolean {
    if (this.over) return true;
    this.untaken.push({ stream, time: this.now(), chunk, from: 0 });
    this.take();
    return this.ready;
  }

  /** Calls back once when there is room again. */
  whenReady(resume: () => void): void {
    if (this.ready) resume();
    else this.paused.push(resume);
  }

  /** A line of the runner's own. */
  system(text: string): void {
    if (this.over) return;
    this.untaken.push({ stream: 'system', time: this.now(), chunk: Buffer.from(`${text}\n`), from: 0 });
    this.take();
  }

  private get ready(): boolean {
    return this.untaken.length === 0 && this.queuedBytes < PENDING;
  }

  /** Writes what is left, also a last line without newline; resolves when all is in the file, or held. Nothing can be added then. */
  end(): Promise<void> {
    this.ending ??= this.finish();
    return this.ending;
  }

  private async finish(): Promise<void> {
    while (this.untaken.length > 0) await new Promise<void>((resume) => this.whenReady(resume));
    this.flushPartial();
    this.over = true;
    while (this.writing !== undefined) await this.writing;
    if (this.isWhole) await this.close();
  }

  /**
   * Ends the log, and waits for room for what is held as long as the patience lasts, and the fault may pass. What then is still held is
   * given up. Answers how many bytes of output this log has lost that it does not tell of.
   */
  async complete(patience: Patience): Promise<number> {
    await this.end();
    const retry = new Retry(patience.abandoned);
    while (!this.isWhole && machineFault(this.trouble) !== undefined && patience.lasts()) {
      if (await retry.again()) await this.tryAgain();
    }
    if (!this.isWhole) await this.tryAgain();
    const untold = this.isWhole ? 0 : this.lost + this.held.reduce((sum, { bytes }) => sum + bytes, 0);
    await this.giveUp();
    return untold;
  }

  /** Ends the log without what is held. */
  async giveUp(): Promise<void> {
    await this.end();
    while (this.writing !== undefined) await this.writing;
    this.held = [];
    this.heldBytes = 0;
    this.dropped = 0;
    await this.close();
  }

  /** Takes all of it off the disk, of a log that nobody wants any more. */
  async remove(): Promise<void> {
    await this.giveUp();
    await this.segments.remove();
  }

  /** Takes the segments before the newest off the disk, or the newest where it is the only one. What comes later goes on in the log. */
  cut(): Promise<number> {
    return new Promise((done) => {
      this.cutAsked.push(done);
      this.wake?.();
      this.writing ??= this.drain();
    });
  }

  private async close(): Promise<void> {
    clearTimeout(this.againTimer);
    this.againTimer = undefined;
    await this.segments.close();
  }

  private async tryAgain(): Promise<void> {
    this.writing ??= this.drain();
    await this.writing;
  }

  /** Makes frames of what was fed, as much as there is room for and no more lines than TURN_LINES at once. */
  private take(): void {
    let lines = 0;
    for (let [next] = this.untaken; next !== undefined; [next] = this.untaken) {
      while (next.from < next.chunk.length && lines < TURN_LINES && this.queuedBytes + this.draft.size < PENDING) {
        next.from = this.takeLine(next);
        lines++;
      }
      if (next.from < next.chunk.length) break;
      this.untaken.shift();
    }
    this.seal();
    // Otherwise it goes on when there is room.
    if (this.untaken.length > 0 && lines >= TURN_LINES) this.later ??= setImmediate(() => this.goOn());
  }

  private goOn(): void {
    clearImmediate(this.later);
    this.later = undefined;
    this.take();
    if (this.ready) for (const resume of this.paused.splice(0)) resume();
  }

  /** Returns where in the chunk the next line begins. */
  private takeLine({ stream, time, chunk, from }: Untaken): number {
    // Of an empty line it is the first byte.
    const newline = chunk[from] === 10 ? from : chunk.indexOf(10, from);
    const end = newline < 0 ? chunk.length : newline + 1;
    if (stream === 'system') {
      this.frames(stream, time, chunk, true);
      return chunk.length;
    }
    const before = this.unfinished[stream];
    if (newline < 0) this.keep(stream, time, chunk.subarray(from));
    else if (before.length === 0 && end - from <= MAX_PIECE) this.frame(stream, time, false, chunk, from, end);
    else this.frames(stream, time, this.whole(stream, chunk.subarray(from, end)), true);
    return end;
  }

  /** With what came before of the same line. */
  private whole(stream: Source, last: Buffer): Buffer {
    const pieces = this.unfinished[stream];
    if (pieces.length === 0) return last;
    const line = Buffer.concat([...pieces, last]);
    pieces.length = 0;
    this.unfinishedBytes[stream] = 0;
    return line;
  }

  private keep(stream: Source, time: number, rest: Buffer): void {
    this.unfinished[stream].push(rest);
    this.unfinishedBytes[stream] += rest.length;
    if (this.unfinishedBytes[stream] >= MAX_PIECE) {
      const line = this.whole(stream, Buffer.alloc(0));
      const cut = line.length - (line.length % MAX_PIECE);
      this.frames(stream, time, line.subarray(0, cut), false);
      if (cut < line.length) {
        // A copy, so that a few bytes do not keep the whole chunk alive.
        this.unfinished[stream].push(Buffer.from(line.subarray(cut)));
        this.unfinishedBytes[stream] = line.length - cut;
      }
    }
    this.partialTimer ??= setTimeout(() => this.flushPartial(), PARTIAL_MS);
  }

  private flushPartial(): void {
    clearTimeout(this.partialTimer);
    this.partialTimer = undefined;
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.unfinishedBytes[stream] === 0) continue;
      this.frames(stream, this.now(), this.whole(stream, Buffer.alloc(0)), false);
    }
    this.seal();
  }

  /** A line in pieces; `complete`: it ends with the last of them. */
  private frames(stream: LogLine['stream'], time: number, line: Buffer, complete: boolean): void {
    for (let at = 0; at < line.length; at += MAX_PIECE) {
      const end = Math.min(line.length, at + MAX_PIECE);
      this.frame(stream, time, !(complete && end === line.length), line, at, end);
    }
  }

  private frame(
    stream: LogLine['stream'],
    time: number,
    partial: boolean,
    source: Buffer,
    from: number,
    to: number,
  ): void {
    // A group never exceeds a segment, so that segments keep their size; one piece always fits.
    if (this.draft.size + to - from + FRAME_OVERHEAD > GROUP) this.seal();
    const { draft } = this;
    draft.size = writeFrame(scratch, draft.size, stream, time, partial, source, from, to);
    if (!partial) draft.lines++;
    draft.inLine = partial;
    draft.bytes += to - from;
  }

  /** What has gathered in the scratch is a group. Always before anything else can use the scratch. */
  private seal(): void {
    const { size, lines, bytes, inLine } = this.draft;
    if (size > 0) {
      this.queue.push({ frames: Buffer.from(scratch.subarray(0, size)), begun: false, lines, bytes, inLine });
      this.queuedBytes += size;
      this.draft = { size: 0, lines: 0, bytes: 0, inLine: false };
    }
    if (this.queue.length > 0) this.writing ??= this.drain();
  }

  private async drain(): Promise<void> {
    do {
      const batch = this.queue;
      this.queue = [];
      await this.cutNow();
      await this.writeHeld();
      for (const group of merge(batch)) {
        const { length } = group.frames;
        await this.waitForCut();
        if (!this.isWhole) this.hold(group);
        else if (!(await this.append(group))) this.hold(group);
        this.queuedBytes -= length;
      }
      this.onGrown();
      if (this.queuedBytes < PENDING) this.goOn();
    } while (this.queue.length > 0 || this.cutAsked.length > 0);
    this.writing = undefined;
    clearTimeout(this.againTimer);
    this.againTimer = this.isWhole ? undefined : setTimeout(() => void this.tryAgain(), AGAIN_MS).unref();
    if (this.over && this.isWhole) await this.close();
  }

  private async cutNow(): Promise<void> {
    const asked = this.cutAsked.splice(0);
    if (asked.length === 0) return;
    // The rest of a frame of which half is written belongs into the same segment.
    const bytes = await this.segments.cut(this.held[0]?.begun !== true);
    for (const done of asked) done(bytes);
  }

  /** Waits while the logs of its org are cut, of which this may be one: the program waits then, as for a slow disk. */
  private async waitForCut(): Promise<void> {
    const cutting = this.space.room();
    if (cutting === undefined) return;
    let isOver = false;
    const over = cutting.then(() => (isOver = true));
    while (!isOver) {
      if (this.cutAsked.length > 0) await this.cutNow();
      else await Promise.race([over, new Promise<void>((wake) => (this.wake = wake))]);
    }
    this.wake = undefined;
  }

  /** As much as the disk takes; what was dropped behind it is told of then. */
  private async writeHeld(): Promise<void> {
    for (;;) {
      if (this.held.length === 0 && this.dropped > 0) {
        this.held.push(this.lossNote(this.dropped));
        this.dropped = 0;
      }
      const [next] = this.held;
      if (next === undefined) return;
      const { length } = next.frames;
      const written = await this.append(next);
      this.heldBytes -= length - next.frames.length;
      if (!written) return;
      this.held.shift();
    }
  }

  private hold(group: Group): void {
    // Behind what was dropped nothing is held: the word of it stands where it was.
    if (this.dropped === 0 && (group.begun || this.heldBytes + group.frames.length <= HELD)) {
      this.held.push(group);
      this.heldBytes += group.frames.length;
      return;
    }
    this.dropped += group.bytes;
    this.lost += group.bytes;
  }

  private lossNote(bytes: number): Group {
    const note = Buffer.from(`[${bytes} bytes of output were lost: the log could not be written]\n`);
    const frames = Buffer.allocUnsafe(note.length + FRAME_OVERHEAD);
    writeFrame(frames, 0, 'system', this.now(), false, note, 0, note.length);
    this.heldBytes += frames.length;
    return { frames, begun: false, lines: 0, bytes: 0, inLine: false };
  }

  /** False: not all of it could be written, and the rest is left in the group. */
  private async append(group: Group): Promise<boolean> {
    try {
      await this.segments.append(group);
      return true;
    } catch (error) {
      this.trouble = error;
      return false;
    }
  }
}
