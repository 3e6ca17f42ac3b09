/** The log of an endpoint's deliveries as its owners see it: pages, the newest first, and sending one again. */
import type { Postgres, Statement } from '../postgres.js';
import type { DeliveryPhase } from './deliveries.js';
import { deliveryId } from './ids.js';

export interface DeliveryEntry {
  readonly id: string;
  readonly eventType: string;
  readonly phase: DeliveryPhase;
  /** Attempts that have ended. */
  readonly attempts: number;
  /** ms since the epoch: of the event, or of the replay. */
  readonly time: number;
  /** Of the latest attempt: HTTP status (0: no response), how long it took, when it ended, what went wrong. */
  readonly statusCode?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly attemptTime?: number | undefined;
  readonly error?: string | undefined;
  /** When it is tried next; while it is pending. */
  readonly nextAttemptTime?: number | undefined;
  readonly replayOf?: string | undefined;
}

export interface DeliveryLog {
  /** Behind `after` (an id), the newest first. */
  list(org: string, endpoint: string, after: string | undefined, limit: number): Promise<readonly DeliveryEntry[]>;
  /**
   * The same body again, under a new id. `once` tells repeats of one request from another: the same gives the same id.
   * Undefined: there is no such delivery.
   */
  replay(org: string, endpoint: string, id: string, once: string, now: number): Promise<DeliveryEntry | undefined>;
}

type Row = [
  id: string,
  event: string,
  phase: DeliveryPhase,
  attempts: number,
  time: Date,
  status: number | null,
  duration: number | null,
  attempted: Date | null,
  error: string | null,
  due: Date,
  replayOf: string | null,
];

export function openDeliveryLog(postgres: Postgres): DeliveryLog {
  return {
    async list(org, endpoint, after, limit) {
      const rows = await postgres.readRows<Row>(LIST, [org, endpoint, after ?? null, limit]);
      return rows.map(toEntry);
    },
    async replay(org, endpoint, id, once, now) {
      const [row] = await postgres.readRows<Row>(REPLAY, [org, endpoint, id, deliveryId(now, [id, once])]);
      return row && toEntry(row);
    },
  };
}

function toEntry([id, event, phase, attempts, time, status, duration, attempted, error, due, replayOf]: Row) {
  return {
    ...{ id, eventType: event, phase, attempts, time: time.getTime() },
    ...{ statusCode: status ?? undefined, durationMs: duration ?? undefined, attemptTime: attempted?.getTime() },
    ...{ error: error ?? undefined, replayOf: replayOf ?? undefined },
    nextAttemptTime: phase === 'Pending' ? due.getTime() : undefined,
  };
}

const COLUMNS = 'id, event, phase, attempts, time, status, duration_ms, attempted_at, error, due_at, replay_of';

const LIST: Statement = {
  name: 'deliveries of endpoint',
  text: `
SELECT ${COLUMNS} FROM deliveries
WHERE org = $1 AND endpoint = $2 AND ($3::text IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
};

/** Precondition: delivery $3 is in the log. Result: a pending one with its body and id $4, due now. */
const REPLAY: Statement = {
  name: 'replay delivery',
  text: `
INSERT INTO deliveries (id, org, endpoint, version, event, time, due_at, replay_of, body)
SELECT $4, org, endpoint, (SELECT version FROM clock), event, now(), now(), id, body
FROM deliveries WHERE org = $1 AND endpoint = $2 AND id = $3
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING ${COLUMNS}`,
};
