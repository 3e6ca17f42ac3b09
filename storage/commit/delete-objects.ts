/** Deletes objects: their rows, their changes, and the counts of org and collection, in one statement; and the rows under their uids. */
import { usedUntilNow } from './write-blob-refs.js';
import { changeObjects, type Change } from './changed-objects.js';
import type { QueuedCommit } from './queued-commit.js';
import type { Session } from './session.js';

const DELETE: Change = {
  name: 'delete',
  type: 'D',
  columns: {},
  valuesOf: () => [],
  head: 'DELETE FROM objects o USING given g',
  more: `, counted AS (
  UPDATE org_counts c SET objects = c.objects - d.objects
  FROM (SELECT org, count(*) AS objects FROM done GROUP BY org) d WHERE c.org = d.org
), collected AS (
  UPDATE collection_counts c SET objects = c.objects - d.objects
  FROM (SELECT org, kind, project, count(*) AS objects FROM done GROUP BY org, kind, project) d
  WHERE (c.org, c.kind, c.project) = (d.org, d.kind, d.project)
)`,
};

/**
 * Precondition: as of `changeObjects`.
 * Result: each object that is at its expected version and uid is gone, with a `D` change that keeps its last body (I3).
 * Answers the positions that were deleted; the others are stale.
 */
export function deleteObjects(
  session: Session,
  first: number,
  entries: readonly QueuedCommit[],
): Promise<ReadonlySet<number>> {
  return changeObjects(session, first, entries, DELETE);
}

/** Slots of one object that go in its own commit: the ones with lower indexes. What an object has above goes later (`slots-left.ts`). */
const SLOTS_AT_ONCE = 256;

/**
 * Precondition: the clock row is locked; these objects are deleted in this transaction.
 * Result: nothing hangs on their uids any more. What stays: effects not yet done (I5), slots beyond the first of each, the rows in
 * `children` of which they are the owner, until they are collected, and holds. Answers whether any of them holds money: the
 * transaction has to release it (I7: no live work, no hold).
 */
export async function forgetDeleted(session: Session, entries: readonly QueuedCommit[]): Promise<boolean> {
  const rows = entries.map(({ request }) => ({ ...request.address, uid: request.uid }));
  const [row] = await session.rows<[boolean]>('forget', () => FORGET, [JSON.stringify(rows)]);
  return row?.[0] ?? false;
}

const FORGET = `
WITH gone AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS g(org text, kind text, project text, name text, uid text)
), s AS (
  DELETE FROM slots WHERE uid IN (SELECT uid FROM gone) AND index < ${SLOTS_AT_ONCE}
), l AS (
  INSERT INTO slots_left (uid)
  SELECT uid FROM gone WHERE EXISTS (SELECT FROM slots s WHERE s.uid = gone.uid AND s.index >= ${SLOTS_AT_ONCE})
), t AS (
  DELETE FROM timers WHERE uid IN (SELECT uid FROM gone)
), v AS (
  DELETE FROM secret_versions WHERE uid IN (SELECT uid FROM gone)
), c AS (
  DELETE FROM credentials WHERE uid IN (SELECT uid FROM gone)
), o AS (
  DELETE FROM children c USING gone g
  WHERE (c.org, c.kind, c.project, c.name) = (g.org, g.kind, g.project, g.name)
), gone_refs AS (
  DELETE FROM blob_refs r USING gone g WHERE (r.org, r.uid) = (g.org, g.uid) RETURNING r.org, r.digest
), b AS (${usedUntilNow('gone_refs')}
), m AS (
  DELETE FROM caps c USING gone g WHERE (c.org, c.uid) = (g.org, g.uid)
)
SELECT EXISTS (SELECT FROM holds h JOIN gone g ON h.uid = g.uid AND h.org = g.org)`;
