/**
 * Reads recorded events. They are written by the commit that caused them (`commit/write-events.ts`); a repeat
 * moves its row to the end, so a reader that goes on after a cursor sees it again with the higher count.
 */
import { refuse } from '../src/api/refusal.js';
import type { Postgres, Statement } from './postgres.js';

export interface EventQuery {
  readonly project?: string | undefined;
  /** With `project`: also those of the org's own objects, which have none. */
  readonly ofOrg?: boolean | undefined;
  /** `<kind>/<name>` or a uid. */
  readonly object?: string | undefined;
  /** In any case. */
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  /** Its id begins with these 16 hex digits. */
  readonly idPrefix?: string | undefined;
  /** Exact type, a prefix such as `job.*`, or `*`. */
  readonly type?: string | undefined;
  /** Cursor: events after this one. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface StoredEvent {
  readonly id: string;
  /** Version of the commit that raised it last. */
  readonly version: number;
  readonly kind: string;
  /** Empty: of the org. */
  readonly project: string;
  readonly name: string;
  readonly uid: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly firstTime: Date;
  readonly lastTime: Date;
}

export interface EventPage {
  readonly items: readonly StoredEvent[];
  /** Cursor of the last item; absent when there is none. */
  readonly next?: string | undefined;
}

type Row = [
  id: string,
  sequence: number,
  kind: string,
  project: string,
  name: string,
  uid: string,
  event: string,
  reason: string,
  message: string,
  count: number,
  first: Date,
  last: Date,
];

export async function listEvents(postgres: Postgres, org: string, query: EventQuery): Promise<EventPage> {
  const { object = '', type = '*', after = '' } = query;
  const [kind = '', name = ''] = object.includes('/') ? object.split('/') : [];
  const cursor = parseCursor(after);
  const rows = await postgres.readRows<Row>(LIST, [
    org,
    query.project ?? null,
    query.uid ?? (object === '' || object.includes('/') ? null : object),
    query.kind?.toLowerCase() ?? (kind === '' ? null : kind.toLowerCase()),
    query.name ?? (name === '' ? null : name),
    type === '*' ? null : likePattern(type),
    cursor.sequence,
    cursor.id,
    query.limit,
    query.ofOrg === true,
    query.idPrefix?.padEnd(32, '0') ?? null,
    query.idPrefix?.padEnd(32, 'f') ?? null,
  ]);
  const last = rows.at(-1);
  return { items: rows.map(toEvent), next: last && `${last[1]}.${last[0]}` };
}

function toEvent(row: Row): StoredEvent {
  const [id, version, kind, project, name, uid, type, reason, message, count, firstTime, lastTime] = row;
  return { id, version, kind, project, name, uid, type, reason, message, count, firstTime, lastTime };
}

/** The cursor behind all events of this version and those before. */
export function cursorBehind(version: number): string {
  return `${version}.${LAST_UUID}`;
}

export function isCursor(text: string): boolean {
  return CURSOR.test(text);
}

const NO_UUID = '00000000-0000-0000-0000-000000000000';
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const CURSOR = /^(\d{1,15})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Empty: from the beginning. Refuses what is no cursor: a reader that lost its place must not begin anew unknowingly. */
function parseCursor(text: string): { readonly sequence: number; readonly id: string } {
  if (text === '') return { sequence: 0, id: NO_UUID };
  const [, sequence = '', id = ''] = CURSOR.exec(text) ?? [];
  if (id === '') {
    throw refuse('BadRequest', 'after is no cursor of a list of events', {
      causes: [{ field: 'after', reason: 'FieldValueInvalid', message: 'is no cursor of a list of events' }],
      fix: 'Send the continue of an answer as after, or leave it out to begin with the oldest.',
    });
  }
  return { sequence: Number(sequence), id };
}

/** `job.*` → `job.%`; what a client sends is otherwise taken literally. */
function likePattern(type: string): string {
  const literal = type.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`);
  return literal.endsWith('.*') ? `${literal.slice(0, -1)}%` : literal;
}

/** Events of one org in the order in which they were recorded last. Each null argument is no condition. */
const LIST: Statement = {
  name: 'events',
  text: `
SELECT id, sequence, kind, project, name, uid, event, reason, message, count, first_time, last_time
FROM events
WHERE org = $1
  AND ($2::text IS NULL OR project = $2 OR ($10 AND project = ''))
  AND ($3::text IS NULL OR uid = $3)
  AND ($4::text IS NULL OR lower(kind) = $4)
  AND ($5::text IS NULL OR name = $5)
  AND ($6::text IS NULL OR event LIKE $6)
  AND (sequence, id) > ($7::bigint, $8::uuid)
  AND ($11::uuid IS NULL OR id BETWEEN $11 AND $12::uuid)
ORDER BY sequence, id
LIMIT $9`,
};
