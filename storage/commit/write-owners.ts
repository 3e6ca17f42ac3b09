/** Writes the rows that say which objects name which owners. */
import type { QueuedCommit } from './queued-commit.js';
import type { Session } from './session.js';

/**
 * Precondition: the entries are admitted; a deleted object's own row is removed by `delete-objects.ts`.
 * Result: an object whose owners were given is a child of exactly those.
 */
export async function writeOwners(session: Session, entries: readonly QueuedCommit[]): Promise<void> {
  const changed: unknown[] = [];
  const rows: unknown[] = [];
  for (const { request } of entries) {
    if (request.owners === undefined || request.write.op === 'delete') continue;
    if (request.write.op === 'update') changed.push(request.address);
    for (const owner of new Set(request.owners)) rows.push({ ...request.address, owner });
  }
  await Promise.all([
    changed.length > 0 && session.rows('leave owners', () => LEAVE, [JSON.stringify(changed)]),
    rows.length > 0 && session.rows('join owners', () => JOIN, [JSON.stringify(rows)]),
  ]);
}

const LEAVE = `
DELETE FROM children c USING json_to_recordset($1::json) AS g(org text, kind text, project text, name text)
WHERE (c.org, c.kind, c.project, c.name) = (g.org, g.kind, g.project, g.name)`;

const JOIN = `
INSERT INTO children (org, owner_uid, kind, project, name)
SELECT org, owner, kind, project, name
FROM json_to_recordset($1::json) AS g(org text, owner text, kind text, project text, name text)
ON CONFLICT DO NOTHING`;
