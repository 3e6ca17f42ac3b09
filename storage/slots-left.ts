/**
 * Removes the slots of deleted objects that their last commit left (`commit/delete-objects.ts`): a Job may have ten thousand, and a
 * commit that removes them all holds up every other write. Nothing reads them: their uid is gone.
 */
import type { Postgres, Statement } from './postgres.js';

/** Rows of one statement. */
const AT_ONCE = 5_000;

/** Goes on until none is left or the signal ends it. Rejects with a `RefusalError` Unavailable; the next call goes on from there. */
export async function sweepSlots(postgres: Postgres, signal: AbortSignal, atOnce = AT_ONCE): Promise<void> {
  while (!signal.aborted) {
    const removed = await postgres.write(REMOVE, [atOnce]);
    if (removed === atOnce) continue;
    if ((await postgres.write(FORGET)) === 0) return;
  }
}

/** Precondition: none. Result: at most $1 slots of the first of the deleted objects are gone. */
const REMOVE: Statement = {
  name: 'sweep slots',
  text: `
WITH first AS (
  SELECT uid FROM slots_left ORDER BY uid LIMIT 1
), batch AS (
  SELECT s.uid, s.index FROM first JOIN slots s USING (uid) ORDER BY s.uid, s.index LIMIT $1
)
DELETE FROM slots s USING batch b WHERE s.uid = b.uid AND s.index = b.index`,
};

/** Precondition: none. Result: the first of the deleted objects is forgotten when none of its slots is left. */
const FORGET: Statement = {
  name: 'sweep slots_left',
  text: `
DELETE FROM slots_left l
WHERE uid = (SELECT uid FROM slots_left ORDER BY uid LIMIT 1) AND NOT EXISTS (SELECT FROM slots s WHERE s.uid = l.uid)`,
};
