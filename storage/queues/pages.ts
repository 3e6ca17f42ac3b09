/** Reads many due timers in pages, soonest first, without a cursor in the store. */
import type { Pending, StoredTimer } from '../store.js';

/** Rows per page: one round trip, a few milliseconds of work. */
export const PAGE = 500;
/** Rows of one millisecond that are read together at most; what is beyond waits for its turn in a later sweep. */
const MOST_IN_ONE_MS = 8_000;

export async function* duePages(
  store: Pick<Pending, 'timersDue'>,
  from: number,
  before: number,
): AsyncGenerator<readonly StoredTimer[]> {
  let at = from;
  let limit = PAGE;
  for (;;) {
    const rows = await store.timersDue(before, limit, at);
    const last = rows.at(-1);
    if (last === undefined) return;
    const full = rows.length >= limit;
    if (full && last.at === at && limit < MOST_IN_ONE_MS) {
      limit *= 2;
      continue;
    }
    yield rows;
    if (!full) return;
    // The next page begins with the rows of this very millisecond again: they are known by their ids.
    at = last.at === at ? at + 1 : last.at;
    limit = PAGE;
  }
}
