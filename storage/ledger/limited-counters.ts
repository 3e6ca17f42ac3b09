/**
 * How much is free on counters that have refused a hold, for the process that holds the lease: so it knows what may be tried again. Reads by
 * key on a read connection; only the commit decides about money (I7).
 */
import { amountOfHold } from '../../src/money/hold.js';
import { needOf } from '../../src/money/renewal.js';
import { USD } from '../../src/money/usd.js';
import type { Postgres, Statement } from '../postgres.js';
import type { DueHold } from './due-holds.js';
import type { CounterName } from './projection.js';
import { holdOf } from './rows.js';

export interface CounterRoom extends CounterName {
  /** All that was ever there for it. Absent: nothing limits the counter. */
  readonly limitUSD?: string | undefined;
  /** Below zero: more is spent and held than the limit. */
  readonly availableUSD: string;
  /** Given back when the work that holds it ends. */
  readonly heldUSD: string;
}

export interface RefusedHold extends DueHold, CounterName {
  /** It is renewed for the next unit once at least so much more is free. */
  readonly lacksUSD: string;
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface LimitedCounters {
  /** One for each name. */
  rooms(names: readonly CounterName[]): Promise<readonly CounterRoom[]>;
  /** Counters that refused the last renewal of a hold, behind `after` by org and name; at most `limit`. */
  refusing(after: CounterName, limit: number): Promise<readonly CounterName[]>;
  /** Holds whose last renewal was refused by these counters, at most `limit`; those that end first come first. */
  refusedBy(names: readonly CounterName[], limit: number): Promise<readonly RefusedHold[]>;
}

export function openLimitedCounters(postgres: Postgres): LimitedCounters {
  return {
    async rooms(names) {
      if (names.length === 0) return [];
      const rows = await postgres.readRows<RoomRow>(ROOMS, [JSON.stringify(names)]);
      return rows.map(([org, counter, limitUSD, spent, heldUSD]) => {
        const availableUSD = new USD(limitUSD ?? 0).minus(spent).minus(heldUSD).toFixed();
        return { org, counter, limitUSD: limitUSD ?? undefined, availableUSD, heldUSD };
      });
    },
    async refusing({ org, counter }, limit) {
      const rows = await postgres.readRows<[string, string]>(REFUSING, [org, counter, limit]);
      return rows.map(([of, name]) => ({ org: of, counter: name }));
    },
    async refusedBy(names, limit) {
      if (names.length === 0) return [];
      const rows = await postgres.readRows<[string, number, string]>(REFUSED_BY, [JSON.stringify(names), limit]);
      return rows.map(([org, format, body]) => {
        const hold = holdOf(format, body);
        const { key, sequence, placedAt, owner, refusal } = hold;
        // Of the time when it was refused: what it has used since is missing as well.
        const lacksUSD = USD.max(0, needOf(hold)(1).minus(amountOfHold(hold))).toFixed();
        return { org, counter: refusal?.counter ?? '', key, sequence, placedAt, owner, lacksUSD };
      });
    },
  };
}

type RoomRow = [org: string, counter: string, limit: string | null, spent: string, held: string];

/** Of the wallet of an org that pays in advance: its balance and all that was spent. */
const ROOMS: Statement = {
  name: 'room on counters',
  text: `
SELECT g.org, g.counter,
  CASE
    WHEN g.counter LIKE 'budget/%' THEN (
      SELECT b.limit_usd FROM budgets b
      WHERE b.org = g.org AND b.uid = split_part(g.counter, '/', 2) AND b.action = 'Block'
    )
    WHEN g.counter LIKE 'cost/%' THEN (
      SELECT p.limit_usd FROM caps p WHERE p.org = g.org AND p.uid = substr(g.counter, 6)
    )
    ELSE (
      -- While a payment is disputed nothing more is free.
      SELECT CASE WHEN o.disputed THEN coalesce(c.spent_usd, 0) + coalesce(c.held_usd, 0) ELSE o.wallet_usd + coalesce(c.spent_usd, 0) + coalesce((
        SELECT sum(r.remaining_usd) FROM grants r WHERE r.org = g.org AND r.remaining_usd > 0
      ), 0) END
      FROM money_orgs o WHERE o.org = g.org AND o.mode = 'Prepaid'
    )
  END::text,
  coalesce(c.spent_usd, 0)::text, coalesce(c.held_usd, 0)::text
FROM json_to_recordset($1::json) AS g(org text, counter text)
LEFT JOIN counters c ON (c.org, c.counter) = (g.org, g.counter)`,
};

const REFUSING: Statement = {
  name: 'refusing counters',
  text: `
SELECT DISTINCT org, refused_by FROM holds
WHERE refused_by IS NOT NULL AND (org, refused_by) > ($1, $2)
ORDER BY org, refused_by LIMIT $3`,
};

const REFUSED_BY: Statement = {
  name: 'holds refused by counters',
  text: `
SELECT h.org, h.format, h.body FROM json_to_recordset($1::json) AS g(org text, counter text)
JOIN holds h ON h.org = g.org AND h.refused_by = g.counter
WHERE h.refused_by IS NOT NULL ORDER BY h.renew_at LIMIT $2`,
};
