/**
 * Takes mounts of the machine out of the runner's own mount namespace. Each box begins as a copy of that, and bubblewrap reads
 * the list of it once for each thing that it shows: on a plain machine half of them are windows into the kernel, which neither the runner
 * nor any work looks through.
 *
 * By their types alone, so that nothing that holds data goes, nor anything that hides something else.
 */
import { readFileSync } from 'node:fs';
import { runTool } from '../../engines/compute/shared/tool.js';

/** Set by the service that started this runner in a mount namespace of its own (`src/engines/compute/embedded/start-runner.ts`). */
export const OWN_MOUNTS = 'TROUPE_OWN_MOUNTS';

const WINDOWS = new Set([
  'binfmt_misc',
  'bpf',
  'configfs',
  'debugfs',
  'devpts',
  'efivarfs',
  'fusectl',
  'hugetlbfs',
  'mqueue',
  'pstore',
  'securityfs',
  'tracefs',
]);

/** Controllers of the first version of control groups that bound work (`../limits/`). */
const CONTROLLERS = new Set(['memory', 'cpu', 'pids']);

/** Without the right to, nothing changes but the time that a start takes. */
export async function leaveWindows(): Promise<void> {
  const paths = windowsOf(readFileSync('/proc/self/mounts', 'utf8'));
  // Innermost first.
  if (paths.length > 0) await runTool({ file: 'umount', args: ['--lazy', '--', ...paths.toReversed()] });
}

/** Pure: their mount points, in the order of `/proc/self/mounts`. */
export function windowsOf(mounts: string): string[] {
  return mounts.split('\n').flatMap((line) => {
    const [, path, type, options = ''] = line.split(' ');
    // A path that is written with escapes is none of the usual ones.
    if (path === undefined || type === undefined || path.includes('\\')) return [];
    const unused = type === 'cgroup' && !options.split(',').some((option) => CONTROLLERS.has(option));
    return unused || WINDOWS.has(type) ? [path] : [];
  });
}
