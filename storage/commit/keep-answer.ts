/**
 * Keeps an answer that has no commit of its own: a write under an Idempotency-Key that changed nothing. Without its row,
 * the same request sent again after another client's write would be carried out anew.
 */
import type { Postgres, Statement } from '../postgres.js';
import { KEPT } from './idempotency-keys.js';
import type { KeepResult, KeptAnswer } from './request.js';

/**
 * `version`: the object's, which the answer shows. Rejects with a `RefusalError` Unavailable when Postgres does not
 * answer; whether the key is taken is then not known, and the same request may be sent again.
 */
export async function keepAnswer(
  postgres: Postgres,
  epoch: number,
  org: string,
  write: KeptAnswer,
  sealed: Buffer,
  version: number,
): Promise<KeepResult> {
  const { holder, key, fingerprint, status, headers } = write;
  const values = [epoch, org, holder, key, fingerprint, status, sealed, JSON.stringify(headers), version];
  const [row] = await postgres.readRows<[boolean, boolean]>(KEEP, values);
  if (row === undefined || !row[0]) return { outcome: 'Fenced' };
  return { outcome: row[1] ? 'Kept' : 'KeyUsed' };
}

/**
 * Precondition: none. I3: a process whose epoch is over stores nothing, for what it took to be unchanged may not be so.
 * Result: a free (or expired) key is taken. Answers whether the epoch holds, and whether the key was free.
 */
const KEEP: Statement = {
  name: 'keep answer',
  text: `
WITH kept AS (
  INSERT INTO idempotency AS k (org, holder, key, fingerprint, status, response, headers, version, expires)
  SELECT $2::text, $3::text, $4::text, $5::text, $6::smallint, $7::bytea, $8::text, $9::bigint, now() + ${KEPT}
  FROM clock WHERE epoch = $1::bigint
  ON CONFLICT (org, holder, key) DO UPDATE
  SET fingerprint = excluded.fingerprint, status = excluded.status, response = excluded.response, answer = NULL,
      headers = excluded.headers, version = excluded.version, expires = excluded.expires
  WHERE k.expires <= now()
  RETURNING key
)
SELECT epoch = $1::bigint, EXISTS (SELECT FROM kept) FROM clock`,
};
