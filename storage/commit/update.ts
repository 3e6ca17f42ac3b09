/** Owns the replacement of objects: their rows and their changes, in one statement. */
import { CURRENT_FORMAT } from '../formats.js';
import type { Entry } from './entry.js';
import { valuesList, type Session } from './session.js';

const COLUMNS = 9;

/**
 * Precondition: the clock row is locked; versions `first`, `first + 1`, … are free.
 * Result: each object that is at its expected version and uid has the new body and a `M` change, whose `before` is
 * copied from the row and not sent (I3). Answers the positions that were written; the others are stale.
 */
export async function updateObjects(
  session: Session,
  first: number,
  entries: readonly Entry[],
): Promise<ReadonlySet<number>> {
  const values: unknown[] = [first];
  for (const { member } of entries) {
    const { org, kind, project, name } = member.address;
    const expected = member.write.op === 'insert' ? null : member.write.expected;
    values.push(org, kind, project, name, member.uid, member.active, member.private, member.write.body, expected);
  }
  const rows = await session.rows<[number]>(`update ${entries.length}`, () => text(entries.length), values);
  return new Set(rows.map(([position]) => position));
}

// Both halves read `objects` as it was before the statement: `logged` finds the old body, `done` replaces it.
function text(rows: number): string {
  const given = valuesList(rows, COLUMNS, 2, (p, i) =>
    i === 0
      ? `${i},${p(0)}::text,${p(1)}::text,${p(2)}::text,${p(3)}::text,${p(4)}::text,${p(5)}::boolean,${p(6)}::text,${p(7)}::text,${p(8)}::bigint`
      : `${i},${p(0)},${p(1)},${p(2)},${p(3)},${p(4)},${p(5)},${p(6)},${p(7)},${p(8)}`,
  );
  return `
WITH given (i, org, kind, project, name, uid, active, private, body, expected) AS (VALUES ${given}),
logged AS (
  INSERT INTO changes (version, type, replaced, org, kind, project, name, uid, before, after)
  SELECT $1::bigint + g.i, 'M', o.version, g.org, g.kind, g.project, g.name, g.uid, o.body, g.body
  FROM given g JOIN objects o ON (o.org, o.kind, o.project, o.name) = (g.org, g.kind, g.project, g.name)
  WHERE o.version = g.expected AND o.uid = g.uid
), done AS (
  UPDATE objects o
  SET version = $1::bigint + g.i, active = g.active, private_format = ${CURRENT_FORMAT.private}, private = g.private, body = g.body
  FROM given g
  WHERE (o.org, o.kind, o.project, o.name) = (g.org, g.kind, g.project, g.name)
    AND o.version = g.expected AND o.uid = g.uid
  RETURNING g.i
)
SELECT i FROM done`;
}
