/**
 * The rows of deliveries as the sender sees them: which are due, how attempts ended, what was given up, and how receivers
 * answer. Whole store, but for what begins with an org: only the leader sends.
 */
import type { Postgres, Statement } from '../postgres.js';

export type DeliveryPhase = 'Pending' | 'Succeeded' | 'Failed' | 'Abandoned';

/** A delivery that waits to be sent. */
export interface PendingDelivery {
  /** The webhook-id. */
  readonly id: string;
  readonly org: string;
  /** uid of the WebhookEndpoint. */
  readonly endpoint: string;
  readonly event: string;
  /** Attempts that have ended. */
  readonly attempts: number;
  /** When the time for attempts began (ms). */
  readonly time: number;
  readonly body: string;
}

/** What an attempt came to, or that there will be none. */
export interface Settlement {
  readonly id: string;
  /** Attempts before it: a row that has moved on since is left alone. */
  readonly before: number;
  readonly phase: DeliveryPhase;
  /** Absent: there was no attempt. */
  readonly attempt?:
    | {
        /** ms since the epoch at its end. */
        readonly at: number;
        /** HTTP status; 0 when there was no response. */
        readonly status: number;
        readonly durationMs: number;
        readonly error?: string | undefined;
      }
    | undefined;
  /** When the next attempt is due (ms); with phase Pending only. */
  readonly due?: number | undefined;
}

/** How the receiver of one endpoint answers. */
export interface ReceiverSummary {
  readonly endpoint: string;
  /** The latest attempt of each of the latest deliveries, newest delivery first, at most three. */
  readonly recent: readonly { readonly succeeded: boolean; readonly time: number }[];
  /** Of the last 24 hours, to within ten minutes. */
  readonly succeeded: number;
  readonly failed: number;
}

export interface DueLimit {
  readonly rows: number;
  /** Of bodies; the first row comes whatever its size. */
  readonly characters: number;
}

export interface DuePage {
  readonly deliveries: readonly PendingDelivery[];
  /** Endpoints that may have more due than the limit let through. */
  readonly cut: ReadonlySet<string>;
}

export interface Deliveries {
  /** Due ones of each of these endpoints, the longest due first, without those that are known. `limit` is for each endpoint. */
  due(endpoints: readonly string[], known: readonly string[], limit: DueLimit): Promise<DuePage>;
  /** Endpoints for which something is overdue by `graceMs`, in the order of their uids, those behind `after`. */
  overdue(graceMs: number, limit: number, after?: string): Promise<readonly string[]>;
  recordResults(results: readonly Settlement[]): Promise<void>;
  /** What is pending of events up to this version is given up. */
  abandon(org: string, endpoint: string, version: number): Promise<void>;
  summarise(endpoints: readonly string[]): Promise<readonly ReceiverSummary[]>;
}

/** Rows that one statement gives up: a few hundred ms at most. */
const ABANDONED_AT_ONCE = 5_000;

type DueRow = [string, string, string, string, number, number, string | null];
type SummaryRow = [string, { succeeded: boolean; time: number }[] | null, number, number];

export function openDeliveries(postgres: Postgres): Deliveries {
  let abandoning: Promise<void> = Promise.resolve();

  async function abandonAll(org: string, endpoint: string, version: number): Promise<void> {
    let given = ABANDONED_AT_ONCE;
    while (given === ABANDONED_AT_ONCE) {
      given = await postgres.write(ABANDON, [org, endpoint, version, ABANDONED_AT_ONCE]);
    }
  }

  return {
    async due(endpoints, known, limit) {
      const rows = await postgres.readRows<DueRow>(DUE, [
        endpoints,
        known,
        limit.rows + 1,
        limit.rows,
        limit.characters,
      ]);
      const deliveries: PendingDelivery[] = [];
      const cut = new Set<string>();
      for (const [id, org, endpoint, event, attempts, time, body] of rows) {
        if (body === null) cut.add(endpoint);
        else deliveries.push({ id, org, endpoint, event, attempts, time, body });
      }
      return { deliveries, cut };
    },
    async overdue(graceMs, limit, after = '') {
      const rows = await postgres.readRows<[string]>(OVERDUE, [graceMs, limit, after]);
      return rows.map(([endpoint]) => endpoint);
    },
    async recordResults(results) {
      const rows = results.map(({ id, before, phase, attempt, due }) => ({
        ...{ id, before, phase, due, attempts: before + (attempt === undefined ? 0 : 1) },
        ...{ at: attempt?.at, status: attempt?.status, duration: attempt?.durationMs, error: attempt?.error },
      }));
      await postgres.write(RECORD_RESULTS, [JSON.stringify(rows)]);
    },
    abandon(org, endpoint, version) {
      // One after the other: a collection of endpoints that is deleted must not take the connections of everybody else.
      const done = abandoning.then(() => abandonAll(org, endpoint, version));
      abandoning = done.catch(() => undefined);
      return done;
    },
    async summarise(endpoints) {
      const rows = await postgres.readRows<SummaryRow>(SUMMARISE, [endpoints]);
      return rows.map(([endpoint, recent, succeeded, failed]) => ({
        ...{ endpoint, recent: recent ?? [], succeeded, failed },
      }));
    },
  };
}

