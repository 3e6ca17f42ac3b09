/** Creates objects: their rows, their changes, and the counts of org and collection, in one statement. */
import { CURRENT_FORMAT } from '../formats.js';
import type { QueuedCommit } from './queued-commit.js';
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
};

export interface Inserted {
  /** Positions (in `entries`) of those that were written. The others' addresses are taken. */
  readonly written: ReadonlySet<number>;
  /** Objects of each org after this statement. */
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * Precondition: the clock row is locked; versions `first`, `first + 1`, … are free.
 * Result: one object and one `A` change per free address; nothing in objects for a taken one (its change is there all
 * the same, so the caller must roll back when any is missing).
 */
export async function insertObjects(
  session: Session,
  first: number,
  entries: readonly QueuedCommit[],
): Promise<Inserted> {
  const values: unknown[] = [first];
  for (const { request } of entries) {
    const { org, kind, project, name } = request.address;
    values.push(org, kind, project, name, request.uid, request.active, request.private, request.write.body);
  }
  fill(values, entries.length, 8);
  const size = roundUp(entries.length);
  const rows = await session.rows<[number | null, string | null, number | null]>(
    `insert ${size}`,
    () => text(size),
    values,
  );
  const written = new Set<number>();
  const counts = new Map<string, number>();
  for (const [position, org, objects] of rows) {
    if (position !== null) written.add(position);
    else if (org !== null && objects !== null) counts.set(org, objects);
  }
  return { written, counts };
}

// The two lists share their parameters, so that a body crosses the wire once.
function text(rows: number): string {
  const given = givenRows(rows, COLUMNS, 2);
  return `
WITH made AS (
  INSERT INTO objects (org, kind, project, name, uid, version, active, private_format, private, body)
  SELECT org, kind, project, name, uid, $1::bigint + i, active, ${CURRENT_FORMAT.private}, private, body
  FROM ${given} WHERE uid IS NOT NULL
  ON CONFLICT DO NOTHING
  RETURNING version, org, kind, project
), logged AS (
  INSERT INTO changes (version, type, org, kind, project, name, uid, after)
  SELECT $1::bigint + i, 'A', org, kind, project, name, uid, body
  FROM ${given} WHERE uid IS NOT NULL
), counted AS (
  INSERT INTO org_counts (org, objects) SELECT org, count(*) FROM made GROUP BY org
  ON CONFLICT (org) DO UPDATE SET objects = org_counts.objects + excluded.objects
  RETURNING org, objects
), collected AS (
  INSERT INTO collection_counts (org, kind, project, objects)
  SELECT org, kind, project, count(*) FROM made GROUP BY org, kind, project
  ON CONFLICT (org, kind, project) DO UPDATE SET objects = collection_counts.objects + excluded.objects
)
SELECT version - $1::bigint, NULL, NULL FROM made
UNION ALL
SELECT NULL, org, objects FROM counted`;
}
