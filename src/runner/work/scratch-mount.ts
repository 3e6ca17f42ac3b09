/**
 * Makes a second way to the scratch. The service's data may lie under a directory that only its owner may enter (a home of
 * mode 0700), where the work's own user could not follow a path. As root the scratch is therefore mounted again under the
 * runtime directory, inside the runner's own mount namespace: nothing to see for others, and gone with the runner.
 */
import { claimDirectory, type Layout } from '../../engines/compute/shared/plain-name.js';
import { runTool } from '../../engines/compute/shared/tool.js';

/** The path by which work's users reach the scratch. */
export async function mountScratch(layout: Layout, uid: number): Promise<string> {
  if (uid !== 0) return layout.scratch;
  claimDirectory(layout.scratchMount, 0o711, uid);
  const { exitCode } = await runTool({ file: 'mount', args: ['--bind', layout.scratch, layout.scratchMount] });
  // Without the right to mount, the direct path may do; the trial of the isolation will tell.
  return exitCode === 0 ? layout.scratchMount : layout.scratch;
}