const DUE: Statement = {
  name: 'due deliveries',
  text: `
SELECT d.id, d.org, d.endpoint, d.event, d.attempts, round(extract(epoch FROM d.time) * 1000)::float8,
       CASE WHEN d.place = 1 OR (d.place <= $4 AND d.size <= $5) THEN d.body END
FROM unnest($1::text[]) AS e(endpoint)
CROSS JOIN LATERAL (
  SELECT *, row_number() OVER due AS place, sum(octet_length(body)) OVER due AS size FROM (
    SELECT * FROM deliveries
    WHERE endpoint = e.endpoint AND phase = 'Pending' AND due_at <= now() AND id <> ALL($2::text[])
    ORDER BY due_at LIMIT $3
  ) AS first WINDOW due AS (ORDER BY due_at, id)
) AS d`,
};

/** Hops from endpoint to endpoint, so that its cost is theirs and not that of everything that waits. */
const OVERDUE: Statement = {
  name: 'overdue endpoints',
  text: `
WITH RECURSIVE e AS (
  (SELECT endpoint FROM deliveries WHERE phase = 'Pending' AND endpoint > $3 ORDER BY endpoint LIMIT 1)
  UNION ALL
  SELECT (SELECT d.endpoint FROM deliveries d WHERE d.phase = 'Pending' AND d.endpoint > e.endpoint
          ORDER BY d.endpoint LIMIT 1)
  FROM e WHERE e.endpoint IS NOT NULL
)
SELECT e.endpoint FROM e
WHERE e.endpoint IS NOT NULL AND EXISTS (
  SELECT FROM deliveries d
  WHERE d.endpoint = e.endpoint AND d.phase = 'Pending' AND d.due_at <= now() - $1::float8 * interval '1 millisecond'
)
ORDER BY e.endpoint LIMIT $2`,
};

/**
 * Precondition: the row is Pending and has had as many attempts as the sender knew of; others are left alone.
 * Result: its attempt is noted and its phase set; ends are counted in their ten minutes. Rows are locked in the order of their keys, as
 * by all that locks several: statements at the same time wait for each other and not in a circle.
 */
const RECORD_RESULTS: Statement = {
  name: 'record delivery results',
  text: `
WITH given AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json)
    AS g(id text, before int, phase text, attempts int, due float8, at float8, status int, duration int, error text)
), locked AS MATERIALIZED (
  SELECT d.id FROM deliveries d JOIN given g ON d.id = g.id ORDER BY d.id FOR UPDATE OF d
), recorded AS (
  UPDATE deliveries d
  SET phase = g.phase, attempts = g.attempts, due_at = coalesce(to_timestamp(g.due / 1000), d.due_at),
      attempted_at = coalesce(to_timestamp(g.at / 1000), d.attempted_at), status = coalesce(g.status, d.status),
      duration_ms = coalesce(g.duration, d.duration_ms),
      error = CASE WHEN g.at IS NULL THEN d.error ELSE g.error END
  FROM given g JOIN locked l ON l.id = g.id
  WHERE d.id = l.id AND d.phase = 'Pending' AND d.attempts = g.before
  RETURNING d.endpoint, d.phase
)
INSERT INTO delivery_counts AS c (endpoint, since, succeeded, failed)
SELECT endpoint, date_bin('10 minutes', now(), 'epoch'), count(*) FILTER (WHERE phase = 'Succeeded'),
       count(*) FILTER (WHERE phase = 'Failed')
FROM recorded WHERE phase IN ('Succeeded', 'Failed') GROUP BY endpoint ORDER BY endpoint
ON CONFLICT (endpoint, since) DO UPDATE
SET succeeded = c.succeeded + excluded.succeeded, failed = c.failed + excluded.failed`,
};

/** Precondition: none. Result: at most $4 of the endpoint's pending deliveries of events up to version $3 are Abandoned. */
const ABANDON: Statement = {
  name: 'abandon deliveries',
  text: `
UPDATE deliveries SET phase = 'Abandoned'
WHERE id IN (
  SELECT id FROM deliveries
  WHERE endpoint = $2 AND org = $1 AND phase = 'Pending' AND version <= $3 ORDER BY id LIMIT $4 FOR UPDATE
) AND phase = 'Pending'`,
};

const SUMMARISE: Statement = {
  name: 'summary of endpoints',
  text: `
SELECT e.endpoint, r.recent, c.succeeded::float8, c.failed::float8
FROM unnest($1::text[]) AS e(endpoint)
CROSS JOIN LATERAL (
  SELECT json_agg(json_build_object('succeeded', d.phase = 'Succeeded',
                                    'time', round(extract(epoch FROM d.attempted_at) * 1000)) ORDER BY d.id DESC) AS recent
  FROM (
    SELECT id, phase, attempted_at FROM deliveries
    WHERE endpoint = e.endpoint AND attempts > 0 ORDER BY id DESC LIMIT 3
  ) AS d
) AS r
CROSS JOIN LATERAL (
  SELECT coalesce(sum(succeeded), 0) AS succeeded, coalesce(sum(failed), 0) AS failed
  FROM delivery_counts WHERE endpoint = e.endpoint AND since > now() - interval '24 hours'
) AS c`,
};
