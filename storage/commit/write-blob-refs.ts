/**
 * Writes the rows by which objects keep blobs alive, in the commit of the object's own state. An upload (`storage/blobs`) locks
 * rows of blobs for as long as its file takes, so nothing here may wait for them.
 */
import type { QueuedCommit } from './queued-commit.js';
import type { Session } from './session.js';

/**
 * Precondition: the entries are admitted; a deleted object's own rows are removed by `delete-objects.ts`.
 * Result: an object whose blobs were given keeps exactly those of them that its org has. What it no longer keeps lives on for
 * the usual time from now.
 */
export async function writeBlobRefs(session: Session, entries: readonly QueuedCommit[]): Promise<void> {
  const changed: unknown[] = [];
  const rows: unknown[] = [];
  for (const { request } of entries) {
    if (request.blobs === undefined || request.write.op === 'delete') continue;
    const { org } = request.address;
    if (request.write.op === 'update') changed.push({ org, uid: request.uid, digests: request.blobs });
    for (const digest of new Set(request.blobs)) rows.push({ org, uid: request.uid, digest });
  }
  await Promise.all([
    changed.length > 0 && session.rows('leave blobs', () => LEAVE, [JSON.stringify(changed)]),
    rows.length > 0 && session.rows('keep blobs', () => KEEP, [JSON.stringify(rows)]),
  ]);
}

/** Of the blobs named in `rows(org, digest)`. One whose row is held by an upload is being used right now. */
export function usedUntilNow(rows: string): string {
  return `
  UPDATE blobs b SET last_used = now() FROM (
    SELECT org, digest FROM blobs WHERE (org, digest) IN (SELECT org, digest FROM ${rows}) FOR NO KEY UPDATE SKIP LOCKED
  ) f WHERE (b.org, b.digest) = (f.org, f.digest)`;
}

const LEAVE = `
WITH gone AS (
  DELETE FROM blob_refs r USING json_to_recordset($1::json) AS g(org text, uid text, digests json)
  WHERE (r.org, r.uid) = (g.org, g.uid)
    AND r.digest NOT IN (SELECT json_array_elements_text(g.digests))
  RETURNING r.org, r.digest
)${usedUntilNow('gone')}`;

// A blob that is being removed is waited for, and then is not there.
const KEEP = `
INSERT INTO blob_refs (org, uid, digest)
SELECT g.org, g.uid, b.digest
FROM json_to_recordset($1::json) AS g(org text, uid text, digest text) JOIN blobs b USING (org, digest)
FOR KEY SHARE OF b
ON CONFLICT DO NOTHING`;
