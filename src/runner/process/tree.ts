/**
 * Signals process trees by /proc, and waits for their end. Only descendants of a process that is known to live are
 * touched, so a host pid that was used again is never hit.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart } from '../../process-start.js';

/** More than this are not looked at: the work's own bound on processes is far below. */
const MAX = 65_536;

/** A process in uninterruptible sleep can delay its death this long; beyond it the caller reports and goes on. */
export const GONE_MS = 20_000;

/** Host ids of all processes below `pid`, itself not among them. */
export function descendants(pid: number): number[] {
  const found: number[] = [];
  const queue = [pid];
  while (queue.length > 0 && found.length < MAX) {
    const parent = queue.pop() as number;
    for (const child of children(parent)) {
      found.push(child);
      queue.push(child);
    }
  }
  return found;
}

export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended by itself.
    }
  }
}

export function children(pid: number): number[] {
  try {
    // A child belongs to the thread that made it.
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/**
 * To be asked as soon as a box is made, with the number of its first process; what it gives resolves when that is dead, which the kernel lets
 * it be only after all others of its pid namespace: by then its pipes and its maker may long be gone. Throws after `GONE_MS`.
 */
export function endOf(first: Promise<number | undefined>): () => Promise<void> {
  const known = first.then((pid) => (pid === undefined ? undefined : { pid, born: processStart(pid) }));
  return async () => {
    const box = await known;
    const began = Date.now();
    for (let wait = 1; box !== undefined && lives(box); wait = Math.min(wait * 2, 100)) {
      if (Date.now() - began > GONE_MS) throw new Error(`process ${box.pid} does not end`);
      await delay(wait);
    }
  };
}

function lives({ pid, born }: { readonly pid: number; readonly born: string }): boolean {
  return born !== '' && processStart(pid) === born;
}
