/** The SQL that reads the keys of a range of objects, in key order: as they are now, and as they were at a version. */
import type { KeyRange } from './store.js';

export interface RangeText {
  /** Which parts the range has: the statement's name. */
  readonly name: string;
  /** Without where it begins. */
  readonly whole: string;
  readonly text: string;
  readonly values: unknown[];
}

/**
 * Compares places in key order. Within one project by name alone: an index scan does not begin at a row comparison whose
 * first column is fixed already, and would read the project from its start.
 */
function compare(inProject: boolean, table: string, operator: '>' | '<=', project: string, name: string): string {
  if (inProject) return `${table}.name ${operator} ${name}`;
  return `(${table}.project, ${table}.name) ${operator} (${project}, ${name})`;
}

/** I12: the org is the first condition of every range. */
export function rangeOf(range: KeyRange, table: string): RangeText {
  const values: unknown[] = [range.org, range.kind];
  const parts = [`${table}.org = $1 AND ${table}.kind = $2`];
  let name = '';
  if (range.project !== undefined) {
    values.push(range.project);
    parts.push(`${table}.project = $${values.length}`);
    name += 'p';
  }
  if (range.name !== undefined) {
    values.push(range.name);
    parts.push(`${table}.name = $${values.length}`);
    name += 'n';
  }
  const whole = parts.join(' AND ');
  if (range.after !== undefined) {
    const inProject = range.project !== undefined;
    if (!inProject) values.push(range.after.project);
    values.push(range.after.name);
    parts.push(compare(inProject, table, '>', `$${values.length - 1}`, `$${values.length}`));
    name += 'a';
  }
  return { name, whole, text: parts.join(' AND '), values };
}

const keyOrder = (table: string): string => `ORDER BY ${table}.org, ${table}.kind, ${table}.project, ${table}.name`;

// One statement, one snapshot: the version is the one at which exactly these keys are true.
export function keysText(where: RangeText, inProject: boolean): string {
  return `
SELECT c.version,
  (SELECT sum(n.objects)::bigint FROM collection_counts n WHERE n.org = $1 AND n.kind = $2${inProject ? ' AND n.project = $3' : ''}),
  k.*
FROM clock c LEFT JOIN LATERAL (
  SELECT o.project, o.name, o.version, octet_length(o.body) FROM objects o WHERE ${where.text}
  ${keyOrder('o')} LIMIT $${where.values.length + 1}
) k ON true`;
}

/** Changes that replaced a state, of `changes h`: the condition of the index by which the changes of an object are found. */
export const REPLACES = "h.type <> 'A'";

/** No name begins with it, and it is above all that do not. */
const LAST = "U&'\\+10FFFF'";

/**
 * The keys of a range at version V: those of the objects that have not changed since, and of those that have, what was
 * replaced first after V (when that is newer than V, they were added after V).
 *
 * `present` are the first keys that there are now, whatever their version: no more are looked at, and what has changed
 * is looked for no further than they reach. It is found in one of two ways, each of which reads a bounded number of
 * rows: as long as few changes of the kind are newer than V, by going through these (`fresh`); else by hopping from key
 * to key in the log (`hops`), which does not depend on how often anything was changed, and may end short of `present`.
 */
export function keysAtText(at: RangeText, log: RangeText, inProject: boolean): string {
  const [limit, version, fresh] = [1, 2, 3].map((n) => `$${at.values.length + n}::bigint`);
  // A comparison with one value is a bound at which an index scan stops: above every name when `present` is at its end.
  const end = (column: string): string => `coalesce((SELECT ${column} FROM present_end), ${LAST})`;
  const within = compare(inProject, 'h', '<=', end('project'), end('name'));
  const beyond = compare(inProject, 'h', '>', 'p.project', 'p.name');
  return `
WITH RECURSIVE present AS MATERIALIZED (
  SELECT o.project, o.name, o.version, octet_length(o.body) AS bytes FROM objects o WHERE ${at.text}
  ${keyOrder('o')} LIMIT ${limit}
), present_end AS MATERIALIZED (
  SELECT project, name FROM present ORDER BY project, name OFFSET ${limit} - 1
), fresh AS MATERIALIZED (
  SELECT h.org, h.kind, h.project, h.name FROM changes h
  WHERE h.org = $1 AND h.kind = $2 AND h.version > ${version} ORDER BY h.version LIMIT ${fresh} + 1
), few AS MATERIALIZED (
  SELECT count(*) <= ${fresh} AS so FROM fresh
), hops AS (
  (SELECT h.project, h.name, 1 AS hop FROM changes h
   WHERE NOT (SELECT so FROM few) AND ${log.text} AND ${within} AND ${REPLACES}
   ${keyOrder('h')} LIMIT 1)
  UNION ALL
  SELECT n.project, n.name, p.hop + 1 FROM hops p CROSS JOIN LATERAL (
    SELECT h.project, h.name FROM changes h
    WHERE ${log.whole} AND ${beyond} AND ${within} AND ${REPLACES}
    ${keyOrder('h')} LIMIT 1
  ) n WHERE p.hop < ${limit}
), hops_end AS MATERIALIZED (
  SELECT project, name FROM hops WHERE hop = ${limit}
), reached AS MATERIALIZED (
  SELECT project, name FROM (SELECT * FROM present_end UNION ALL SELECT * FROM hops_end) e ORDER BY project, name LIMIT 1
), changed AS (
  SELECT DISTINCT h.project, h.name FROM fresh h WHERE (SELECT so FROM few) AND ${log.text} AND ${within}
  UNION ALL
  SELECT project, name FROM hops
), then_there AS (
  SELECT * FROM present WHERE version <= ${version}
  UNION ALL
  SELECT f.project, f.name, f.replaced, f.bytes FROM changed k CROSS JOIN LATERAL (
    SELECT h.project, h.name, h.replaced, octet_length(h.before) AS bytes FROM changes h
    WHERE (h.org, h.kind, h.project, h.name) = ($1, $2, k.project, k.name) AND h.version > ${version} AND ${REPLACES}
    ORDER BY h.org, h.kind, h.project, h.name, h.version LIMIT 1
  ) f WHERE f.replaced <= ${version}
)
SELECT c.floor, (SELECT project FROM reached), (SELECT name FROM reached), k.*
FROM clock c LEFT JOIN LATERAL (
  SELECT * FROM then_there t
  WHERE NOT EXISTS (SELECT FROM reached)
     OR (t.project, t.name) <= ((SELECT project FROM reached), (SELECT name FROM reached))
  ORDER BY t.project, t.name LIMIT ${limit}
) k ON c.floor <= ${version}`;
}
