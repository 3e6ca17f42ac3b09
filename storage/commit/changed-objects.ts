/**
 * What updates and deletes of objects share: one statement checks that each row is at its expected version, changes it, and
 * writes its change to the log.
 */
import type { QueuedCommit } from './queued-commit.js';
import type { CommitRequest } from './request.js';
import { fill, givenRows, roundUp, type Session } from './session.js';

export interface Change {
  /** Of the prepared statement. */
  readonly name: string;
  /** In the log. */
  readonly type: 'M' | 'D';
  /** What is given of each object beside its address, uid, new body and expected version; and its SQL types. */
  readonly columns: Readonly<Record<string, string>>;
  valuesOf(request: CommitRequest): readonly unknown[];
  /** The head of the statement that changes `objects o` by `given g`, whose condition follows. */
  readonly head: string;
  /** More common table expressions, which may read `done (i, org, kind, project)`; each begins with a comma. */
  readonly more?: string | undefined;
}

const COLUMNS = {
  org: 'text',
  kind: 'text',
  project: 'text',
  name: 'text',
  uid: 'text',
  body: 'text',
  expected: 'bigint',
};

/**
 * Precondition: the clock row is locked; versions `first`, `first + 1`, … are free.
 * I3: what is not at the expected version is left alone.
 * Result: each object that is at its expected version and uid is changed, and logged with its new body; `before` is
 * copied from the row and not sent. Answers the positions that were changed; the others are stale.
 */
export async function changeObjects(
  session: Session,
  first: number,
  entries: readonly QueuedCommit[],
  change: Change,
): Promise<ReadonlySet<number>> {
  const columns = { ...COLUMNS, ...change.columns };
  const values: unknown[] = [first];
  for (const { request } of entries) {
    const { org, kind, project, name } = request.address;
    const expected = request.write.op === 'insert' ? null : request.write.expected;
    values.push(org, kind, project, name, request.uid, request.write.body, expected, ...change.valuesOf(request));
  }
  fill(values, entries.length, Object.keys(columns).length);
  const size = roundUp(entries.length);
  const text = (): string => textOf(change, givenRows(size, columns, 2));
  const rows = await session.rows<[number]>(`${change.name} ${size}`, text, values);
  return new Set(rows.map(([position]) => position));
}

const MEANT = `(o.org, o.kind, o.project, o.name) = (g.org, g.kind, g.project, g.name)
    AND o.version = g.expected AND o.uid = g.uid`;

// Both halves read `objects` as it was before the statement: `logged` finds the old body, `done` changes the row.
function textOf({ type, head, more = '' }: Change, given: string): string {
  return `
WITH given AS (SELECT * FROM ${given} WHERE uid IS NOT NULL),
logged AS (
  INSERT INTO changes (version, type, replaced, org, kind, project, name, uid, before, after)
  SELECT $1::bigint + g.i, '${type}', o.version, g.org, g.kind, g.project, g.name, g.uid, o.body, g.body
  FROM given g JOIN objects o ON ${MEANT}
), done AS (
  ${head}
  WHERE ${MEANT}
  RETURNING g.i, g.org, g.kind, g.project
)${more}
SELECT i FROM done`;
}
