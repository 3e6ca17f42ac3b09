/** Stores later effects in the transaction of the state that asked for them (I5). */
import { CURRENT_FORMAT } from '../formats.js';
import type { QueuedCommit } from './queued-commit.js';
import type { Session } from './session.js';

/**
 * Precondition: `versions[i]` is the version of `entries[i]`, which is admitted.
 * Result: one row per entry with effects, in the current format.
 */
export async function storeEffects(
  session: Session,
  entries: readonly QueuedCommit[],
  versions: readonly number[],
): Promise<void> {
  const rows = entries.flatMap(({ request }, i) =>
    request.effects.length === 0
      ? []
      : [{ version: versions[i], ...request.address, uid: request.uid, body: request.effects }],
  );
  if (rows.length === 0) return;
  await session.rows('effects', () => TEXT, [JSON.stringify(rows)]);
}

const TEXT = `
INSERT INTO effects (version, org, kind, project, name, uid, format, body)
SELECT version, org, kind, project, name, uid, ${CURRENT_FORMAT.effects}, body::text
FROM json_to_recordset($1::json)
  AS g(version bigint, org text, kind text, project text, name text, uid text, body json)`;
