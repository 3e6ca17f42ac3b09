/** Owns how the outputs of a Job are listed and found, from its slots. Pure; the rows come from storage or from the book. */
import type { SlotRow } from '../machine.js';
import { rfc3339 } from '../../api/time.js';
import type { SlotDetail, SlotOutput } from './slots.js';
import type { JobOutput } from './status.js';

/** An output as the status shows it, and whether its blob is a directory's tar.zst. */
export type LocatedOutputEntry = JobOutput & { readonly directory?: boolean | undefined };

/** All outputs, by index and then as the Job declares them. */
export function jobOutputs(rows: Iterable<SlotRow>): readonly LocatedOutputEntry[] {
  return [...rows]
    .toSorted((a, b) => a.index - b.index)
    .flatMap((row) => outputsOf(row).map((output) => listed(row, output)));
}

export type LocatedOutput =
  | { readonly outcome: 'Found'; readonly output: LocatedOutputEntry }
  /** Several indexes have an output of this name, and none was asked for: code OutputIndexRequired. */
  | { readonly outcome: 'IndexRequired' }
  /** Code OutputNotFound. */
  | { readonly outcome: 'NotFound' };

/** Without an index: the only one there is. */
export function locateOutput(rows: Iterable<SlotRow>, name: string, index: number | undefined): LocatedOutput {
  const found: LocatedOutputEntry[] = [];
  for (const row of rows) {
    if (index !== undefined && row.index !== index) continue;
    for (const output of outputsOf(row)) if (output.name === name) found.push(listed(row, output));
  }
  const [first, second] = found;
  if (first === undefined) return { outcome: 'NotFound' };
  return second === undefined ? { outcome: 'Found', output: first } : { outcome: 'IndexRequired' };
}

function outputsOf(row: SlotRow): readonly SlotOutput[] {
  return row.phase === 'Succeeded' ? ((row.detail as SlotDetail | undefined)?.outputs ?? []) : [];
}

function listed(row: SlotRow, { name, size, sha256, directory }: SlotOutput): LocatedOutputEntry {
  const time = rfc3339((row.detail as SlotDetail | undefined)?.time ?? 0);
  return { name, index: row.index, size, sha256, time, directory };
}
