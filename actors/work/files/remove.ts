/** Owns deleting a file, or a directory with all that is in it. A link goes, and not what it leads to. */
import { posix } from 'node:path';
import { refuse } from '../../../src/api/refusal.js';
import type { Entered } from '../entrance.js';
import { collect, runErrand } from './errand.js';
import { EXIT } from './faults.js';

const REMOVE = `
[ -e "$1" ] || [ -L "$1" ] || exit ${EXIT.missing}
rm -rf "$1"`;

export async function removeFile(entered: Entered, path: string, signal: AbortSignal): Promise<void> {
  if (posix.normalize(path) === '/') {
    throw refuse('BadRequest', 'the root cannot be deleted', {
      causes: [{ field: 'path', reason: 'FieldValueInvalid', message: 'is the root' }],
    });
  }
  const errand = await runErrand(entered, REMOVE, [path], signal);
  await collect(errand, 0);
  await errand.done();
}
