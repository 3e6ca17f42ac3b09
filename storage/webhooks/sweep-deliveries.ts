/** Removes what is past its time of deliveries: the log after 7 days, and counts that no longer count. */
import type { Postgres, Statement } from '../postgres.js';
import { deliveryIdFrom } from './ids.js';

/** Source: spec, "Delivery rules" 4. */
export const DELIVERIES_KEPT_MS = 7 * 24 * 3_600_000;
const REMOVED_AT_ONCE = 5_000;

/** Ids are in the order of time, so that the old ones are found where the index begins. */
export async function sweepDeliveries(postgres: Postgres, now: number, signal: AbortSignal): Promise<void> {
  const before = deliveryIdFrom(now - DELIVERIES_KEPT_MS);
  let removed = REMOVED_AT_ONCE;
  while (removed === REMOVED_AT_ONCE && !signal.aborted)
    removed = await postgres.write(SWEEP, [before, REMOVED_AT_ONCE]);
  removed = REMOVED_AT_ONCE;
  while (removed === REMOVED_AT_ONCE && !signal.aborted)
    removed = await postgres.write(SWEEP_COUNTS, [REMOVED_AT_ONCE]);
}

/** Precondition: none. Result: at most $2 of the deliveries before $1 that have ended are gone. */
const SWEEP: Statement = {
  name: 'sweep deliveries',
  text: `
DELETE FROM deliveries WHERE id IN (
  SELECT id FROM deliveries WHERE id < $1 AND phase <> 'Pending' ORDER BY id LIMIT $2 FOR UPDATE
)`,
};

/** Precondition: none. Result: at most $1 of the counts of more than a day ago are gone. */
const SWEEP_COUNTS: Statement = {
  name: 'sweep delivery counts',
  text: `
DELETE FROM delivery_counts WHERE (endpoint, since) IN (
  SELECT endpoint, since FROM delivery_counts WHERE since < now() - interval '25 hours' LIMIT $1
)`,
};
