/**
 * Measures what the processes of work hold though it has no name any more: it takes the disk as before, and no walk over directories finds it.
 * A program in Perl looks (`unlinked-files.pl`), so that a thousand open files cost this process nothing; where there is no Perl, nothing is found.
 *
 * Files that are on their way in a message between two processes are not seen: no list of the kernel has them. Nor are those in a table of
 * descriptors that only one thread has, or in a rule of Landlock: the filter of system calls refuses both (`src/runner/isolation/calls.ts`).
 */
import { readFileSync } from 'node:fs';
import { bareScript } from './script.js';
import { runTool } from './tool.js';

const LOOK = bareScript(readFileSync(new URL('unlinked-files.pl', import.meta.url), 'utf8'));

export interface Holder {
  /** A file of the kernel with the host ids of its processes, a line each; undefined: nobody counts them. */
  readonly processList: string | undefined;
  /** Directories on the file systems that count. */
  readonly paths: readonly string[];
}

/** I10. Files and directories without a name of one piece of work that are looked at; work with more has too many. */
export const MOST_UNLINKED = 2_000;
/** I10. Open files of one piece of work that are looked at, about a second of it; a mapped one counts as the sixteenth of one. */
export const MOST_OPEN = 250_000;

export interface Unlinked {
  readonly bytes: number;
  /** As far as they were looked at. */
  readonly files: number;
  /** Open files, with a name or without, that were looked at. */
  readonly open: number;
}

/** Words of the program that looks. */
export function lookCommand(holders: readonly Holder[]): readonly string[] {
  const words = holders.flatMap(({ processList, paths }) => [processList ?? '', String(paths.length), ...paths]);
  return ['perl', '-e', LOOK, String(MOST_UNLINKED), String(MOST_OPEN), ...words];
}

/** One answer for each. */
export async function measureUnlinked(holders: readonly Holder[], signal: AbortSignal): Promise<readonly Unlinked[]> {
  const listed = holders.filter(({ processList }) => processList !== undefined);
  const [file = '', ...args] = lookCommand(listed);
  const lines = listed.length === 0 ? [] : (await runTool({ file, args, signal })).stdout.split('\n');
  return holders.map((holder) => {
    const [bytes = 0, files = 0, open = 0] = (lines[listed.indexOf(holder)] ?? '').split(' ').map(Number);
    return { bytes, files, open };
  });
}
