/** Owns the reads of objects as they are, and as they were at a version that the log still covers. Bodies come out stamped. */
import { stampVersion } from '../src/api/encode.js';
import type { Address } from '../src/api/address.js';
import type { SlotRow } from '../src/kinds/machine.js';
import { FORMATS, upcast, type Formats } from './formats.js';
import type { Postgres, Statement } from './postgres.js';
import type { KeyRange, Objects, ObjectKey, StoredObject } from './store.js';

type ObjectRow = [
  project: string,
  name: string,
  uid: string,
  version: number,
  body: string,
  stored: string | null,
  format: number,
];

type SlotColumns = [
  index: number,
  epoch: number,
  phase: string,
  failures: number,
  format: number,
  detail: string | null,
];

const COLUMNS = 'o.project, o.name, o.uid, o.version, o.body, o.private, o.private_format';

type KeyRow = [project: string | null, name: string | null, version: number | null, bytes: number | null];

/** Changes newer than a snapshot that are gone through one by one, to find the keys that it had. */
const FRESH_CHANGES = 1_000;

export function openObjects(
  postgres: Postgres,
  formats: Formats = FORMATS,
  freshChanges: number = FRESH_CHANGES,
): Objects {
  const toObject = (org: string, kind: string, row: ObjectRow): StoredObject => {
    const [project, name, uid, version, body, stored, format] = row;
    return {
      address: { org, kind, project, name },
      uid,
      version,
      body: stampVersion(Buffer.from(body), version),
      private: upcastPrivate(stored, format, formats),
    };
  };

  const toSlot = ([index, epoch, phase, failures, format, detail]: SlotColumns): SlotRow => {
    const row = { index, epoch, phase, failures };
    if (detail === null) return row;
    return { ...row, detail: upcast('slots', format, JSON.parse(detail), formats) };
  };

  return {
    async read({ org, kind, project, name }) {
      const [row] = await postgres.readRows<ObjectRow>(READ, [org, kind, project, name]);
      return row === undefined ? undefined : toObject(org, kind, row);
    },

    async readMany(org, kind, keys) {
      if (keys.length === 0) return [];
      const rows = await postgres.readRows<ObjectRow>(READ_MANY, [
        org,
        kind,
        keys.map((key) => key.project),
        keys.map((key) => key.name),
        keys.map((key) => key.version),
      ]);
      const found = new Map(rows.map((row) => [`${row[0]}/${row[1]}`, row]));
      return keys.flatMap((key) => {
        const row = found.get(`${key.project}/${key.name}`);
        return row === undefined ? [] : [toObject(org, kind, row)];
      });
    },

    async keys(range) {
      const where = rangeOf(range, 'o');
      const rows = await postgres.readRows<[number, number | null, ...KeyRow]>(
        { name: `keys ${where.name}`, text: keysText(where, range.project !== undefined) },
        [...where.values, range.limit],
      );
      const [version = 0, count = 0] = rows[0] ?? [];
      const keys: ObjectKey[] = [];
      for (const [, , ...row] of rows) if (row[0] !== null) keys.push(toKey(row));
      return { version, count: count ?? 0, keys, reached: keys.length < range.limit ? undefined : keys.at(-1) };
    },

    async keysAt(range, version) {
      const where = rangeOf(range, 'o');
      const rows = await postgres.readRows<[number, string | null, string | null, ...KeyRow]>(
        { name: `keys at ${where.name}`, text: keysAtText(where, rangeOf(range, 'h'), range.project !== undefined) },
        [...where.values, range.limit, version, freshChanges],
      );
      const [floor, project, name] = rows[0] ?? [Infinity, null, null];
      if (version < floor) return { outcome: 'Expired' };
      const keys: ObjectKey[] = [];
      for (const [, , , ...row] of rows) if (row[0] !== null) keys.push(toKey(row));
      const reached = project === null || name === null ? undefined : { project, name };
      return { outcome: 'Keys', keys, reached: keys.length < range.limit ? reached : keys.at(-1) };
    },

    async statesAt(org, kind, keys, version) {
      const rows = await postgres.readRows<[number, ...ObjectRow]>(STATES_AT, [
        org,
        kind,
        keys.map((key) => key.project),
        keys.map((key) => key.name),
        version,
      ]);
      const floor = rows[0]?.[0];
      if (floor === undefined || version < floor) return { outcome: 'Expired' };
      const objects: StoredObject[] = [];
      for (const [, ...row] of rows) if (row[1] !== null) objects.push(toObject(org, kind, row));
      return { outcome: 'States', objects };
    },

    async ownedBy(org, uid, limit, after) {
      const from = [after?.kind ?? '', after?.project ?? '', after?.name ?? ''];
      const rows = await postgres.readRows<[string, string, string]>(OWNED_BY, [org, uid, limit, ...from]);
      return rows.map(([kind, project, name]): Address => ({ org, kind, project, name }));
    },

    async slots(org, uid) {
      const rows = await postgres.readRows<SlotColumns>(SLOTS, [org, uid]);
      return rows.map(toSlot);
    },

    async slot(org, uid, index) {
      const [row] = await postgres.readRows<SlotColumns>(SLOT, [org, uid, index]);
      return row === undefined ? undefined : toSlot(row);
    },

    async timers(org, uid) {
      return new Map(await postgres.readRows<[string, number]>(TIMERS, [org, uid]));
    },

    async addressOf(uid) {
      const [row] = await postgres.readRows<[string, string, string, string]>(ADDRESS_OF, [uid]);
      if (row === undefined) return undefined;
      const [org, kind, project, name] = row;
      return { org, kind, project, name };
    },

    async count(org) {
      const [row] = await postgres.readRows<[number]>(COUNT, [org]);
      return row?.[0] ?? 0;
    },
  };
}

