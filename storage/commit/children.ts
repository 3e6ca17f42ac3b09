/** Owns the rows that say who names whom as an owner. */
import type { Entry } from './entry.js';
import type { Session } from './session.js';

/**
 * Precondition: the entries are admitted; a deleted object's own row is removed by `delete.ts`.
 * Result: an object whose owners were given is a child of exactly those.
 */
export async function writeChildren(session: Session, entries: readonly Entry[]): Promise<void> {
  const changed: unknown[] = [];
  const rows: unknown[] = [];
  for (const { member } of entries) {
    if (member.owners === undefined || member.write.op === 'delete') continue;
    if (member.write.op === 'update') changed.push(member.address);
    for (const owner of new Set(member.owners)) rows.push({ ...member.address, owner });
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
