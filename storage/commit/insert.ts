/** Owns the creation of objects: their rows, their changes and the org's count, in one statement. */
import { CURRENT_FORMAT } from '../formats.js';
import type { Entry } from './entry.js';
import { valuesList, type Session } from './session.js';

const COLUMNS = 8;

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
export async function insertObjects(session: Session, first: number, entries: readonly Entry[]): Promise<Inserted> {
  const values: unknown[] = [first];
  for (const { member } of entries) {
    const { org, kind, project, name } = member.address;
    values.push(org, kind, project, name, member.uid, member.active, member.private, member.write.body);
  }
  const rows = await session.rows<[number | null, string | null, number | null]>(
    `insert ${entries.length}`,
    () => text(entries.length),
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
  const objects = valuesList(
    rows,
    COLUMNS,
    2,
    (p, i) =>
      `${p(0)},${p(1)},${p(2)},${p(3)},${p(4)},$1::bigint+${i},${p(5)},${CURRENT_FORMAT.private},${p(6)},${p(7)}`,
  );
  const changes = valuesList(
    rows,
    COLUMNS,
    2,
    (p, i) => `$1::bigint+${i},'A',${p(0)},${p(1)},${p(2)},${p(3)},${p(4)},${p(7)}`,
  );
  return `
WITH made AS (
  INSERT INTO objects (org, kind, project, name, uid, version, active, private_format, private, body)
  VALUES ${objects}
  ON CONFLICT DO NOTHING
  RETURNING version, org
), logged AS (
  INSERT INTO changes (version, type, org, kind, project, name, uid, after)
  VALUES ${changes}
), counted AS (
  INSERT INTO org_counts (org, objects) SELECT org, count(*) FROM made GROUP BY org
  ON CONFLICT (org) DO UPDATE SET objects = org_counts.objects + excluded.objects
  RETURNING org, objects
)
SELECT version - $1::bigint, NULL, NULL FROM made
UNION ALL
SELECT NULL, org, objects FROM counted`;
}
