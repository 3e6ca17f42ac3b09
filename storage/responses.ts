/** Looks up what was answered under an Idempotency-Key. */
import { readVersion, stampVersion } from '../src/api/encode.js';
import { refuse, type RefusalError } from '../src/api/refusal.js';
import { responseParts } from './commit/idempotency-keys.js';
import type { Postgres, Statement } from './postgres.js';
import type { Responses } from './store.js';

export type OpenResponse = (parts: readonly string[], sealed: Buffer) => Buffer;

export interface StoredResponses extends Responses {
  /** Whole store: removes keys that are past their time; how many. */
  sweep(): Promise<number>;
  /** Whole store: forgets the oldest bodies beyond the bounds. Their keys stay, so that nothing is carried out twice. */
  sweepAnswers(): Promise<void>;
}

type Row = [
  fingerprint: string,
  status: number,
  sealed: Buffer | null,
  answer: string,
  headers: string,
  version: number,
];

const SWEPT_AT_ONCE = 5_000;

/** Bodies kept at most (bytes), in all and of one org, which must not push out all others'. */
export interface AnswerBounds {
  readonly bytes: number;
  readonly bytesPerOrg: number;
}

const BOUNDS: AnswerBounds = { bytes: 1024 ** 3, bytesPerOrg: 256 * 1024 ** 2 };

export function openResponses(postgres: Postgres, open: OpenResponse, bounds: AnswerBounds = BOUNDS): StoredResponses {
  return {
    async find(org, holder, key) {
      const [row] = await postgres.readRows<Row>(FIND, [org, holder, key]);
      if (row === undefined) return undefined;
      const [fingerprint, status, sealed, answer, headers, version] = row;
      // No answer is empty: this one was forgotten.
      if (sealed === null && answer === '') throw forgotten(key);
      const parsed: Record<string, string> = JSON.parse(headers);
      return {
        fingerprint,
        status,
        response: stamped(
          sealed === null ? Buffer.from(answer) : open(responseParts(org, holder, key), sealed),
          version,
        ),
        headers: parsed,
      };
    },

    async sweep() {
      let swept = 0;
      for (;;) {
        const removed = await postgres.write(SWEEP, [SWEPT_AT_ONCE]);
        swept += removed;
        if (removed < SWEPT_AT_ONCE) return swept;
      }
    },

    async sweepAnswers() {
      // What the table takes is known at no cost; what each row takes is read only when it may be too much.
      const [row] = await postgres.readRows<[number]>(TABLE_BYTES);
      if ((row?.[0] ?? 0) <= Math.min(bounds.bytes, bounds.bytesPerOrg)) return;
      await postgres.write(FORGET_ANSWERS, [bounds.bytes, bounds.bytesPerOrg]);
    },
  };
}

function forgotten(key: string): RefusalError {
  return refuse(
    'Expired',
    `the request with Idempotency-Key "${key}" was carried out, and its answer is no longer kept`,
    {
      fix: 'Read the object to see what became of it; use a new key for a new request.',
    },
  );
}

/** An answer that is no object (an action's) has no version. */
function stamped(response: Buffer, version: number): Buffer {
  return isObject(response) ? stampVersion(response, version) : response;
}

function isObject(response: Buffer): boolean {
  try {
    readVersion(response);
    return true;
  } catch {
    return false;
  }
}

const FIND: Statement = {
  name: 'response',
  text: `
SELECT k.fingerprint, k.status, k.response, coalesce(k.answer, h.after, ''), k.headers, k.version
FROM idempotency k LEFT JOIN changes h ON k.response IS NULL AND k.answer IS NULL AND h.version = k.version
WHERE (k.org, k.holder, k.key) = ($1, $2, $3) AND k.expires > now()`,
};

const SWEEP: Statement = {
  name: 'sweep keys',
  text: `
DELETE FROM idempotency WHERE (org, holder, key) IN (
  SELECT org, holder, key FROM idempotency WHERE expires <= now() ORDER BY expires LIMIT $1
)`,
};

/** With what is stored out of line, without indexes. */
const TABLE_BYTES: Statement = {
  name: 'bytes of keys',
  text: `SELECT pg_table_size('idempotency')::float8`,
};

/**
 * Precondition: none. Result: the newest bodies that fit into $1 bytes, and into $2 bytes of each org, are left; of the others
 * only the keys are.
 */
const FORGET_ANSWERS: Statement = {
  name: 'forget answers',
  text: `
WITH sized AS (
  SELECT org, holder, key, expires, coalesce(pg_column_size(answer), 0) + coalesce(pg_column_size(response), 0) AS size
  FROM idempotency WHERE response IS NOT NULL OR answer <> ''
), shared AS (
  SELECT *, sum(size) OVER (PARTITION BY org ORDER BY expires DESC) AS of_org FROM sized
), summed AS (
  SELECT *, sum(size) FILTER (WHERE of_org <= $2::float8) OVER (ORDER BY expires DESC) AS bytes FROM shared
)
UPDATE idempotency k SET response = NULL, answer = '' FROM summed s
WHERE (k.org, k.holder, k.key) = (s.org, s.holder, s.key) AND (s.bytes > $1::float8 OR s.of_org > $2::float8)`,
};
