/** How long like work has run, as rows. Bounded: what is old or too much is forgotten with each write. Whole store. */
import type { Run } from '../src/kinds/run-times.js';
import type { Postgres, Statement } from './postgres.js';

export interface LikeRuns {
  readonly org: string;
  readonly project: string;
  readonly like: string;
  /** Oldest first. */
  readonly runs: readonly Run[];
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface RunHistoryRows {
  /** The newest ones, oldest first. */
  load(limit: number): Promise<readonly LikeRuns[]>;
  /** Replaces these, and forgets what has not been run for `keptMs`, or is not among the newest `most`. */
  save(changed: readonly LikeRuns[], bounds: { readonly keptMs: number; readonly most: number }): Promise<void>;
}

type Row = [org: string, project: string, like: string, boot: number[], run: number[], teardown: number[]];

export function openRunHistoryRows(postgres: Postgres): RunHistoryRows {
  return {
    async load(limit) {
      const rows = await postgres.readRows<Row>(LOAD, [limit]);
      return rows.toReversed().map(([org, project, like, boot, run, teardown]) => ({
        ...{ org, project, like },
        runs: run.map((ms, i) => ({ bootMs: boot[i] ?? 0, runMs: ms, teardownMs: teardown[i] ?? 0 })),
      }));
    },
    async save(changed, { keptMs, most }) {
      const rows = changed.map(({ org, project, like, runs }) => ({
        ...{ org, project, like },
        boot: runs.map(({ bootMs }) => bootMs),
        run: runs.map(({ runMs }) => runMs),
        teardown: runs.map(({ teardownMs }) => teardownMs),
      }));
      await postgres.write(SAVE, [JSON.stringify(rows)]);
      await postgres.write(FORGET, [keptMs, most]);
    },
  };
}

const LOAD: Statement = {
  name: 'load run history',
  text: `
SELECT org, project, likeness, boot_ms::float8[], run_ms::float8[], teardown_ms::float8[]
FROM run_history ORDER BY time DESC LIMIT $1`,
};

/** Precondition: none. Result: these have these runs. */
const SAVE: Statement = {
  name: 'save run history',
  text: `
INSERT INTO run_history (org, project, likeness, boot_ms, run_ms, teardown_ms)
SELECT org, project, "like", boot, run, teardown
FROM json_to_recordset($1::json) AS g(org text, project text, "like" text, boot bigint[], run bigint[], teardown bigint[])
ON CONFLICT (org, project, likeness) DO UPDATE
SET boot_ms = excluded.boot_ms, run_ms = excluded.run_ms, teardown_ms = excluded.teardown_ms, time = now()`,
};

/** Precondition: none. Result: at most 1,000 more of those that are old, or beyond the newest $2, are gone. */
const FORGET: Statement = {
  name: 'forget run history',
  text: `
DELETE FROM run_history WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM run_history
  WHERE time < greatest(
    now() - $1::float8 * interval '1 millisecond',
    (SELECT time FROM run_history ORDER BY time DESC OFFSET $2::bigint - 1 LIMIT 1)
  )
  ORDER BY time LIMIT 1000
))`,
};
