/**
 * The rows of blobs: one named statement or transaction per transition, with its precondition and result above it.
 * Files are not touched here. Every statement names its org first (I12), except those of the sweep, which range over
 * the whole store. While Postgres does not answer, all of them are refused with Unavailable.
 */
import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import { RefusalError } from '../../src/api/refusal.js';
import { isOutage, unavailable } from '../errors.js';
import type { Digest } from './digest.js';

/** Spells `BLOB`: the class of the advisory locks that order the changes of one content's file and rows. */
const LOCK_CLASS = 0x424c4f42;
/** `last_used` is as old as this before a read renews it, so that reads seldom write. */
const TOUCH_AFTER = '1 hour';

/** Runs `work` in one transaction under the lock of this content; commits when it resolves, rolls back when it rejects. */
export async function underLock<T>(pool: Pool, digest: Digest, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch(refuseOutage);
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK_CLASS, digest]);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: unknown) => {
      broken = failure instanceof Error ? failure : new Error(String(failure));
    });
    return refuseOutage(error);
  } finally {
    client.release(broken);
  }
}

/** One statement that is a transaction of its own. */
function ask<Row extends QueryResultRow>(
  pool: Pool,
  text: string,
  values: readonly unknown[],
): Promise<QueryResult<Row>> {
  return pool.query<Row>(text, [...values]).catch(refuseOutage);
}

function refuseOutage(error: unknown): never {
  throw !(error instanceof RefusalError) && isOutage(error) ? unavailable(error) : error;
}

const INSERT = `
  INSERT INTO blobs (org, digest, size) VALUES ($1, $2, $3)
  ON CONFLICT (org, digest) DO UPDATE SET last_used = now()
  RETURNING xmax = 0 AS fresh`;
const CHARGE = `
  INSERT INTO blob_usage (org, bytes) SELECT $1, $2::bigint WHERE $2::bigint <= $3::bigint
  ON CONFLICT (org) DO UPDATE SET bytes = blob_usage.bytes + excluded.bytes
    WHERE blob_usage.bytes + excluded.bytes <= $3::bigint
  RETURNING bytes`;

const INSERT_PROJECT = `
  INSERT INTO blob_projects (org, project, digest) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1`;

/** The project may name this content of its org from now on. False when it could before. In the transaction of `insertBlob`. */
export async function insertProject(
  client: PoolClient,
  org: string,
  project: string,
  digest: Digest,
): Promise<boolean> {
  const { rowCount } = await client.query(INSERT_PROJECT, [org, project, digest]);
  return rowCount === 1;
}

const FORGET_PROJECT = `
  WITH page AS (
    SELECT digest FROM blob_projects WHERE org = $1 AND project = $2 AND digest > $3 ORDER BY digest LIMIT $4
  ), gone AS (
    DELETE FROM blob_projects b USING page WHERE b.org = $1 AND b.project = $2 AND b.digest = page.digest
  )
  SELECT max(digest) AS last FROM page`;

/** The project may name none of these contents any more: those behind `after`, at most `limit`. Answers the last; undefined: that was all. */
export async function forgetPage(
  pool: Pool,
  org: string,
  project: string,
  after: string,
  limit: number,
): Promise<string | undefined> {
  const { rows } = await ask<{ last: string | null }>(pool, FORGET_PROJECT, [org, project, after, limit]);
  return rows[0]?.last ?? undefined;
}

/**
 * The org holds this content. Under the content's lock; its file is in place before the commit.
 * `Created`: counted into its usage. `Exists`: it did already. `QuotaExceeded`: the caller rolls back.
 */
export async function insertBlob(
  client: PoolClient,
  org: string,
  digest: Digest,
  size: number,
  quota: number,
): Promise<'Created' | 'Exists' | 'QuotaExceeded'> {
  const inserted = await client.query<{ fresh: boolean }>(INSERT, [org, digest, size]);
  if (inserted.rows[0]?.fresh !== true) return 'Exists';
  const charged = await client.query(CHARGE, [org, size, quota]);
  return charged.rowCount === 1 ? 'Created' : 'QuotaExceeded';
}

/** Bytes that the org holds. */
export async function usedBytes(pool: Pool, org: string): Promise<number> {
  const { rows } = await ask<{ bytes: string }>(pool, 'SELECT bytes FROM blob_usage WHERE org = $1', [org]);
  return Number(rows[0]?.bytes ?? 0);
}

const FIND = `
  WITH found AS (
    SELECT size, last_used FROM blobs WHERE org = $1 AND digest = $2 AND ($3::text IS NULL OR EXISTS (
      SELECT 1 FROM blob_projects p WHERE p.org = $1 AND p.digest = $2 AND p.project IN ($3, '')))
  ), touched AS (
    UPDATE blobs SET last_used = now()
    WHERE org = $1 AND digest = $2 AND (SELECT last_used FROM found) < now() - interval '${TOUCH_AFTER}'
  )
  SELECT size FROM found`;

