/** Grants and revokes bearer credentials. Only hashes come here. */
import type { QueuedCommit } from './queued-commit.js';
import type { Session } from './session.js';

/**
 * Precondition: the entries are admitted; a deleted object's credentials are removed by `delete-objects.ts`.
 * Result: revoked ones are gone, then granted ones stand. A hash that another object holds stays that object's.
 */
export async function writeCredentials(session: Session, entries: readonly QueuedCommit[]): Promise<void> {
  const revoked: string[] = [];
  const granted: unknown[] = [];
  for (const { request } of entries) {
    if (request.revokeCredentials && request.write.op !== 'delete') revoked.push(request.uid);
    for (const credential of request.credentials) granted.push({ ...request.address, uid: request.uid, ...credential });
  }
  await Promise.all([
    revoked.length > 0 && session.rows('revoke', () => REVOKE, [JSON.stringify(revoked)]),
    granted.length > 0 && session.rows('grant', () => GRANT, [JSON.stringify(granted)]),
  ]);
}

const REVOKE = `DELETE FROM credentials WHERE uid IN (SELECT json_array_elements_text($1::json))`;

const GRANT = `
INSERT INTO credentials AS c (sha256, org, kind, project, name, uid, expires, detail)
SELECT sha256, org, kind, project, name, uid, to_timestamp(expires / 1000.0), detail::text
FROM json_to_recordset($1::json)
  AS g(sha256 text, org text, kind text, project text, name text, uid text, expires numeric, detail json)
ON CONFLICT (sha256) DO UPDATE SET expires = excluded.expires, detail = excluded.detail WHERE c.uid = excluded.uid`;
