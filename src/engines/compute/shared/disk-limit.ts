/**
 * Bounds the disk: measures what the files of all live work take, again and again, and tells which work has more than
 * it may. One `du` looks at all of them; its pauses grow with the time it takes, so that measuring takes a sixth of one core at the most,
 * until it takes a second: whatever slows it, the machine's load or a tree without end, must not keep the others from being looked
 * at. Work can overshoot for as long as one pause lasts: `facts().enforced.disk` means no more than that.
 *
 * Work of which nothing ran since it was measured is not looked at, but for once in a while: what ran for less than the kernel counts
 * may have written something all the same.
 *
 * Files are counted, too, since empty ones take no bytes and yet what the whole machine has only so many of; less often, as it costs
 * the same again and nobody makes many in seconds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { asOwner, runTool } from './tool.js';
import { measureUnlinked, MOST_OPEN, MOST_UNLINKED } from './unlinked-files.js';

export interface Measured {
  /** The same for the same piece of work. */
  readonly work: object;
  /** Another one once something of it has run; undefined: not known. */
  activity(): string | undefined;
  readonly paths: readonly string[];
  /** A file of the kernel that lists its processes, which may hold files that have no name any more; undefined: there is none. */
  readonly processList: string | undefined;
  /** Bytes. */
  readonly limit: number;
  /** What it has too much of, for a sentence. */
  exceeded(what: string): void;
}

/** Younger work is not looked at: most work is short. */
export const MIN_AGE_MS = 1_000;
/** Pause in relation to the time that measuring took. */
const REST = 5;
/** Longest pause for that reason (ms). */
const MOST_REST_MS = 5_000;
/** Pieces of work measured by one `du`; each has half a dozen paths. */
const AT_ONCE = 64;
/** Every so many measurements the files are counted. */
const COUNT_EVERY = 2;
/** Every so many measurements all of them are looked at. */
const ALL_EVERY = 15;
/** Of its limit for each file; a file system as it is commonly made has one for each 16 KiB. */
const BYTES_PER_FILE = 8_192;
/** Any work may have so many: an installed program of modest size. */
const LEAST_FILES = 10_000;

export async function watchDisk(live: () => readonly Measured[], seconds: number, signal: AbortSignal): Promise<void> {
  const last = new WeakMap<object, { readonly activity: string | undefined; readonly round: number }>();
  const isDue = ({ work, activity }: Measured, round: number): boolean => {
    // Before it is measured: what runs meanwhile is news for the next round.
    const now = activity();
    const seen = last.get(work);
    if (now === undefined || seen?.activity !== now) {
      last.set(work, { activity: now, round });
      return true;
    }
    return round - seen.round < COUNT_EVERY || round % ALL_EVERY === 0;
  };
  for (let round = 1; !signal.aborted; round++) {
    const began = Date.now();
    const works = live().filter((each) => isDue(each, round));
    for (let from = 0; from < works.length; from += AT_ONCE) {
      const some = works.slice(from, from + AT_ONCE);
      await measureBytes(some, signal);
      if (round % COUNT_EVERY === 0 || round % ALL_EVERY === 0) await countFiles(some, signal);
    }
    const took = Date.now() - began;
    const rest = Math.min(took * REST, MOST_REST_MS);
    await delay(Math.max(seconds * 1000, rest), undefined, { signal }).catch(() => undefined);
  }
}

export function mostFiles(limit: number): number {
  return Math.max(LEAST_FILES, Math.floor(limit / BYTES_PER_FILE));
}

async function measureBytes(works: readonly Measured[], signal: AbortSignal): Promise<void> {
  // First: what loses its name between the two looks is missed once rather than counted twice.
  const unlinked = await measureUnlinked(works, signal);
  const used = await measure(works, ['-B1'], signal);
  works.forEach((work, index) => {
    const { bytes: nameless = 0, files = 0, open = 0 } = unlinked[index] ?? {};
    const bytes = (used[index] ?? 0) + nameless;
    if (files > MOST_UNLINKED) work.exceeded(`are more than the ${MOST_UNLINKED} that may be open without a name`);
    else if (open > MOST_OPEN)
      work.exceeded(`are open more than the ${MOST_OPEN} times that all programs together may`);
    else if (bytes > work.limit) work.exceeded(`take ${bytes} bytes, more than its limit of ${work.limit}`);
  });
}

async function countFiles(works: readonly Measured[], signal: AbortSignal): Promise<void> {
  const used = await measure(works, ['--inodes'], signal);
  works.forEach((work, index) => {
    const files = used[index] ?? 0;
    const most = mostFiles(work.limit);
    if (files > most)
      work.exceeded(`are ${files}, more than the ${most} that its limit of ${work.limit} bytes is good for`);
  });
}

/** One sum for each work. */
async function measure(works: readonly Measured[], unit: readonly string[], signal: AbortSignal): Promise<number[]> {
  const paths = works.flatMap((work) => work.paths);
  if (paths.length === 0) return [];
  // Paths that vanish meanwhile are complained about and left out.
  const { stdout } = await runTool({ ...asOwner('du', ['-s', ...unit, '--', ...paths]), signal });
  const used = new Map<string, number>();
  for (const line of stdout.split('\n')) {
    const [amount, path] = line.split('\t');
    if (path !== undefined) used.set(path, Number(amount));
  }
  return works.map((work) => work.paths.reduce((total, path) => total + (used.get(path) ?? 0), 0));
}
