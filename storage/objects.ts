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

export function openObjects(postgres: Postgres, formats: Formats = FORMATS): Objects {
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
      ]);
      const found = new Map(rows.map((row) => [`${row[0]}/${row[1]}`, row]));
      return keys.flatMap((key) => {
        const row = found.get(`${key.project}/${key.name}`);
        return row === undefined ? [] : [toObject(org, kind, row)];
      });
    },

    async keys(range) {
      const where = rangeOf(range, 'o');
      const rows = await postgres.readRows<[number, string | null, string | null, number | null]>(
        {
          name: `keys ${where.name}`,
          // One statement, one snapshot: the version is the one at which exactly these keys are true.
          text: `
SELECT c.version, k.project, k.name, k.version
FROM clock c LEFT JOIN LATERAL (
  SELECT o.project, o.name, o.version FROM objects o WHERE ${where.text}
  ORDER BY o.org, o.kind, o.project, o.name ${where.limit}
) k ON true`,
        },
        where.values,
      );
      const keys: ObjectKey[] = [];
      for (const [, project, name, version] of rows)
        if (project !== null && name !== null && version !== null) keys.push({ project, name, version });
      return { version: rows[0]?.[0] ?? 0, keys };
    },

    async pageAt(range, version) {
      const at = rangeOf(range, 'o');
      const log = rangeOf(range, 'h');
      const rows = await postgres.readRows<[number, ...ObjectRow]>(
        { name: `page ${at.name}`, text: pageText(at, log) },
        [...at.values, version],
      );
      const floor = rows[0]?.[0];
      if (floor === undefined || version < floor) return { outcome: 'Expired' };
      const objects: StoredObject[] = [];
      for (const [, ...row] of rows) if (row[1] !== null) objects.push(toObject(range.org, range.kind, row));
      return { outcome: 'Page', objects };
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

/** Private state is JSON text to everyone but its machine; it is parsed here only when it has to be brought up. */
function upcastPrivate(stored: string | null, format: number, formats: Formats): string | null {
  if (stored === null || format === formats.private.current) return stored;
  return JSON.stringify(upcast('private', format, JSON.parse(stored), formats));
}

interface RangeText {
  /** Which parts the range has: the statement's name. */
  readonly name: string;
  readonly text: string;
  readonly limit: string;
  readonly values: unknown[];
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
  if (range.after !== undefined) {
    values.push(range.after.project, range.after.name);
    parts.push(`(${table}.project, ${table}.name) > ($${values.length - 1}, $${values.length})`);
    name += 'a';
  }
  let limit = '';
  if (range.limit !== undefined) {
    values.push(range.limit);
    limit = `LIMIT $${values.length}`;
    name += 'l';
  }
  return { name, text: parts.join(' AND '), limit, values };
}

/**
 * The state at version V of a range: objects that have not changed since, and of those that have, what their first change
 * after V replaced (nothing, when that change added them). Both halves come in order and are cut to the page before their
 * texts are touched or joined.
 */
function pageText(at: RangeText, log: RangeText): string {
  const version = `$${at.values.length + 1}::bigint`;
  return `
SELECT c.floor, p.project, p.name, p.uid, p.version, p.body, p.private, p.private_format
FROM clock c LEFT JOIN LATERAL (
  SELECT * FROM (
    (SELECT o.project, o.name, o.uid, o.version, o.body, o.private, o.private_format
     FROM objects o WHERE ${at.text} AND o.version <= ${version}
     ORDER BY o.org, o.kind, o.project, o.name ${at.limit})
    UNION ALL
    (SELECT h.project, h.name, h.uid, h.replaced, h.before, NULL, 1::smallint
     FROM (
       SELECT f.version FROM (
         SELECT DISTINCT ON (h.project, h.name) h.project, h.name, h.version, h.type FROM changes h
         WHERE ${log.text} AND h.version > ${version}
         ORDER BY h.project, h.name, h.version
       ) f WHERE f.type <> 'A' ORDER BY f.project, f.name ${at.limit}
     ) k JOIN changes h ON h.version = k.version)
  ) u ORDER BY u.project, u.name ${at.limit}
) p ON c.floor <= ${version}`;
}

const READ: Statement = {
  name: 'read',
  text: `SELECT ${COLUMNS} FROM objects o WHERE (o.org, o.kind, o.project, o.name) = ($1, $2, $3, $4)`,
};
// The LIMIT keeps the planner to one look-up per key, whatever it believes about the table.
const READ_MANY: Statement = {
  name: 'read many',
  text: `
SELECT o.* FROM unnest($3::text[], $4::text[]) AS k(project, name) CROSS JOIN LATERAL (
  SELECT ${COLUMNS} FROM objects o WHERE (o.org, o.kind, o.project, o.name) = ($1, $2, k.project, k.name) LIMIT 1
) o`,
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
