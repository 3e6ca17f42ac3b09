/**
 * The journal's file: appends with group commit, and compaction by writing a shorter file beside it.
 *
 * The journal folds the records itself, in the order of the file, and a compacted file is that fold. So a shorter file says what the
 * longer one said, whatever the rest of the runner has made of those records by then.
 *
 * One write and one fdatasync are under way at most; records that come meanwhile wait and share the next pair, so a
 * thousand starts cost a few syncs. `append` resolves when its record is on the disk; `note` is for records that may be
 * lost with the machine (not with the process). When a write fails (a full disk) its waiters are told, and since it may have
 * left half a line, the next one begins with a rewrite of the whole file from the fold, which has the failed records as well: so
 * nothing is forgotten and the runner goes on by itself once there is room.
 */
import { open, readFile, rename, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  compactJournal,
  encodeRecord,
  foldRecord,
  readJournal,
  type JournalContents,
  type JournaledWork,
  type JournalRecord,
} from './format.js';

/** Bytes appended since the last compaction after which a file of mostly dead records is rewritten. */
const COMPACT_BYTES = 4 * 1024 * 1024;

/** The same while records keep coming. */
const MOST_BYTES = 4 * COMPACT_BYTES;

/** More than the line of the format takes. */
const HEAD_BYTES = 256;

interface Waiter {
  readonly done: () => void;
  readonly failed: (error: Error) => void;
}

export class Journal {
  private readonly path: string;
  private file: FileHandle;
  private pending: JournalRecord[] = [];
  private waiters: Waiter[] = [];
  private busy = false;
  private torn = false;
  private grown = 0;
  /** What the records say that were written, or whose writing failed. */
  private readonly works: Map<string, JournaledWork>;
  private epoch: number;

  private constructor(path: string, file: FileHandle, { epoch, works }: JournalContents) {
    this.path = path;
    this.file = file;
    this.epoch = epoch;
    this.works = new Map(works);
  }

  static async read(path: string): Promise<JournalContents> {
    let text = '';
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    return readJournal(text);
  }

  /** Throws NewerJournal when a newer program wrote it. Reads no more than its first line, which says so. */
  static async checkFormat(path: string): Promise<void> {
    const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (file === undefined) return;
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      const head = buffer.toString('utf8', 0, bytesRead);
      const end = head.indexOf('\n');
      if (end >= 0 && head.startsWith('{"r":"format"')) readJournal(head.slice(0, end + 1));
    } finally {
      await file.close();
    }
  }

  /** Writes a journal that says `contents`, in place of the one that is there, and opens it. */
  static async open(path: string, contents: JournalContents): Promise<Journal> {
    return new Journal(path, await rewrite(path, contents), contents);
  }

  append(record: JournalRecord): Promise<void> {
    this.pending.push(record);
    return new Promise((done, failed) => {
      this.waiters.push({ done, failed });
      this.pump();
    });
  }

  note(record: JournalRecord): void {
    this.pending.push(record);
    this.pump();
  }

  private pump(): void {
    if (this.busy) return;
    this.busy = true;
    // One turn of the event loop lets all that is being accepted now share one sync.
    setImmediate(() => void this.flush());
  }

  private async flush(): Promise<void> {
    while (this.pending.length > 0) {
      const records = this.pending;
      const waiters = this.waiters;
      this.pending = [];
      this.waiters = [];
      try {
        if (this.torn) await this.compact();
        this.torn = false;
        const text = records.map(encodeRecord).join('');
        await this.file.appendFile(text);
        this.grown += text.length;
        if (waiters.length > 0) await this.file.datasync();
      } catch (error) {
        this.torn = true;
        for (const waiter of waiters) waiter.failed(error as Error);
      }
      for (const record of records) this.epoch = foldRecord(this.works, record, this.epoch);
      // A promise that was rejected already stays so.
      for (const waiter of waiters) waiter.done();
      if (this.grown > COMPACT_BYTES && !this.torn) await this.compactSoon();
    }
    this.busy = false;
  }

  /** What was just written often makes other records needless, and the records that say so come in the next turn. */
  private async compactSoon(): Promise<void> {
    await nextTurn();
    if (this.pending.length > 0 && this.grown < MOST_BYTES) return;
    await this.compact().catch(() => {
      this.torn = true;
    });
  }

  /** Runs between two flushes, so no record is half in the old and half in the new file. */
  private async compact(): Promise<void> {
    const old = this.file;
    this.file = await rewrite(this.path, { epoch: this.epoch, works: this.works });
    this.grown = 0;
    await old.close().catch(() => undefined);
  }
}

async function rewrite(path: string, contents: JournalContents): Promise<FileHandle> {
  const fresh = `${path}.new`;
  const file = await open(fresh, 'w', 0o600);
  try {
    await file.writeFile(compactJournal(contents).map(encodeRecord).join(''));
    await file.datasync();
    await rename(fresh, path);
    const directory = await open(dirname(path), 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}
