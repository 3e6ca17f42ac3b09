/**
 * Saves the outputs of work of which nothing runs any more. One that the machine cannot take now (a full disk), and a vital one whatever is
 * wrong with it, is tried again, later and later, and its files stay where they are: the work has not ended before. A vital one is
 * waited for until it is saved or abandoned, others as long as the patience lasts. What takes long says so.
 */
import type { OutputFile, WorkState } from '../contract/engine.js';
import { machineFault } from './machine-fault.js';
import { Retry, type Patience } from './retry.js';

/** What takes longer than this is told, ms: well below the time after which a service removes by force what it has stopped. */
const SLOW_MS = 10_000;

export interface Saving {
  readonly outputs: readonly { readonly name: string; readonly vital?: boolean | undefined }[];
  /** Takes all outputs but those that an earlier try has settled, which it gives back as they are. */
  collect(settled: readonly OutputFile[]): Promise<readonly OutputFile[]>;
  report(saving: NonNullable<WorkState['saving']>): void;
  readonly patience: Patience;
}

/** Never throws: what could not be taken has its error. */
export async function saveOutputs(saving: Saving): Promise<readonly OutputFile[]> {
  const { patience, report } = saving;
  // Removed by one who wants nothing of it.
  if (patience.abandoned.aborted) return [];
  const slow = setTimeout(() => report({}), SLOW_MS);
  const retry = new Retry(patience.abandoned);
  try {
    let said: string | undefined;
    let settled: readonly OutputFile[] = [];
    for (;;) {
      const outputs = await collectOnce(saving, settled);
      const failed = outputs.filter(({ error, vital, passing }) => error !== undefined && (vital === true || passing));
      const waited = failed.find(({ vital }) => vital === true || patience.lasts());
      if (waited === undefined || patience.abandoned.aborted) return outputs;
      clearTimeout(slow);
      const { error = '' } = waited;
      if (error !== said) report({ error });
      said = error;
      settled = outputs.filter((output) => !failed.includes(output));
      if (!(await retry.again())) return outputs;
    }
  } finally {
    clearTimeout(slow);
  }
}

async function collectOnce(
  { outputs, collect }: Saving,
  settled: readonly OutputFile[],
): Promise<readonly OutputFile[]> {
  const vital = new Set(outputs.filter((output) => output.vital === true).map(({ name }) => name));
  const noted = (output: OutputFile): OutputFile => (vital.has(output.name) ? { ...output, vital: true } : output);
  try {
    return (await collect(settled)).map(noted);
  } catch (error) {
    return outputs.map(
      ({ name }) => settled.find((output) => output.name === name) ?? noted(uncollected(name, error as Error)),
    );
  }
}

/** An output that was not taken, for this reason. */
export function uncollected(name: string, error: Error): OutputFile {
  const passing = machineFault(error);
  const failed = { name, file: '', size: 0, directory: false };
  return passing === undefined ? { ...failed, error: error.message } : { ...failed, error: passing, passing: true };
}
