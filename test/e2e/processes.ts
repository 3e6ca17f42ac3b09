/** Finds the processes that a service has left on its data, for tests of what is left and for clearing up. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Processes whose command line or working directory names this directory: `pid → command line`. Linux only. */
export async function processesOn(directory: string): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for (const entry of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const line = (await readFile(join('/proc', entry, 'cmdline'), 'utf8').catch(() => '')).replaceAll('\0', ' ');
    const place = await readlink(join('/proc', entry, 'cwd')).catch(() => '');
    if (line.includes(directory) || place.startsWith(directory)) found.set(Number(entry), line);
  }
  return found;
}
