/**
 * Measures what the processes of work hold open or mapped though it has no name any more: it takes the disk as before, and no walk over directories
 * finds it. Files that are on their way in a message between two processes are not seen: no list of the kernel has them.
 */
import { stat } from 'node:fs/promises';
import { runTool } from './tool.js';

export interface Holder {
  /** Host ids. */
  readonly processes: readonly number[];
  /** Directories on the file systems that count. */
  readonly paths: readonly string[];
}

/** I10. Files of one piece of work that are looked at; work with more has too many. */
export const MOST_UNLINKED = 2_000;
/** Directories of one `find`: the kernel takes a command line of 2 MiB. */
const AT_ONCE = 4_000;

export interface Unlinked {
  readonly bytes: number;
  /** As far as they were looked at. */
  readonly files: number;
}

/** One answer for each. `find` reads the links, so that a thousand open files cost this process nothing. */
export async function measureUnlinked(holders: readonly Holder[], signal: AbortSignal): Promise<readonly Unlinked[]> {
  const places = holders.flatMap(({ processes }) =>
    processes.flatMap((id) => [`/proc/${id}/fd`, `/proc/${id}/map_files`]),
  );
  if (places.length === 0) return holders.map(() => ({ bytes: 0, files: 0 }));
  const found = new Map<string, string[]>();
  for (let from = 0; from < places.length; from += AT_ONCE) {
    const args = [...places.slice(from, from + AT_ONCE), '-mindepth', '1', '-maxdepth', '1', '-lname', '* (deleted)'];
    // Processes that end meanwhile are complained about and left out.
    const { stdout } = await runTool({ file: 'find', args, signal });
    for (const path of stdout.split('\n')) {
      const [, , id] = path.split('/');
      if (id === undefined) continue;
      const others = found.get(id);
      if (others === undefined) found.set(id, [path]);
      else others.push(path);
    }
  }
  const sums: Unlinked[] = [];
  for (const { processes, paths } of holders) {
    const open = processes.flatMap((id) => found.get(String(id)) ?? []);
    sums.push(open.length === 0 ? { bytes: 0, files: 0 } : await sumOf(open, await devicesOf(paths)));
  }
  return sums;
}

async function devicesOf(paths: readonly string[]): Promise<ReadonlySet<number>> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  return new Set(found.flatMap((each) => each?.dev ?? []));
}

/** Each file once, however many hold it. What is in memory counts as that. */
async function sumOf(open: readonly string[], devices: ReadonlySet<number>): Promise<Unlinked> {
  const seen = new Set<string>();
  let bytes = 0;
  for (const path of open) {
    const file = await stat(path).catch(() => undefined);
    if (file === undefined || !file.isFile() || file.nlink > 0 || !devices.has(file.dev)) continue;
    const name = `${file.dev} ${file.ino}`;
    if (seen.has(name)) continue;
    seen.add(name);
    bytes += file.blocks * 512;
    if (seen.size > MOST_UNLINKED) break;
  }
  return { bytes, files: seen.size };
}