/**
 * Size of the org's blob, which counts as a use of it; undefined when the org has none of that digest. With a project:
 * only what this project may name.
 */
export async function findBlob(pool: Pool, org: string, digest: Digest, project?: string): Promise<number | undefined> {
  const { rows } = await ask<{ size: string }>(pool, FIND, [org, digest, project ?? null]);
  return rows[0] === undefined ? undefined : Number(rows[0].size);
}

const ADD_REF = `
  INSERT INTO blob_refs (org, uid, digest)
  SELECT org, $3, digest FROM blobs WHERE org = $1 AND digest = $2 FOR KEY SHARE
  ON CONFLICT (org, uid, digest) DO UPDATE SET uid = excluded.uid
  RETURNING 1`;

/** The object keeps the blob alive from now on. False when the org has no such blob. Twice is once. */
export async function insertRef(pool: Pool, org: string, digest: Digest, uid: string): Promise<boolean> {
  const { rowCount } = await ask(pool, ADD_REF, [org, digest, uid]);
  return rowCount === 1;
}

const DROP_REFS = `
  WITH gone AS (DELETE FROM blob_refs WHERE org = $1 AND uid = $2 RETURNING digest)
  UPDATE blobs SET last_used = now() WHERE org = $1 AND digest IN (SELECT digest FROM gone)`;

/** The object keeps nothing any more; what it kept lives on for the usual time from now. */
export async function deleteRefs(pool: Pool, org: string, uid: string): Promise<void> {
  await ask(pool, DROP_REFS, [org, uid]);
}

/** Where a reading of what is unused goes on. */
export interface UnusedBlob {
  readonly org: string;
  readonly digest: Digest;
  /** As Postgres writes it, to the microsecond. */
  readonly lastUsed: string;
}

const UNUSED = `
  SELECT org, digest, last_used::text AS "lastUsed"
  FROM blobs b
  WHERE last_used < now() - make_interval(secs => $1)
    AND ($3::timestamptz IS NULL OR (last_used, org, digest) > ($3::timestamptz, $4, $5))
    AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.org = b.org AND r.digest = b.digest)
  ORDER BY last_used, org, digest LIMIT $2`;

/** Whole store: blobs that their org has neither used for so long nor refers to, the longest unused first, behind `after`. */
export async function unusedBlobs(
  pool: Pool,
  afterSeconds: number,
  limit: number,
  after: UnusedBlob | undefined,
): Promise<readonly UnusedBlob[]> {
  const from = [after?.lastUsed ?? null, after?.org ?? '', after?.digest ?? ''];
  const { rows } = await ask<UnusedBlob>(pool, UNUSED, [afterSeconds, limit, ...from]);
  return rows;
}

const OVERDUE = `
  SELECT (extract(epoch FROM now() - last_used) - $1)::float8 * 1000 AS ms
  FROM blobs b
  WHERE last_used < now() - make_interval(secs => $1)
    AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.org = b.org AND r.digest = b.digest)
  ORDER BY last_used LIMIT 1`;

/** Whole store: for how long the oldest unused blob should have been gone (ms). */
export async function overdueMs(pool: Pool, afterSeconds: number): Promise<number> {
  const { rows } = await ask<{ ms: number }>(pool, OVERDUE, [afterSeconds]);
  return rows[0]?.ms ?? 0;
}

const KNOWN = 'SELECT DISTINCT digest FROM blobs WHERE digest = ANY($1)';

/** Whole store: those of these contents that some org holds. */
export async function knownDigests(pool: Pool, digests: readonly Digest[]): Promise<ReadonlySet<Digest>> {
  const { rows } = await ask<{ digest: Digest }>(pool, KNOWN, [digests]);
  return new Set(rows.map((row) => row.digest));
}

const DELETE_UNUSED = `
  WITH gone AS (
    DELETE FROM blobs b
    WHERE digest = $1 AND last_used < now() - make_interval(secs => $2)
      AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.org = b.org AND r.digest = b.digest)
    RETURNING org, size
  )
  UPDATE blob_usage u SET bytes = u.bytes - gone.size FROM gone WHERE u.org = gone.org`;

/** Whole store, under the content's lock: forgets it for every org that is done with it. True when no org is left. */
export async function deleteUnused(client: PoolClient, digest: Digest, afterSeconds: number): Promise<boolean> {
  await client.query(DELETE_UNUSED, [digest, afterSeconds]);
  return !(await isHeld(client, digest));
}

/** Whole store: whether any org holds this content. */
export async function isHeld(client: PoolClient, digest: Digest): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM blobs WHERE digest = $1 LIMIT 1', [digest]);
  return rowCount === 1;
}
