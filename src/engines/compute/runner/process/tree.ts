/**
 * Owns the signalling of process trees by /proc. Only descendants of a process that is known to live are touched, so a host
 * pid that was used again is never hit.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** More than this are not looked at: the work's own bound on processes is far below. */
const MAX = 65_536;

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
