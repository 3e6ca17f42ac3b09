/** Writes the end of work to the disk before it is reported: a report that a crash could take back would let a retry run twice. */
import type { WorkState } from '../contract/engine.js';
import { Retry, type Patience } from './retry.js';

/**
 * True when the end is on the disk. What cannot be written is written again, later and later, as long as the patience lasts; `waits` says
 * so, and may raise the sequence that `end` continues.
 */
export async function journalEnd(
  end: () => WorkState,
  deps: { journalEnd(state: WorkState): Promise<void>; report(line: string): void },
  patience: Patience,
  waits: (saving: NonNullable<WorkState['saving']>) => void,
): Promise<boolean> {
  const retry = new Retry(patience.abandoned);
  for (let first = true; ; first = false) {
    const state = end();
    try {
      await deps.journalEnd(state);
      return true;
    } catch (error) {
      if (first) {
        deps.report(`${state.id}: its end cannot be written: ${(error as Error).message}`);
        waits({ error: NO_JOURNAL });
      }
      if (!patience.lasts() || !(await retry.again())) return false;
    }
  }
}

const NO_JOURNAL = 'the machine cannot write down that it has ended';
