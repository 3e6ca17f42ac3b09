/** Owns the look-up of what an Idempotency-Key was answered. */
import { readVersion, stampVersion } from '../src/api/encode.js';
import { responseParts } from './commit/idempotency.js';
import type { Postgres, Statement } from './postgres.js';
import type { Responses } from './store.js';

export type OpenResponse = (parts: readonly string[], sealed: Buffer) => Buffer;

export interface StoredResponses extends Responses {
  /** Whole store: removes keys that are past their time; how many. */
  sweep(): Promise<number>;
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

export function openResponses(postgres: Postgres, open: OpenResponse): StoredResponses {
  return {
    async find(org, holder, key) {
      const [row] = await postgres.readRows<Row>(FIND, [org, holder, key]);
      if (row === undefined) return undefined;
      const [fingerprint, status, sealed, answer, headers, version] = row;
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
  };
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
