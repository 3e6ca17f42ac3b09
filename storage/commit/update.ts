/** Owns the replacement of objects: their rows and their changes, in one statement. */
import { CURRENT_FORMAT } from '../formats.js';
import type { Entry } from './entry.js';
import { fill, givenRows, roundUp, type Session } from './session.js';

const COLUMNS = {
  org: 'text',
  kind: 'text',
  project: 'text',
  name: 'text',
  uid: 'text',
  active: 'boolean',
  private: 'text',
  body: 'text',
  expected: 'bigint',
};

/**
 * Precondition: the clock row is locked; versions `first`, `first + 1`, … are free.
 * I3: what is not at the expected version is left alone.
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
  fill(values, entries.length, 9);
  const size = roundUp(entries.length);
  const rows = await session.rows<[number]>(`update ${size}`, () => text(size), values);
  return new Set(rows.map(([position]) => position));
}

// Both halves read `objects` as it was before the statement: `logged` finds the old body, `done` replaces it.
function text(rows: number): string {
  return `
WITH given AS (SELECT * FROM ${givenRows(rows, COLUMNS, 2)} WHERE uid IS NOT NULL),
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
