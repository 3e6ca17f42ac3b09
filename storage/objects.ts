/** Reads objects as they are, and as they were at a version that the log still covers. Bodies come out stamped. */
import { stampVersion } from '../src/api/encode.js';
import type { Address } from '../src/api/address.js';
import type { SlotRow } from '../src/kinds/machine.js';
import { FORMATS, upcast, type Formats } from './formats.js';
import { keysAtText, keysText, rangeOf, REPLACES } from './key-ranges.js';
import type { Postgres, Statement } from './postgres.js';
import type { Objects, ObjectKey, StoredObject } from './store.js';

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

    async slotsFrom(org, uid, first, limit) {
      const rows = await postgres.readRows<SlotColumns>(SLOTS_FROM, [org, uid, first, limit]);
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
/** The state that was replaced first after $5; one that is newer than $5 was added after it. */
const STATES_AT: Statement = {
  name: 'states at',
  text: `
SELECT c.floor, s.*
FROM clock c LEFT JOIN LATERAL (
  SELECT f.project, f.name, f.uid, f.replaced, f.before, NULL, 1::smallint
  FROM unnest($3::text[], $4::text[]) AS k(project, name) CROSS JOIN LATERAL (
    SELECT h.* FROM changes h
    WHERE (h.org, h.kind, h.project, h.name) = ($1, $2, k.project, k.name) AND h.version > $5::bigint AND ${REPLACES}
    ORDER BY h.org, h.kind, h.project, h.name, h.version LIMIT 1
  ) f WHERE f.replaced <= $5::bigint
) s ON c.floor <= $5::bigint`,
};
const OWNED_BY: Statement = {
  name: 'owned by',
  text: `
SELECT kind, project, name FROM children
WHERE org = $1 AND owner_uid = $2 AND (kind, project, name) > ($4, $5, $6) ORDER BY kind, project, name LIMIT $3`,
};
/** One slot. Result: its columns, or no row while the index has not begun. */
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
/** The rows from one index on. Result: at most $4 of them, by index. */
const SLOTS_FROM: Statement = {
  name: 'slots from',
  text: `
SELECT index, epoch, phase, failures, format, detail FROM slots
WHERE org = $1 AND uid = $2 AND index >= $3 ORDER BY index LIMIT $4`,
};
const COUNT: Statement = { name: 'count', text: 'SELECT objects FROM org_counts WHERE org = $1' };

const TIMERS: Statement = {
  name: 'timers of an object',
  text: 'SELECT timer, generation FROM timers WHERE uid = $2 AND org = $1',
};
