/**
 * Reads and compacts the changes log. The log holds every change above its floor (I4: without a gap);
 * the floor is a promise: it is raised first, and only what lies below it is removed after.
 */
import { stampVersion } from '../src/api/encode.js';
import type { CommittedChange } from './commit/request.js';
import type { Postgres, Statement } from './postgres.js';
import type { ChangesLog } from './store.js';

export interface CompactionSettings {
  /** Changes younger than this stay, unless `bytes` says otherwise (ms). */
  readonly age: number;
  /** About so many bytes of bodies stay at most. */
  readonly bytes: number;
}

export const DEFAULT_COMPACTION: CompactionSettings = { age: 3_600_000, bytes: 4 * 1024 ** 3 };

/**
 * Changes looked at to find the new floor. Versions are gapless, so every n-th one stands for n; a log of up to so many
 * changes is measured exactly.
 */
const SAMPLES = 2_048;
/** Rows removed per statement, so that no transaction is long. */
const REMOVED_AT_ONCE = 5_000;

type ChangeRow = [
  floor: number,
  head: number,
  cut: boolean | null,
  version: number | null,
  type: 'A' | 'M' | 'D',
  project: string,
  name: string,
  uid: string,
  replaced: number | null,
  before: string | null,
  after: string,
];

const TYPES = { A: 'ADDED', M: 'MODIFIED', D: 'DELETED' } as const;

export function openChangesLog(postgres: Postgres, settings: CompactionSettings = DEFAULT_COMPACTION): ChangesLog {
  async function clock(): Promise<{ floor: number; head: number }> {
    const [row] = await postgres.readRows<[number, number]>(CLOCK);
    return { floor: row?.[0] ?? 0, head: row?.[1] ?? 0 };
  }

  return {
    async after(org, kind, from, limit) {
      const rows = await postgres.readRows<ChangeRow>(AFTER, [org, kind, from, limit.changes, limit.bytes]);
      const [floor, head, cut] = rows[0] ?? [0, 0, false];
      if (from < floor) return { outcome: 'Expired' };
      const changes: CommittedChange[] = [];
      for (const [, , , version, type, project, name, uid, replaced, before, after] of rows) {
        if (version === null) continue;
        changes.push({
          version,
          type: TYPES[type],
          address: { org, kind, project, name },
          uid,
          before: before === null ? undefined : stampVersion(Buffer.from(before), replaced ?? 0),
          after: stampVersion(Buffer.from(after), version),
        });
      }
      const last = changes.at(-1);
      return {
        outcome: 'Changes',
        changes,
        through: cut === true && last !== undefined ? last.version : head,
      };
    },

    head: async () => (await clock()).head,
    floor: async () => (await clock()).floor,

    async compact() {
      const { floor, head } = await clock();
      const target = await newFloor(postgres, settings, floor, head);
      if (target > floor) await postgres.write(RAISE_FLOOR, [target]);
      // Also what an earlier compaction that was interrupted has left.
      const reached = Math.max(floor, target);
      let removed = REMOVED_AT_ONCE;
      while (removed === REMOVED_AT_ONCE) removed = await postgres.write(REMOVE, [reached, REMOVED_AT_ONCE]);
      return reached;
    },
  };
}

async function newFloor(
  postgres: Postgres,
  settings: CompactionSettings,
  floor: number,
  head: number,
): Promise<number> {
  const step = Math.max(1, Math.ceil((head - floor) / SAMPLES));
  const rows = await postgres.readRows<[number, number, boolean]>(SAMPLE, [floor, head, step, settings.age]);
  let bytes = 0;
  // From the newest down: the first one that is too old, or with which the log would be too large, goes with all below.
  for (const [version, size, old] of rows) {
    bytes += size * step;
    if (old || bytes > settings.bytes) return version;
  }
  return floor;
}

const CLOCK: Statement = { name: 'clock', text: 'SELECT floor, version FROM clock' };

// The floor is of the same snapshot as the rows, so a compaction beside it cannot make a gap look like an end.
// Sizes are known without reading the bodies (a long one lies outside of its row): only those that fit are read.
const AFTER: Statement = {
  name: 'changes after',
  text: `
SELECT c.floor, c.version, s.cut, h.version, h.type, h.project, h.name, h.uid, h.replaced, h.before, h.after
FROM clock c LEFT JOIN LATERAL (
  SELECT version, upto - size < $5::bigint AS fits, bool_or(place = $4 OR upto - size >= $5::bigint) OVER () AS cut
  FROM (
    SELECT version, size, sum(size) OVER (ORDER BY version) AS upto, row_number() OVER (ORDER BY version) AS place
    FROM (
      SELECT version, octet_length(after) + coalesce(octet_length(before), 0) AS size
      FROM changes WHERE org = $1 AND kind = $2 AND version > $3::bigint ORDER BY version LIMIT $4
    ) sizes
  ) sums
) s ON c.floor <= $3::bigint
LEFT JOIN changes h ON h.version = s.version AND s.fits
WHERE s.fits IS DISTINCT FROM false
ORDER BY h.version`,
};

const SAMPLE: Statement = {
  name: 'sample changes',
  text: `
SELECT h.version, octet_length(h.after) + coalesce(octet_length(h.before), 0),
       h.time < now() - $4::float8 * interval '1 millisecond'
FROM generate_series($2::bigint, $1::bigint + 1, -$3::bigint) AS s(version)
JOIN changes h ON h.version = s.version
ORDER BY h.version DESC`,
};

/** Precondition: none. Result: the floor is at least $1, and no change above it is gone. */
const RAISE_FLOOR: Statement = {
  name: 'raise floor',
  text: 'UPDATE clock SET floor = $1 WHERE floor < $1 AND $1 <= version',
};

/**
 * Precondition: the floor is at least $1. Result: at most $2 of the changes at or below it are gone; those that are the
 * answer to a kept Idempotency-Key stand there from now on.
 */
const REMOVE: Statement = {
  name: 'remove changes',
  text: `
WITH removed AS (
  DELETE FROM changes WHERE version IN (
    SELECT h.version FROM changes h, clock c WHERE h.version <= least($1::bigint, c.floor) ORDER BY h.version LIMIT $2
  )
  RETURNING version, after
), answers AS (
  UPDATE idempotency k SET answer = removed.after FROM removed
  WHERE k.version = removed.version AND k.response IS NULL AND k.answer IS NULL
)
SELECT FROM removed`,
};
