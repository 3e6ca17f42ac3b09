/**
 * Deletes a file, or a directory with all that is in it. A link goes, and not what it leads to. A mount point, and a directory that holds
 * one, are refused before anything in them is touched: they cannot go, and `rm` would find that out only after it has emptied them.
 */
import { posix } from 'node:path';
import { refuse } from '../../../src/api/refusal.js';
import type { AttachedWork } from '../attach.js';
import { collect, runScript } from './box-script.js';
import { EXIT } from './faults.js';
import { HOLDS, sharingOf, wordsOf, type Preconditions } from './preconditions.js';
import type { WriteLocks } from './write-locks.js';

/**
 * The kernel lists mount points with blanks, tabs, newlines and backslashes as octal numbers, which is how `printf` reads them. The `x`
 * keeps a newline at the end of a name.
 */
const REMOVE = `${HOLDS}
at=$1
while [ "$at" != "\${at%/}" ]; do at=\${at%/}; done
[ -e "$at" ] || [ -L "$at" ] || exit ${EXIT.missing}
if [ ! -L "$at" ]; then
  parent=$(cd -P "\${at%/*}/" && pwd -P && echo x) || exit
  parent=\${parent%??}
  real=\${parent%/}/\${at##*/}
  case $real in */. | */..) real=$(cd -P "$at" && pwd -P && echo x) && real=\${real%??} || exit ;; esac
  while read -r _ _ _ _ point _; do
    case $point in *\\\\*) point=$(printf "$(printf %s "$point" | sed s/%/%%/g)x"); point=\${point%x} ;; esac
    case $point in "$real" | "$real"/*) exit ${EXIT.mount} ;; esac
  done </proc/self/mountinfo
fi
holds "$at" "$2" "$3"
rm -rf "$at"`;

export async function removeFile(
  attached: AttachedWork,
  path: string,
  conditions: Preconditions,
  locks: WriteLocks,
  signal: AbortSignal,
): Promise<void> {
  if (posix.normalize(path) === '/') {
    throw refuse('BadRequest', 'the root cannot be deleted', {
      causes: [{ field: 'path', reason: 'FieldValueInvalid', message: 'is the root' }],
    });
  }
  await locks.run(attached.work, sharingOf(conditions), signal, async () => {
    const script = await runScript(attached, REMOVE, [path, ...wordsOf(conditions)], signal);
    await collect(script, 0);
    await script.done();
  });
}
