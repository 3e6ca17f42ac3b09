/**
 * Owns the bound on disk: measures what the files of all live work take, again and again, and tells which work has more than
 * it may. One `du` looks at all of them; its pauses grow with the time it takes, so that measuring never takes more than a
 * sixth of one core. Work can overshoot for as long as one pause lasts: `facts().enforced.disk` means no more than that.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { runTool, type Tool } from '../process/tool.js';

export interface Measured {
  readonly paths: readonly string[];
  readonly limit: number;
  exceeded(used: number): void;
}

/** Younger work is not looked at: most work is short. */
export const MIN_AGE_MS = 1_000;
/** Pause in relation to the time that measuring took. */
const REST = 5;
/** Pieces of work measured by one `du`; each has half a dozen paths. */
const AT_ONCE = 64;

export async function watchDisk(live: () => readonly Measured[], seconds: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const began = Date.now();
    const works = live();
    for (let from = 0; from < works.length; from += AT_ONCE) await measure(works.slice(from, from + AT_ONCE), signal);
    const took = Date.now() - began;
    await delay(Math.max(seconds * 1000, took * REST), undefined, { signal }).catch(() => undefined);
  }
}

/** Without root, work could close directories to its owner, and so to us: as root of an own user namespace we look anyway. */
function asOwner(file: string, args: readonly string[]): Pick<Tool, 'file' | 'args'> {
  if (process.getuid?.() === 0) return { file, args };
  return { file: 'unshare', args: ['--user', '--map-root-user', '--', file, ...args] };
}

async function measure(works: readonly Measured[], signal: AbortSignal): Promise<void> {
  const paths = works.flatMap((work) => work.paths);
  if (paths.length === 0) return;
  // Paths that vanish meanwhile are complained about and left out.
  const { stdout } = await runTool({ ...asOwner('du', ['-s', '-B1', '--', ...paths]), signal });
  const used = new Map<string, number>();
  for (const line of stdout.split('\n')) {
    const [bytes, path] = line.split('\t');
    if (path !== undefined) used.set(path, Number(bytes));
  }
  for (const work of works) {
    const sum = work.paths.reduce((total, path) => total + (used.get(path) ?? 0), 0);
    if (sum > work.limit) work.exceeded(sum);
  }
}
