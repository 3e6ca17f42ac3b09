/** A blob store under test: a fresh database with the blobs' tables, and a fresh directory. */
import type { ExecutionContext } from 'ava';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Pool } from 'pg';
import { openBlobs, type Blobs, type BlobsOptions } from '../../storage/blobs/blobs.js';
import { openEmptyDatabase } from '../support/postgres.js';

const MIGRATIONS = ['0100_blobs', '0125_blob_projects'].map(
  (name) => new URL(`../../../storage/migrations/${name}.sql`, import.meta.url),
);

export interface StoreUnderTest {
  readonly dir: string;
  readonly pool: Pool;
  readonly blobs: Blobs;
  readonly reopen: (more?: Partial<BlobsOptions>) => Promise<Blobs>;
  /** Every file below the directory, relative to it. */
  readonly files: () => Promise<string[]>;
}

export async function openStore(t: ExecutionContext, more: Partial<BlobsOptions> = {}): Promise<StoreUnderTest> {
  const database = await openEmptyDatabase();
  const pool = new Pool({ connectionString: database.url, max: 8 });
  pool.on('error', () => {});
  const dir = await mkdtemp(join(tmpdir(), 'troupe-blobs-'));
  t.teardown(async () => {
    await pool.end();
    await database.close();
    await rm(dir, { recursive: true });
  });
  for (const migration of MIGRATIONS) await pool.query(await readFile(migration, 'utf8'));
  const reopen = (again: Partial<BlobsOptions> = {}): Promise<Blobs> =>
    openBlobs({ dir, pool, now: Date.now, reserveBytes: 0, ...more, ...again });
  return { dir, pool, reopen, blobs: await reopen(), files: () => filesIn(dir) };
}

export async function filesIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .toSorted();
}

export const sha256 = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export const bytes = (...parts: (string | Uint8Array)[]): Readable =>
  Readable.from(parts.map((part) => Buffer.from(part)));

export async function textOf(stream: Readable | undefined): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of stream ?? []) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts).toString('utf8');
}

export const never = (): AbortSignal => new AbortController().signal;
