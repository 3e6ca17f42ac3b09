/**
 * What the logs of each org take on the disk, and the cut of the oldest when that is too much: those of work that has ended go first, in the
 * order of its ends, then the largest of what runs, its old segments before its newest. In a log that was cut a line says how much of it is gone.
 *
 * Bounds (I10): `orgBytes` for the logs of one org, `allBytes` for those of all; beyond the latter the org with the most is cut. While an org is
 * cut, the writers of its logs wait (`room`), so both bounds are passed by one group of frames of each log at the most. A file counts FILE_COST
 * more than its bytes, as much as it takes at the least. In memory are two numbers and the id of each piece of work that has a log.
 *
 * An org is known by a number alone, which the head of each segment carries: so a next process knows whose the logs are that it finds.
 */
import { createHash } from 'node:crypto';
import { open, readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { cutStoredLogs } from './cut-log.js';
import { readSegmentHead, SEGMENT_HEAD } from './frame.js';

/** What the logs of one org may take where nobody says another number (bytes). */
export const ORG_LOG_BYTES = 10 * 2 ** 30;
/** Bytes that a file takes at the least. */
export const FILE_COST = 4096;
/** A cut goes on until there is so much less than the bound, and this at the most (bytes), so that not each line begins another one. */
const SPARE = 1 / 16;
const MOST_SPARE = 64 * 1024 * 1024;
/** Of the disk: for the logs of all orgs, and of one. */
const OF_ALL = 1 / 4;
const OF_ORG = 1 / 8;
/** Between two lines of the operator's log about it (ms). */
const QUIET_MS = 60_000;

/** A log that may be written to. */
export interface LiveLog {
  /** Bytes on the disk. */
  readonly size: number;
  /** Takes the older segments off the disk, or, where there is one alone, what it has. Answers the bytes that are gone. */
  cut(): Promise<number>;
}

/** The logs of one piece of work, as their writers see them. */
export interface WorkLogSpace {
  /** Number of the org. */
  readonly owner: number;
  /** This log has begun. */
  began(log: LiveLog): void;
  /** Nothing of this log is left. */
  left(log: LiveLog): void;
  /** So many bytes more on the disk, or less. */
  changed(bytes: number): void;
  /** Where the logs of the org take too much: resolves when some were cut. */
  room(): Promise<void> | undefined;
}

interface WorkLogs {
  bytes: number;
  readonly logs: Set<LiveLog>;
}

interface Org {
  bytes: number;
  cutting: Promise<void> | undefined;
  readonly live: Map<string, WorkLogs>;
  /** Bytes by id, the oldest first. */
  readonly ended: Map<string, number>;
}

export interface OrgLogsSettings {
  /** Of all logs; one directory below it for each piece of work. */
  readonly directory: string;
  readonly orgBytes: number;
  readonly allBytes: number;
  readonly now: () => number;
  readonly report: (line: string) => void;
}

/** With the bounds for the disk of this directory: `orgBytes`, and no more than is good for the disk. */
export async function openOrgLogs(
  directory: string,
  orgBytes: number,
  report: (line: string) => void,
): Promise<OrgLogs> {
  const { blocks, bsize } = await statfs(directory);
  const disk = blocks * bsize;
  const bounds = { orgBytes: Math.min(orgBytes, disk * OF_ORG), allBytes: disk * OF_ALL };
  return new OrgLogs({ directory, ...bounds, now: Date.now, report });
}

export class OrgLogs {
  private readonly settings: OrgLogsSettings;
  private readonly orgs = new Map<number, Org>();
  private readonly owners = new Map<string, number>();
  private all = 0;
  private freed = 0;
  private quietUntil = 0;
  /** Removed while what was there before is looked at. */
  private removedMeanwhile: Set<string> | undefined;

  constructor(settings: OrgLogsSettings) {
    this.settings = settings;
  }

  /** Bytes of the logs of an org. */
  bytesOf(org: string | undefined): number {
    return this.orgs.get(ownerOf(org))?.bytes ?? 0;
  }

  /** The logs of a piece of work that begins. What was known of it is forgotten: its directory is empty. */
  begin(id: string, name: string | undefined): WorkLogSpace {
    this.removed(id);
    const owner = ownerOf(name);
    const org = this.org(owner);
    const work: WorkLogs = { bytes: 0, logs: new Set() };
    org.live.set(id, work);
    this.owners.set(id, owner);
    const changed = (bytes: number): void => {
      // What still comes of work that is removed goes with its directory.
      if (org.live.get(id) !== work) return;
      work.bytes += bytes;
      this.count(org, bytes);
      if (bytes > 0) this.cutWhereTooMuch(org);
    };
    return {
      owner,
      changed,
      began: (log) => work.logs.add(log),
      left: (log) => work.logs.delete(log),
      room: () => (this.isTooMuch(org) ? org.cutting : undefined),
    };
  }

  /** All logs of it are whole. From now on they are the newest of what has ended. */
  ended(id: string): void {
    const org = this.orgOf(id);
    const work = org?.live.get(id);
    if (org === undefined || work === undefined) return;
    org.live.delete(id);
    if (work.bytes > 0) org.ended.set(id, work.bytes);
    else this.owners.delete(id);
  }

  removed(id: string): void {
    this.removedMeanwhile?.add(id);
    const org = this.orgOf(id);
    if (org === undefined) return;
    this.count(org, -(org.live.get(id)?.bytes ?? org.ended.get(id) ?? 0));
    org.live.delete(id);
    org.ended.delete(id);
    this.owners.delete(id);
  }

  /** Takes in the logs that were there before, as of work that has ended, the oldest first. To be called once. */
  async findStored(signal: AbortSignal): Promise<void> {
    const { directory } = this.settings;
    const removed = new Set<string>();
    this.removedMeanwhile = removed;
    const found: ({ readonly id: string } & StoredLogs)[] = [];
    for (const id of await readdir(directory)) {
      if (signal.aborted) return;
      if (this.owners.has(id)) continue;
      const stored = await storedLogs(join(directory, id));
      if (stored.bytes > 0) found.push({ id, ...stored });
    }
    this.removedMeanwhile = undefined;
    const since = [...this.orgs.values()].map((org) => [org, [...org.ended]] as const);
    for (const [org] of since) org.ended.clear();
    for (const { id, owner, bytes } of found.toSorted((one, other) => one.at - other.at)) {
      if (this.owners.has(id) || removed.has(id)) continue;
      const org = this.org(owner);
      org.ended.set(id, bytes);
      this.owners.set(id, owner);
      this.count(org, bytes);
    }
    for (const [org, works] of since) for (const [id, bytes] of works) org.ended.set(id, bytes);
    for (const org of this.orgs.values()) this.cutWhereTooMuch(org);
  }

  private org(owner: number): Org {
    const org = this.orgs.get(owner) ?? { bytes: 0, cutting: undefined, live: new Map(), ended: new Map() };
    this.orgs.set(owner, org);
    return org;
  }

  private orgOf(id: string): Org | undefined {
    const owner = this.owners.get(id);
    return owner === undefined ? undefined : this.orgs.get(owner);
  }

  private count(org: Org, bytes: number): void {
    org.bytes += bytes;
    this.all += bytes;
  }

  private isTooMuch(org: Org): boolean {
    return org.bytes > this.settings.orgBytes || this.all > this.settings.allBytes;
  }

  /** Of this org, or of the one that has most where all have too much. Each org is cut by itself. */
  private cutWhereTooMuch(org: Org): void {
    const { orgBytes, allBytes } = this.settings;
    if (!this.isTooMuch(org)) return;
    if (org.bytes > orgBytes) this.cutUntil(org, () => org.bytes <= lessSpare(orgBytes));
    if (this.all > allBytes) this.cutUntil(this.most(), () => this.all <= lessSpare(allBytes));
  }

  private most(): Org {
    return [...this.orgs.values()].reduce((most, org) => (org.bytes > most.bytes ? org : most));
  }

  private cutUntil(org: Org, isEnough: () => boolean): void {
    org.cutting ??= this.cut(org, isEnough)
      .catch((error: unknown) => this.settings.report(`logs cannot be cut: ${(error as Error).message}`))
      .finally(() => {
        org.cutting = undefined;
      });
  }

  private async cut(org: Org, isEnough: () => boolean): Promise<void> {
    for (const [id, bytes] of org.ended) {
      if (isEnough()) break;
      this.removed(id);
      await cutStoredLogs(join(this.settings.directory, id));
      this.freed += bytes;
    }
    // What has more by then is cut with the next line.
    const logs = [...org.live.values()].flatMap((work) => [...work.logs]);
    for (const log of logs.toSorted((one, other) => other.size - one.size)) {
      // Of a smaller one nothing would be gained.
      if (isEnough() || log.size <= 2 * FILE_COST) break;
      this.freed += await log.cut();
    }
    this.reportCut();
  }

  private reportCut(): void {
    const { now, report } = this.settings;
    if (this.freed === 0 || now() < this.quietUntil) return;
    this.quietUntil = now() + QUIET_MS;
    report(`logs took more than their bound: the oldest ${this.freed} bytes of the org with most of them were cut`);
    this.freed = 0;
  }
}

function lessSpare(bytes: number): number {
  return bytes - Math.min(bytes * SPARE, MOST_SPARE);
}

/** 0 stands for logs of older programs, which do not name their org: all of them count as one org. */
function ownerOf(org: string | undefined): number {
  return org === undefined ? 0 : createHash('sha256').update(org).digest().readUInt32LE(0);
}

interface StoredLogs {
  readonly owner: number;
  readonly bytes: number;
  /** When one was last written (ms). */
  readonly at: number;
}

/** What lies in the directory of a piece of work. */
async function storedLogs(directory: string): Promise<StoredLogs> {
  const stored = { owner: 0, bytes: 0, at: 0 };
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    if (!name.endsWith('.log')) continue;
    // It may go with its work meanwhile.
    const file = await open(join(directory, name), 'r').catch(() => undefined);
    if (file === undefined) continue;
    try {
      const { size, mtimeMs } = await file.stat();
      stored.bytes += size > SEGMENT_HEAD ? FILE_COST + size - SEGMENT_HEAD : 0;
      stored.at = Math.max(stored.at, mtimeMs);
      const head = Buffer.alloc(SEGMENT_HEAD);
      await file.read(head, 0, SEGMENT_HEAD, 0);
      stored.owner = readSegmentHead(head)?.owner ?? stored.owner;
    } finally {
      await file.close();
    }
  }
  return stored;
}
