/**
 * Tells a process from another one that was given its number later, by its start time.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** How often a process is looked after, in ms. */
const LOOK_MS = 200;

/**
 * Start of a process in clock ticks since boot, as text; '' when there is none.
 * Without /proc every living process answers the same.
 */
export function processStart(pid: number): string {
  try {
    if (process.platform !== 'linux') {
      process.kill(pid, 0);
      return 'alive';
    }
    // In the kernel's memory: nothing waits for a disk.
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The program's name stands in brackets and may hold blanks; the start is the 20th field after it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended already.
    return fields[0] === 'Z' ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
}

/** Resolves when the process is gone. */
export async function processEnd(pid: number, signal: AbortSignal): Promise<void> {
  const born = processStart(pid);
  for (let now = born; now !== '' && now === born; now = processStart(pid)) {
    await delay(LOOK_MS, undefined, { signal });
  }
}
