/** The last bound of a stop: a process that has closed all of its parts ends, even if something is still open by mistake. */
import type { Log } from './log.js';

/** Time for what is closing to end (ms). */
const END_MS = 5_000;
/** Everything acknowledged is kept; the exit code says that this is a fault. */
const NOT_CLEAN = 1;

/** To be called when nothing is left to be done. */
export function endSoon(log: Log): void {
  const late = (): void => {
    log.warn(
      { open: process.getActiveResourcesInfo() },
      'all is closed, and something keeps the process: ended anyhow',
    );
    process.exit(NOT_CLEAN);
  };
  setTimeout(late, END_MS).unref();
}
