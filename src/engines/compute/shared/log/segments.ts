/**
 * The segment files of one log that is written: appends whole groups of frames, begins a segment when the newest is full, and takes the
 * oldest off the disk. Each segment's head says how much of the log lies before it. Nothing is opened before the first byte.
 *
 * Bounds (I10): SEGMENTS files of `segmentBytes`, and less where the logs of the org take too much together (`cut`). Not for use by two at
 * a time: the writer waits for each call.
 */
import { close as closeCallback, mkdir, open, unlink, write } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { segmentName } from './stored-segments.js';
import { SEGMENT_HEAD, writeSegmentHead } from './frame.js';
import type { Group } from './groups.js';
import { FILE_COST, type LiveLog, type WorkLogSpace } from './org-logs.js';

export const SEGMENTS = 4;

const mkdirs = promisify(mkdir);
const opens = promisify(open);
const closes = promisify(closeCallback);
const unlinks = promisify(unlink);
const writes = promisify(write) as (fd: number, buffer: Buffer) => Promise<{ bytesWritten: number }>;

/** The disk took less than it was given, which it does when it is full. */
class NoRoom extends Error {
  readonly code = 'ENOSPC';
}

export interface SegmentsSettings {
  readonly directory: string;
  readonly container: string;
  readonly segmentBytes: number;
  readonly space: WorkLogSpace;
  /** The log that these are of, for its org's bound. */
  readonly log: LiveLog;
}

export class Segments {
  private readonly settings: SegmentsSettings;
  /** Of the newest, while it is open. */
  private fd: number | undefined;
  private next = 0;
  private newestBytes = 0;
  private linesBefore = 0;
  private bytesBefore = 0;
  private inLine = false;
  /** Those on the disk, the oldest first, with the bytes that each counts. */
  private stored: { readonly path: string; bytes: number }[] = [];
  private begun = false;

  constructor(settings: SegmentsSettings) {
    this.settings = settings;
  }

  /** Something was ever written, or tried to be. */
  get touched(): boolean {
    return this.begun;
  }

  /** Bytes that they count on the disk. */
  get size(): number {
    return this.stored.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Takes what is written off the group's frames. Throws the disk's error; what could not be written is left in the group then. */
  async append(group: Group): Promise<void> {
    if (!group.begun) await this.makeRoomFor(group.frames.length);
    while (group.frames.length > 0) {
      const { bytesWritten } = await writes(this.fd as number, group.frames);
      if (bytesWritten === 0) throw new NoRoom();
      group.begun = true;
      group.frames = group.frames.subarray(bytesWritten);
      this.grown(bytesWritten);
    }
    this.linesBefore += group.lines;
    this.bytesBefore += group.bytes;
    this.inLine = group.inLine;
  }

  /** `whole`: no half frame stands at the end, so the newest may go too, where it is the only one. Answers the bytes that are gone. */
  async cut(whole: boolean): Promise<number> {
    // Where no segment can be begun, there is one that stays.
    if (this.stored.length === 1 && whole) await this.begin().catch(() => undefined);
    return this.unlinkOldest(this.stored.length - 1);
  }

  async close(): Promise<void> {
    const { fd } = this;
    this.fd = undefined;
    // All is in it by now.
    if (fd !== undefined) await closes(fd).catch(() => undefined);
  }

  /** Takes all off the disk, of a log that is closed. */
  async remove(): Promise<void> {
    await this.unlinkOldest(this.stored.length);
    this.settings.space.left(this.settings.log);
  }

  private async makeRoomFor(bytes: number): Promise<void> {
    if (this.fd === undefined) {
      if (!this.begun) this.settings.space.began(this.settings.log);
      this.begun = true;
      await mkdirs(this.settings.directory, { recursive: true, mode: 0o700 });
      await this.begin();
    } else if (this.newestBytes + bytes > this.settings.segmentBytes) await this.begin();
  }

  private async begin(): Promise<void> {
    const { directory, container, space } = this.settings;
    await this.close();
    const path = join(directory, segmentName(container, this.next));
    const fd = await opens(path, 'w', 0o600);
    try {
      const { linesBefore: lines, bytesBefore: bytes, inLine } = this;
      const head = writeSegmentHead({ owner: space.owner, lines, bytes, inLine });
      if ((await writes(fd, head)).bytesWritten < SEGMENT_HEAD) throw new NoRoom();
    } catch (error) {
      await closes(fd);
      // A segment without its head is no log.
      await unlinks(path).catch(() => undefined);
      throw error;
    }
    this.fd = fd;
    this.next++;
    this.newestBytes = SEGMENT_HEAD;
    this.stored.push({ path, bytes: FILE_COST });
    space.changed(FILE_COST);
    await this.unlinkOldest(this.stored.length - SEGMENTS);
  }

  private grown(bytes: number): void {
    this.newestBytes += bytes;
    const newest = this.stored.at(-1);
    if (newest !== undefined) newest.bytes += bytes;
    this.settings.space.changed(bytes);
  }

  private async unlinkOldest(count: number): Promise<number> {
    let gone = 0;
    for (const { path, bytes } of this.stored.splice(0, Math.max(0, count))) {
      // Already gone is what we want.
      await unlinks(path).catch(() => undefined);
      this.settings.space.changed(-bytes);
      gone += bytes;
    }
    return gone;
  }
}
