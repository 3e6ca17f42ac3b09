/** Finds the processes that a service has left on its data, for tests of what is left and for clearing up. */
import { join } from 'node:path';
import { entries, link, text } from '../support/proc.js';

/**
 * Processes whose command line or working directory names this directory: `pid → command line`. Linux only. Tests look again and again, and
 * the machine may have many processes: reads that do not wait take a tenth of the processor time.
 */
export function processesOn(directory: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const entry of entries('/proc')) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const line = text(join('/proc', entry, 'cmdline')).replaceAll('\0', ' ');
    if (line.includes(directory) || link(join('/proc', entry, 'cwd')).startsWith(directory))
      found.set(Number(entry), line);
  }
  return found;
}
