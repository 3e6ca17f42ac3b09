/**
 * Raises the lease's epoch of a database that is older than what runs: it was restored from a backup, and a runner or daemon has
 * obeyed a later epoch since and obeys no lower one. Its versions are raised with it, as clients may have seen later ones.
 */
import type { Postgres, Statement } from './postgres.js';
import { RAISED } from './raise-versions.js';

/** `from` is the epoch that this process has just given up. False: another process has taken the lease meanwhile. */
export async function raiseEpoch(postgres: Postgres, from: number, to: number): Promise<boolean> {
  return (await postgres.write(RAISE, [from, to])) === 1;
}

/** Precondition: epoch $1 is the latest (I3). Result: the next holder has an epoch above $2, and no version from before is answered. */
const RAISE: Statement = {
  name: 'raise epoch',
  text: `UPDATE clock SET epoch = $2, ${RAISED} WHERE epoch = $1 AND epoch < $2`,
};
