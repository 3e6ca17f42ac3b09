/**
 * What InferenceEndpoints have used of their limits in the last minute, as rows beside all commits. A row is replaced whole. I3: a write names
 * the epoch of the lease, writes nothing when another process holds that, and never replaces a row of a newer epoch nor one of a later write
 * of its own: a write that was given up and arrives late changes nothing.
 */
import type { Postgres, Statement } from '../postgres.js';

export interface WindowKey {
  readonly org: string;
  /** Of the InferenceEndpoint. */
  readonly uid: string;
}

export interface WindowBody {
  /** By second since the epoch. */
  readonly requests: readonly (readonly [second: number, amount: number])[];
  readonly tokens: readonly (readonly [second: number, amount: number])[];
  /** What is used beyond these when the row is written. */
  readonly answering: { readonly requests: number; readonly tokens: number };
  /** What may be used beyond all that before the next write. */
  readonly ahead: { readonly requests: number; readonly tokens: number };
}

export interface WindowWrite extends WindowKey {
  /** Grows with each write of one process. */
  readonly sequence: number;
  readonly body: WindowBody;
}

export interface StoredWindow extends WindowKey {
  readonly epoch: number;
  /** ms on Postgres's clock. */
  readonly writtenAt: number;
  readonly body: WindowBody;
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface WindowRows {
  /** Those that there are. */
  load(keys: readonly WindowKey[]): Promise<readonly StoredWindow[]>;
  /** `Fenced`: another process holds the lease, and not all were written. */
  write(epoch: number, writes: readonly WindowWrite[]): Promise<'Written' | 'Fenced'>;
  /** Deletes at most `limit` rows that were written longer ago. Whole store. */
  forget(epoch: number, olderThanMs: number, limit: number): Promise<number>;
}

type Row = [org: string, uid: string, epoch: number, writtenAt: number, body: WindowBody];

export function openWindowRows(postgres: Postgres): WindowRows {
  return {
    async load(keys) {
      const rows = await postgres.readRows<Row>(LOAD, [keys.map(({ org }) => org), keys.map(({ uid }) => uid)]);
      return rows.map(([org, uid, epoch, writtenAt, body]) => ({ org, uid, epoch, writtenAt, body }));
    },
    async write(epoch, writes) {
      // In one order, so that two writers never wait for each other.
      const rows = writes.toSorted((a, b) => (a.org === b.org ? compare(a.uid, b.uid) : compare(a.org, b.org)));
      const written = await postgres.write(WRITE, [epoch, JSON.stringify(rows)]);
      return written === rows.length ? 'Written' : 'Fenced';
    },
    forget: (epoch, olderThanMs, limit) => postgres.write(FORGET, [epoch, olderThanMs, limit]),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const LOAD: Statement = {
  name: 'load inference windows',
  text: `
SELECT w.org, w.uid, w.epoch, round(extract(epoch FROM w.written_at) * 1000)::float8, w.body
FROM unnest($1::text[], $2::text[]) AS k(org, uid) JOIN inference_windows w ON w.org = k.org AND w.uid = k.uid`,
};

/** Precondition: none. Result: when epoch $1 holds the lease, the rows are these, but for those of a newer epoch or a later write. */
const WRITE: Statement = {
  name: 'write inference windows',
  text: `
INSERT INTO inference_windows AS w (org, uid, epoch, sequence, written_at, body)
SELECT g.org, g.uid, clock.epoch, g.sequence, clock_timestamp(), g.body
FROM json_to_recordset($2::json) AS g(org text, uid text, sequence bigint, body json), clock
WHERE clock.epoch = $1::bigint
ON CONFLICT (org, uid) DO UPDATE
SET epoch = excluded.epoch, sequence = excluded.sequence, written_at = excluded.written_at, body = excluded.body
WHERE (w.epoch, w.sequence) < (excluded.epoch, excluded.sequence)`,
};

/** Precondition: none. Result: when epoch $1 holds the lease, at most $3 rows that were written more than $2 ms ago are gone. */
const FORGET: Statement = {
  name: 'forget inference windows',
  text: `
DELETE FROM inference_windows WHERE ctid = ANY(ARRAY(
  SELECT w.ctid FROM inference_windows w
  WHERE w.written_at < now() - $2::float8 * interval '1 millisecond' AND EXISTS (SELECT FROM clock WHERE epoch = $1::bigint)
  LIMIT $3::int FOR UPDATE SKIP LOCKED
))`,
};
