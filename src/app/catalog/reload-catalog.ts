/**
 * Reads the catalogs' files again when it is asked for: one reading at a time, and one more for requests that came meanwhile.
 * Files that do not fit are refused whole, and the catalogs stay as they are.
 */
import type { Log } from '../log.js';
import type { CatalogChanges } from './store-catalog.js';
import { CatalogFault } from './read-catalog.js';

/** Logs the faults of a catalog; false: the error is another one. */
export function logFaults(error: unknown, log: Pick<Log, 'warn'>): boolean {
  if (!(error instanceof CatalogFault)) return false;
  for (const fault of error.lines) log.warn({ fault }, 'a catalog does not fit: the old ones stay');
  return true;
}

/** `read` reads the files and brings the catalogs in step with them. The answer asks for a reading and does not wait. */
export function openReload(read: () => Promise<CatalogChanges>, log: Pick<Log, 'info' | 'warn' | 'error'>): () => void {
  let running = false;
  let again = false;
  const run = async (): Promise<void> => {
    running = true;
    do {
      again = false;
      await once();
    } while (again);
    running = false;
  };
  async function once(): Promise<void> {
    try {
      log.info({ ...(await read()) }, 'the catalogs are read again');
    } catch (error) {
      if (logFaults(error, log)) return;
      const message = error instanceof Error ? error.message : 'unknown error';
      log.error({ message }, 'the catalogs could not be brought in step with their files: ask again');
    }
  }
  return () => {
    again = true;
    if (!running) void run();
  };
}
