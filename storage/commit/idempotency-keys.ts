/**
 * Takes Idempotency-Keys in the commit of the write that each stands for. A row holds a sealed response only
 * where the answer is not the object that the commit leaves behind: that one is read from the changes log.
 */
import type { QueuedCommit } from './queued-commit.js';
import { fill, givenRows, roundUp, type Session } from './session.js';

/** How long a key is kept (decisions: 24 h per key holder). */
export const KEPT = "interval '24 hours'";
const COLUMNS = {
  org: 'text',
  holder: 'text',
  key: 'text',
  fingerprint: 'text',
  status: 'smallint',
  response: 'bytea',
  headers: 'text',
  version: 'bigint',
};

export type SealResponse = (parts: readonly string[], plain: Buffer) => Buffer;

/** What a sealed response belongs to: opened elsewhere, it does not open. */
export function responseParts(org: string, holder: string, key: string): string[] {
  return ['response', org, holder, key];
}

/**
 * Precondition: the entries all carry a key, each another one; `versions[i]` is the version of `entries[i]`.
 * Result: free (or expired) keys are taken. Answers the positions whose key was free.
 */
export async function takeKeys(
  session: Session,
  entries: readonly QueuedCommit[],
  versions: readonly number[],
): Promise<ReadonlySet<number>> {
  const values: unknown[] = [];
  const positions = new Map<number, number>();
  entries.forEach((queued, i) => {
    const write = queued.request.idempotency;
    if (write === undefined) return;
    const { org } = queued.request.address;
    values.push(
      org,
      write.holder,
      write.key,
      write.fingerprint,
      write.status,
      queued.sealed,
      JSON.stringify(write.headers),
      versions[i],
    );
    positions.set(versions[i] ?? 0, i);
  });
  fill(values, entries.length, 8);
  const size = roundUp(entries.length);
  const rows = await session.rows<[number]>(`keys ${size}`, () => text(size), values);
  const taken = new Set<number>();
  for (const [version] of rows) {
    const position = positions.get(version);
    if (position !== undefined) taken.add(position);
  }
  return taken;
}

function text(rows: number): string {
  return `
INSERT INTO idempotency AS k (org, holder, key, fingerprint, status, response, headers, version, expires)
SELECT org, holder, key, fingerprint, status, response, headers, version, now() + ${KEPT}
FROM ${givenRows(rows, COLUMNS, 1)} WHERE key IS NOT NULL
ON CONFLICT (org, holder, key) DO UPDATE
SET fingerprint = excluded.fingerprint, status = excluded.status, response = excluded.response, answer = NULL,
    headers = excluded.headers, version = excluded.version, expires = excluded.expires
WHERE k.expires <= now()
RETURNING version`;
}
