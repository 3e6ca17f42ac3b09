/**
 * Owns how a process is told from another one that was given its number later: by its start time.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** How often a process is looked after, in ms. */
const LOOK_MS = 200;

/**
 * Start of a process in clock ticks since boot, as text; '' when there is none.
 * Without /proc every living process answers the same.
 */
export const processStart = async (pid: number): Promise<string> => {
  if (process.platform !== 'linux') {
    try {
      process.kill(pid, 0);
      return 'alive';
    } catch {
      return '';
    }
  }
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The program's name stands in brackets and may hold blanks; the start is the 20th field after it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // A zombie has ended already.
  return fields[0] === 'Z' ? '' : (fields[19] ?? '');
};

/** Resolves when the process is gone. */
export const processEnd = async (pid: number, signal: AbortSignal): Promise<void> => {
  const born = await processStart(pid);
  for (let now = born; now !== '' && now === born; now = await processStart(pid)) {
    await delay(LOOK_MS, undefined, { signal });
  }
};
