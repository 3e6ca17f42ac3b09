/**
 * Turns recorded events into deliveries: reads the outbox in the order of commits, and in one statement removes
 * rows and writes the deliveries that were made of them. Whole store: only the leader does it.
 */
import type { Postgres, Statement } from '../postgres.js';

/** One occurrence of an event. */
export interface OutboxRow {
  readonly position: number;
  /** Version of the commit that emitted it. */
  readonly version: number;
  /** ms since the epoch. */
  readonly time: number;
  readonly org: string;
  readonly kind: string;
  readonly project: string;
  readonly name: string;
  readonly uid: string;
  readonly event: string;
  readonly reason: string;
  readonly message: string;
  /** JSON text of what a webhook shows of the status. */
  readonly status: string;
  readonly count: number;
}

/** What became of one row: its body, and a delivery of it to each of these endpoints. */
export interface Dispatch {
  readonly row: OutboxRow;
  readonly body: string;
  readonly deliveries: readonly { readonly id: string; readonly endpoint: string }[];
}

export interface Outbox {
  /** Oldest first, of commits up to version `through`. */
  take(through: number, limit: number): Promise<readonly OutboxRow[]>;
  /** The ids that were written; none when `epoch` no longer holds the lease (I3) or the rows are gone already. */
  dispatch(epoch: number, dispatches: readonly Dispatch[]): Promise<ReadonlySet<string>>;
}

type Row = [number, number, number, string, string, string, string, string, string, string, string, string, number];

/** Rows of one org in one read. */
const OF_AN_ORG = 100;

export function openOutbox(postgres: Postgres): Outbox {
  return {
    async take(through, limit) {
      const rows = await postgres.readRows<Row>(TAKE, [through, limit, OF_AN_ORG]);
      return rows.map(toRow);
    },
    async dispatch(epoch, dispatches) {
      const events = dispatches.map(({ row, body }) => ({
        ...{ position: row.position, org: row.org, version: row.version, event: row.event, time: row.time, body },
      }));
      const deliveries = dispatches.flatMap(({ row, deliveries: made }) =>
        made.map((delivery) => ({ position: row.position, ...delivery })),
      );
      const positions = events.map(({ position }) => position);
      const given = [epoch, positions, JSON.stringify(events), JSON.stringify(deliveries)];
      const rows = await postgres.readRows<[string]>(DISPATCH, given);
      return new Set(rows.map(([id]) => id));
    },
  };
}

function toRow(row: Row): OutboxRow {
  const [position, version, time, org, kind, project, name, uid, event, reason, message, status, count] = row;
  return { position, version, time, org, kind, project, name, uid, event, reason, message, status, count };
}

/** Hops from org to org, and takes the oldest of each in turns: of one org in the order of commits. */
const TAKE: Statement = {
  name: 'outbox',
  text: `
WITH RECURSIVE o AS (
  (SELECT org FROM event_outbox ORDER BY org LIMIT 1)
  UNION ALL
  SELECT (SELECT e.org FROM event_outbox e WHERE e.org > o.org ORDER BY e.org LIMIT 1) FROM o WHERE o.org IS NOT NULL
)
SELECT r.position, r.version, round(extract(epoch FROM r.time) * 1000)::float8, r.org, r.kind, r.project, r.name, r.uid,
       r.event, r.reason, r.message, r.status, r.count
FROM o CROSS JOIN LATERAL (
  SELECT *, row_number() OVER (ORDER BY position) AS place FROM (
    SELECT * FROM event_outbox e WHERE e.org = o.org AND e.version <= $1 ORDER BY position LIMIT least($2::bigint, $3::bigint)
  ) AS oldest
) AS r
WHERE o.org IS NOT NULL ORDER BY r.place, r.position LIMIT $2`,
};

/**
 * Precondition: epoch $1 holds the lease. Result: the rows at positions $2 are gone; each delivery of $4 whose row was
 * still there is pending and due now, with the event of $3. Answers the ids of those.
 */
const DISPATCH: Statement = {
  name: 'dispatch',
  text: `
WITH taken AS (
  DELETE FROM event_outbox
  WHERE position = ANY($2::bigint[]) AND EXISTS (SELECT FROM clock WHERE epoch = $1)
  RETURNING position
), events AS MATERIALIZED (
  SELECT * FROM json_to_recordset($3::json)
    AS e(position bigint, org text, version bigint, event text, time float8, body text)
)
INSERT INTO deliveries (id, org, endpoint, version, event, time, due_at, body)
SELECT d.id, e.org, d.endpoint, e.version, e.event, to_timestamp(e.time / 1000), now(), e.body
FROM taken
JOIN events e ON e.position = taken.position
JOIN json_to_recordset($4::json) AS d(position bigint, id text, endpoint text) ON d.position = e.position
ON CONFLICT (id) DO NOTHING
RETURNING id`,
};
