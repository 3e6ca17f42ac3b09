/** Replaces objects: their rows and their changes, in one statement. */
import { CURRENT_FORMAT } from '../formats.js';
import { changeObjects, type Change } from './changed-objects.js';
import type { QueuedCommit } from './queued-commit.js';
import type { Session } from './session.js';

const UPDATE: Change = {
  name: 'update',
  type: 'M',
  columns: { active: 'boolean', private: 'text' },
  valuesOf: (request) => [request.active, request.private],
  head: `UPDATE objects o
  SET version = $1::bigint + g.i, active = g.active, private_format = ${CURRENT_FORMAT.private}, private = g.private, body = g.body
  FROM given g`,
};

/**
 * Precondition: as of `changeObjects`.
 * Result: each object that is at its expected version and uid has the new body and a `M` change (I3). Answers the
 * positions that were written; the others are stale.
 */
export function updateObjects(
  session: Session,
  first: number,
  entries: readonly QueuedCommit[],
): Promise<ReadonlySet<number>> {
  return changeObjects(session, first, entries, UPDATE);
}
