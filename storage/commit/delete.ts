/** Owns the removal of objects: their rows, their changes and the org's count, in one statement; and what hangs on their uids. */
import type { Entry } from './entry.js';
import { fill, givenRows, roundUp, type Session } from './session.js';

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
 * Result: each object that is at its expected version and uid is gone, with a `D` change that keeps its last body.
 * Answers the positions that were deleted; the others are stale.
 */
export async function deleteObjects(
  session: Session,
  first: number,
  entries: readonly Entry[],
): Promise<ReadonlySet<number>> {
  const values: unknown[] = [first];
  for (const { member } of entries) {
    const { org, kind, project, name } = member.address;
    const expected = member.write.op === 'insert' ? null : member.write.expected;
    values.push(org, kind, project, name, member.uid, member.write.body, expected);
  }
  fill(values, entries.length, 7);
  const size = roundUp(entries.length);
  const rows = await session.rows<[number]>(`delete ${size}`, () => text(size), values);
  return new Set(rows.map(([position]) => position));
}

function text(rows: number): string {
  return `
WITH given AS (SELECT * FROM ${givenRows(rows, COLUMNS, 2)} WHERE uid IS NOT NULL),
logged AS (
  INSERT INTO changes (version, type, replaced, org, kind, project, name, uid, before, after)
  SELECT $1::bigint + g.i, 'D', o.version, g.org, g.kind, g.project, g.name, g.uid, o.body, g.body
  FROM given g JOIN objects o ON (o.org, o.kind, o.project, o.name) = (g.org, g.kind, g.project, g.name)
  WHERE o.version = g.expected AND o.uid = g.uid
), done AS (
  DELETE FROM objects o USING given g
  WHERE (o.org, o.kind, o.project, o.name) = (g.org, g.kind, g.project, g.name)
    AND o.version = g.expected AND o.uid = g.uid
  RETURNING g.i, g.org
), counted AS (
  UPDATE org_counts c SET objects = c.objects - d.objects
  FROM (SELECT org, count(*) AS objects FROM done GROUP BY org) d WHERE c.org = d.org
)
SELECT i FROM done`;
}

/**
 * Precondition: the clock row is locked; these objects are deleted in this transaction.
 * Result: nothing hangs on their uids any more, and their holds are given back (I7: no live work, no hold). What stays:
 * effects not yet done (I5), and the rows in `children` of which they are the owner, until they are collected.
 */
export async function forgetDeleted(session: Session, entries: readonly Entry[]): Promise<void> {
  const rows = entries.map(({ member }) => ({ ...member.address, uid: member.uid }));
  await session.rows('forget', () => FORGET, [JSON.stringify(rows)]);
}

const FORGET = `
WITH gone AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS g(org text, kind text, project text, name text, uid text)
), s AS (
  DELETE FROM slots WHERE uid IN (SELECT uid FROM gone)
), t AS (
  DELETE FROM timers WHERE uid IN (SELECT uid FROM gone)
), v AS (
  DELETE FROM secret_versions WHERE uid IN (SELECT uid FROM gone)
), c AS (
  DELETE FROM credentials WHERE uid IN (SELECT uid FROM gone)
), o AS (
  DELETE FROM children c USING gone g
  WHERE (c.org, c.kind, c.project, c.name) = (g.org, g.kind, g.project, g.name)
), h AS (
  DELETE FROM holds WHERE uid IN (SELECT uid FROM gone) RETURNING org, accounts, amount_usd
), freed AS (
  SELECT org, account, sum(amount_usd) AS amount FROM h, unnest(accounts) AS account GROUP BY org, account
)
UPDATE accounts a SET held_usd = a.held_usd - f.amount FROM freed f WHERE (a.org, a.account) = (f.org, f.account)`;