/** Only for rows that have a key: a range without any is one row of NULLs. */
function toKey([project, name, version, bytes]: KeyRow): ObjectKey {
  return { project: project ?? '', name: name ?? '', version: version ?? 0, bytes: bytes ?? 0 };
}

/** Private state is JSON text to everyone but its machine; it is parsed here only when it has to be brought up. */
function upcastPrivate(stored: string | null, format: number, formats: Formats): string | null {
  if (stored === null || format === formats.private.current) return stored;
  return JSON.stringify(upcast('private', format, JSON.parse(stored), formats));
}

interface RangeText {
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
function rangeOf(range: KeyRange, table: string): RangeText {
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

const KEY_ORDER = (table: string): string => `ORDER BY ${table}.org, ${table}.kind, ${table}.project, ${table}.name`;

// One statement, one snapshot: the version is the one at which exactly these keys are true.
function keysText(where: RangeText, inProject: boolean): string {
  return `
SELECT c.version,
  (SELECT sum(n.objects)::bigint FROM collection_counts n WHERE n.org = $1 AND n.kind = $2${inProject ? ' AND n.project = $3' : ''}),
  k.*
FROM clock c LEFT JOIN LATERAL (
  SELECT o.project, o.name, o.version, octet_length(o.body) FROM objects o WHERE ${where.text}
  ${KEY_ORDER('o')} LIMIT $${where.values.length + 1}
) k ON true`;
}

/** No name begins with it, and it is above all that do not. */
const LAST = "U&'\\+10FFFF'";

/**
 * The keys of a range at version V: those of the objects that have not changed since, and of those that have, what their
 * first change after V replaced (nothing, when that change added them).
 *
 * `present` are the first keys that there are now, whatever their version: no more are looked at, and what has changed
 * is looked for no further than they reach. It is found in one of two ways, each of which reads a bounded number of
 * rows: as long as few changes of the kind are newer than V, by going through these (`fresh`); else by hopping from key
 * to key in the log (`hops`), which does not depend on how often anything was changed, and may end short of `present`.
 */
function keysAtText(at: RangeText, log: RangeText, inProject: boolean): string {
  const [limit, version, fresh] = [1, 2, 3].map((n) => `$${at.values.length + n}::bigint`);
  // A comparison with one value is a bound at which an index scan stops: above every name when `present` is at its end.
  const end = (column: string): string => `coalesce((SELECT ${column} FROM present_end), ${LAST})`;
  const within = compare(inProject, 'h', '<=', end('project'), end('name'));
  const beyond = compare(inProject, 'h', '>', 'p.project', 'p.name');
  return `
WITH RECURSIVE present AS MATERIALIZED (
  SELECT o.project, o.name, o.version, octet_length(o.body) AS bytes FROM objects o WHERE ${at.text}
  ${KEY_ORDER('o')} LIMIT ${limit}
), present_end AS MATERIALIZED (
  SELECT project, name FROM present ORDER BY project, name OFFSET ${limit} - 1
), fresh AS MATERIALIZED (
  SELECT h.org, h.kind, h.project, h.name FROM changes h
  WHERE h.org = $1 AND h.kind = $2 AND h.version > ${version} ORDER BY h.version LIMIT ${fresh} + 1
), few AS MATERIALIZED (
  SELECT count(*) <= ${fresh} AS so FROM fresh
), hops AS (
  (SELECT h.project, h.name, 1 AS hop FROM changes h
   WHERE NOT (SELECT so FROM few) AND ${log.text} AND ${within}
   ${KEY_ORDER('h')} LIMIT 1)
  UNION ALL
  SELECT n.project, n.name, p.hop + 1 FROM hops p CROSS JOIN LATERAL (
    SELECT h.project, h.name FROM changes h
    WHERE ${log.whole} AND ${beyond} AND ${within}
    ${KEY_ORDER('h')} LIMIT 1
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
    SELECT h.project, h.name, h.type, h.replaced, octet_length(h.before) AS bytes FROM changes h
    WHERE (h.org, h.kind, h.project, h.name) = ($1, $2, k.project, k.name) AND h.version > ${version}
    ORDER BY h.org, h.kind, h.project, h.name, h.version LIMIT 1
  ) f WHERE f.type <> 'A'
)
SELECT c.floor, (SELECT project FROM reached), (SELECT name FROM reached), k.*
FROM clock c LEFT JOIN LATERAL (
  SELECT * FROM then_there t
  WHERE NOT EXISTS (SELECT FROM reached)
     OR (t.project, t.name) <= ((SELECT project FROM reached), (SELECT name FROM reached))
  ORDER BY t.project, t.name LIMIT ${limit}
) k ON c.floor <= ${version}`;
}

const READ: Statement = {
  name: 'read',
  text: `SELECT ${COLUMNS} FROM objects o WHERE (o.org, o.kind, o.project, o.name) = ($1, $2, $3, $4)`,
};
// The LIMIT keeps the planner to one look-up per key, whatever it believes about the table.
const READ_MANY: Statement = {
  name: 'read many',
  text: `
SELECT o.* FROM unnest($3::text[], $4::text[], $5::bigint[]) AS k(project, name, version) CROSS JOIN LATERAL (
  SELECT ${COLUMNS} FROM objects o
  WHERE (o.org, o.kind, o.project, o.name) = ($1, $2, k.project, k.name) AND o.version = k.version LIMIT 1
) o`,
};
/** The state that the first change after $5 replaced; a change that added the object replaced none. */
const STATES_AT: Statement = {
  name: 'states at',
  text: `
SELECT c.floor, s.*
FROM clock c LEFT JOIN LATERAL (
  SELECT f.project, f.name, f.uid, f.replaced, f.before, NULL, 1::smallint
  FROM unnest($3::text[], $4::text[]) AS k(project, name) CROSS JOIN LATERAL (
    SELECT h.* FROM changes h
    WHERE (h.org, h.kind, h.project, h.name) = ($1, $2, k.project, k.name) AND h.version > $5::bigint
    ORDER BY h.org, h.kind, h.project, h.name, h.version LIMIT 1
  ) f WHERE f.type <> 'A'
) s ON c.floor <= $5::bigint`,
};
const OWNED_BY: Statement = {
  name: 'owned by',
  text: `
SELECT kind, project, name FROM children
WHERE org = $1 AND owner_uid = $2 AND (kind, project, name) > ($4, $5, $6) ORDER BY kind, project, name LIMIT $3`,
};
/** One slot of a stored book. Result: its columns, or no row while the index has not begun. */
const SLOT: Statement = {
  name: 'slot',
  text: 'SELECT index, epoch, phase, failures, format, detail FROM slots WHERE uid = $2 AND org = $1 AND index = $3',
};

/** Whole store, for operators: which address an incarnation has. Reads the table. */
const ADDRESS_OF: Statement = {
  name: 'address of uid',
  text: 'SELECT org, kind, project, name FROM objects WHERE uid = $1 LIMIT 1',
};

const SLOTS: Statement = {
  name: 'slots',
  text: 'SELECT index, epoch, phase, failures, format, detail FROM slots WHERE org = $1 AND uid = $2 ORDER BY index',
};
const COUNT: Statement = { name: 'count', text: 'SELECT objects FROM org_counts WHERE org = $1' };

const TIMERS: Statement = {
  name: 'timers of an object',
  text: 'SELECT timer, generation FROM timers WHERE uid = $2 AND org = $1',
};
