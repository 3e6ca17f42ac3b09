/**
 * Looks again and again how much is free on the disks of this deployment's files, so that new objects are refused, and new Attempts of
 * what exists wait, before a full disk stops Postgres and with it everything. What is refused is taken again by itself, and what waits goes
 * on, once there is clearly more than the least.
 */
import { statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from './log.js';

export interface DiskWatch {
  /** Why new objects are refused now, and new Attempts wait; undefined: they do not. */
  shortage(): string | undefined;
  /** Called whenever there begins to be a shortage, and whenever it ends; instead of who was called before. */
  follow(onTurn: () => void): void;
  /** Bytes free on the fullest of the disks, as of the latest look. */
  free(): number;
}

export interface DiskWatchOptions {
  /** Directories that exist. */
  readonly directories: readonly string[];
  /** Bytes. */
  readonly reserve: number;
  readonly log: Log;
}

/** Between two looks, ms: a disk takes some hundred MB in that time, and the reserve is to be larger. */
const LOOK_MS = 1_000;
/** What has to be free for new objects to be taken again, as a part of the reserve: without a gap it would go on and off. */
const AGAIN = 1.25;
const MIB = 2 ** 20;

export async function watchDisk(options: DiskWatchOptions, until: AbortSignal): Promise<DiskWatch> {
  const { directories, reserve, log } = options;
  let free = Number.POSITIVE_INFINITY;
  let short = false;
  let onTurn: () => void = () => undefined;

  async function look(): Promise<void> {
    const disks = await Promise.all(directories.map((directory) => statfs(directory).catch(() => undefined)));
    const known = disks.flatMap((disk) => (disk === undefined ? [] : [disk.bavail * disk.bsize]));
    // A directory that cannot be looked at says nothing about its disk.
    if (known.length === 0) return;
    free = Math.min(...known);
    const now = isShort(free, reserve, short);
    if (now === short) return;
    short = now;
    const figures = { free, reserve };
    if (short) {
      log.warn(
        figures,
        'the disk is nearly full: new objects and uploads are refused, and new Attempts wait, until more is free',
      );
    } else log.info(figures, 'the disk has room again: new objects are taken, and new Attempts begin');
    onTurn();
  }

  async function keep(): Promise<void> {
    while (!until.aborted) {
      await delay(LOOK_MS, undefined, { signal: until, ref: false }).catch(() => undefined);
      if (!until.aborted) await look();
    }
  }

  await look();
  void keep();
  return {
    free: () => free,
    follow: (given) => (onTurn = given),
    shortage() {
      if (!short) return undefined;
      const wanted = Math.ceil((reserve * AGAIN) / MIB);
      return `the service's disk is nearly full: ${Math.floor(free / MIB)} MiB are free, and what is new waits for ${wanted} MiB`;
    },
  };
}

/** `was`: new objects are refused already. */
export const isShort = (free: number, reserve: number, was: boolean): boolean =>
  free < (was ? reserve * AGAIN : reserve);
