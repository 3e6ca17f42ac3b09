/** Writes the rows of sealed secret versions. Their values never come here (I11). */
import type { QueuedCommit } from './queued-commit.js';
import { fill, givenRows, roundUp, type Session } from './session.js';

const COLUMNS = { org: 'text', uid: 'text', version: 'bigint', sealed: 'bytea' };

/**
 * Precondition: the entries are admitted; a deleted object's versions are removed by `delete-objects.ts`.
 * Result: the given versions are stored (one that exists is replaced), versions below `dropSecretsBelow` are gone.
 */
export async function writeSecrets(session: Session, entries: readonly QueuedCommit[]): Promise<void> {
  const values: unknown[] = [];
  const dropped: unknown[] = [];
  for (const { request } of entries) {
    for (const { version, sealed } of request.secrets) values.push(request.address.org, request.uid, version, sealed);
    if (request.dropSecretsBelow !== undefined) dropped.push({ uid: request.uid, below: request.dropSecretsBelow });
  }
  const count = values.length / 4;
  fill(values, count, 4);
  const size = roundUp(count);
  await Promise.all([
    count > 0 && session.rows(`secrets ${size}`, () => store(size), values),
    dropped.length > 0 && session.rows('drop secrets', () => DROP, [JSON.stringify(dropped)]),
  ]);
}

function store(rows: number): string {
  return `
INSERT INTO secret_versions (org, uid, version, sealed)
SELECT org, uid, version, sealed FROM ${givenRows(rows, COLUMNS, 1)} WHERE uid IS NOT NULL
ON CONFLICT (uid, version) DO UPDATE SET sealed = excluded.sealed`;
}

const DROP = `
DELETE FROM secret_versions s USING json_to_recordset($1::json) AS g(uid text, below bigint)
WHERE s.uid = g.uid AND s.version < g.below`;
