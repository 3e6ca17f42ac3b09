/**
 * Saves the outputs of work of which nothing runs any more. A vital one that cannot be collected is tried again, later and
 * later, and its files stay where they are: the work has not ended before it is saved or abandoned. What takes long says so.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { OutputFile, WorkState } from '../../engines/compute/contract/engine.js';
import type { WorkDeps } from './deps.js';
import type { OutputOrder } from './path-map.js';
import type { ScratchFiles } from './scratch.js';

/** What takes longer than this is told, ms: well below the time after which a service removes by force what it has stopped. */
const SLOW_MS = 10_000;
/** Before the second try, doubling up to the last (ms). */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 60_000;

export async function saveOutputs(
  order: OutputOrder,
  slot: ScratchFiles,
  { collect }: Pick<WorkDeps, 'collect'>,
  control: { report(saving: NonNullable<WorkState['saving']>): void; readonly abandoned: AbortSignal },
): Promise<readonly OutputFile[]> {
  // Removed by one who wants nothing of it.
  if (control.abandoned.aborted) return [];
  const vital = new Set(order.outputs.filter((output) => output.vital === true).map(({ name }) => name));
  const slow = setTimeout(() => control.report({}), SLOW_MS);
  try {
    let said: string | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LAST_PAUSE_MS)) {
      const outputs = await collectOnce(order, slot, collect, vital);
      const error = outputs.find((output) => output.vital === true && output.error !== undefined)?.error;
      if (error === undefined || control.abandoned.aborted) return outputs;
      clearTimeout(slow);
      if (error !== said) control.report({ error });
      said = error;
      await delay(pause, undefined, { signal: control.abandoned }).catch(() => undefined);
      if (control.abandoned.aborted) return outputs;
    }
  } finally {
    clearTimeout(slow);
  }
}

async function collectOnce(
  order: OutputOrder,
  slot: ScratchFiles,
  collect: WorkDeps['collect'],
  vital: ReadonlySet<string>,
): Promise<readonly OutputFile[]> {
  try {
    const outputs = await collect(order, slot);
    return outputs.map((output) => (vital.has(output.name) ? { ...output, vital: true } : output));
  } catch (error) {
    if (vital.size === 0) throw error;
    const why = (error as Error).message;
    return [...vital].map((name) => ({ name, file: '', size: 0, directory: false, error: why, vital: true }));
  }
}
