/** Waits for the end of work until its logs are whole. */
import type { Patience } from '../retry.js';
import type { LogWriter } from './writer.js';

const LOG_WAITS = 'the machine has no room for its log';

/** `logs`: by container; all have ended. `waits` says that one is not whole yet, `lost` how many bytes of one are lost for good. */
export async function completeLogs(
  logs: Iterable<readonly [string, LogWriter]>,
  patience: Patience,
  waits: (error: string) => void,
  lost: (line: string) => void,
): Promise<void> {
  const open = [...logs].filter(([, log]) => !log.isWhole);
  if (open.length > 0) waits(LOG_WAITS);
  await Promise.all(
    open.map(async ([name, log]) => {
      const bytes = await log.complete(patience);
      if (bytes > 0) lost(`${bytes} bytes of the log of ${name} were lost`);
    }),
  );
}
