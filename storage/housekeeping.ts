/**
 * Owns what the active process clears away from time to time: changes below the floor, expired Idempotency-Keys, old
 * events and deliveries. Nothing here is urgent: what fails is told and done again at the next round.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Postgres, Statement } from './postgres.js';
import { sweepDeliveries } from './webhooks/sweep.js';
import type { StoredResponses } from './responses.js';
import type { ChangesLog } from './store.js';

/** How often (ms). */
const EVERY = 60_000;
/** How long an event is kept after its last repeat (ms): 30 days. */
const EVENTS_KEPT = 30 * 24 * 3_600_000;
/** Rounds from one sweep of events and deliveries to the next: it reads the whole table, for an index on time would cost each write. */
const EVENTS_EACH = 60;
const REMOVED_AT_ONCE = 5_000;

export interface HousekeepingOptions {
  readonly postgres: Postgres;
  readonly changes: ChangesLog;
  readonly responses: StoredResponses;
  readonly every?: number | undefined;
  readonly eventsKept?: number | undefined;
  /** Milliseconds on Postgres's clock. */
  readonly now: () => number;
  /** The log's floor after a round. */
  onFloor(floor: number): void;
  onProblem(error: unknown): void;
}

/** Goes round until the signal ends it; the first round starts at once. Resolves when the last round has ended. */
export async function keepHouse(options: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  let rounds = EVENTS_EACH;
  while (!signal.aborted) {
    try {
      options.onFloor(await options.changes.compact());
      await options.responses.sweep();
      await sweepCredentials(options.postgres);
      if (rounds >= EVENTS_EACH) {
        await sweepEvents(options.postgres, options.eventsKept ?? EVENTS_KEPT);
        await sweepDeliveries(options.postgres, options.now());
        rounds = 0;
      }
      rounds += 1;
    } catch (error) {
      if (!signal.aborted) options.onProblem(error);
    }
    await sleep(options.every ?? EVERY, undefined, { signal, ref: false }).catch(() => {});
  }
}

async function sweepCredentials(postgres: Postgres): Promise<void> {
  let removed = REMOVED_AT_ONCE;
  while (removed === REMOVED_AT_ONCE) removed = await postgres.write(SWEEP_CREDENTIALS, [REMOVED_AT_ONCE]);
}

/** Precondition: none. Result: at most $1 of the credentials whose time is over are gone; none of them opened anything. */
const SWEEP_CREDENTIALS: Statement = {
  name: 'sweep credentials',
  text: `
DELETE FROM credentials WHERE sha256 IN (SELECT sha256 FROM credentials WHERE expires < now() LIMIT $1)`,
};

async function sweepEvents(postgres: Postgres, kept: number): Promise<void> {
  let removed = REMOVED_AT_ONCE;
  while (removed === REMOVED_AT_ONCE) removed = await postgres.write(SWEEP_EVENTS, [kept, REMOVED_AT_ONCE]);
}

/** Precondition: none. Result: at most $2 of the events whose last repeat is older than $1 ms are gone. */
const SWEEP_EVENTS: Statement = {
  name: 'sweep events',
  text: `
DELETE FROM events WHERE (uid, event, reason) IN (
  SELECT uid, event, reason FROM events
  WHERE last_time < now() - $1::float8 * interval '1 millisecond' ORDER BY last_time LIMIT $2
)`,
};
