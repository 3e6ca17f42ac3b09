/**
 * What the status of objects shows of the ledger: counters that have changed since they were shown, with the holds that count in them, and
 * thresholds whose notice was not sent. Bounded in rows, whole store.
 */
import type { Counter } from '../../src/money/book.js';
import { costCounter } from '../../src/money/counters.js';
import type { Hold } from '../../src/money/hold.js';
import type { CostOwner } from '../../src/money/payer.js';
import type { Postgres, Statement } from '../postgres.js';
import { counterOf, COUNTER_COLUMNS, holdOf, type CounterRow } from './rows.js';

export interface CounterName {
  readonly org: string;
  readonly counter: string;
}

export interface ChangedCounter {
  readonly org: string;
  readonly counter: Counter;
  readonly revision: number;
  /** Whose status shows it: an object that costs, or a Budget that is there. */
  readonly owner?: CostOwner | undefined;
  /** It is why a renewal got nothing the last time. */
  readonly refusing: boolean;
}

export type ShownCounter = CounterName & { readonly revision: number };

export interface ReachedThreshold {
  readonly org: string;
  /** uid of the Budget. */
  readonly budget: string;
  /** Absent: the Budget is gone. */
  readonly name?: string | undefined;
  /** A month, or `total`. */
  readonly period: string;
  readonly threshold: number;
}

export interface ChangedQuery {
  /** Behind this one, by org and name. */
  readonly after: CounterName;
  readonly limit: number;
  /** Counters with holds are left out when they were shown after this (ms): those of Budgets, and those of other objects. */
  readonly budgetsShownBefore: number;
  readonly objectsShownBefore: number;
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface ProjectionRows {
  /** In the order of org and name. The wallet's are none: nothing shows them. */
  changed(query: ChangedQuery): Promise<readonly ChangedCounter[]>;
  /** These, changed or not. */
  named(names: readonly CounterName[]): Promise<readonly ChangedCounter[]>;
  /** Their status has these revisions since `now` (ms). One that is being written meanwhile is left as it is. */
  shown(counters: readonly ShownCounter[], now: number): Promise<void>;
  /** Holds that bill and count in what these objects cost, each with the uids of those that it counts in; at most `limit`. */
  holdsOf(owners: readonly { readonly org: string; readonly uid: string }[], limit: number): Promise<readonly Hold[]>;
  unnoticed(limit: number): Promise<readonly ReachedThreshold[]>;
  /** Their notices have arrived. */
  noticed(thresholds: readonly ReachedThreshold[]): Promise<void>;
}

export function openProjectionRows(postgres: Postgres): ProjectionRows {
  return {
    async changed({ after, limit, budgetsShownBefore, objectsShownBefore }) {
      const values = [after.org, after.counter, budgetsShownBefore, objectsShownBefore, limit];
      return (await postgres.readRows<ChangedRow>(CHANGED, values)).map(changedOf);
    },
    async named(names) {
      if (names.length === 0) return [];
      return (await postgres.readRows<ChangedRow>(NAMED, [JSON.stringify(names)])).map(changedOf);
    },
    async shown(counters, now) {
      if (counters.length > 0) await postgres.write(SHOWN, [JSON.stringify(counters), now]);
    },
    async holdsOf(owners, limit) {
      if (owners.length === 0) return [];
      const asked = owners.map(({ org, uid }) => ({ org, uid, counter: costCounter(uid) }));
      const rows = await postgres.readRows<[number, string]>(HOLDS_OF, [JSON.stringify(asked), limit]);
      return rows.map(([format, body]) => holdOf(format, body));
    },
    async unnoticed(limit) {
      const rows = await postgres.readRows<[string, string, string | null, string, number]>(UNNOTICED, [limit]);
      return rows.map(([org, budget, name, period, threshold]) => ({
        ...{ org, budget, period, threshold, name: name ?? undefined },
      }));
    },
    async noticed(thresholds) {
      if (thresholds.length > 0) await postgres.write(NOTICED, [JSON.stringify(thresholds)]);
    },
  };
}

type ChangedRow = [CounterRow[0], ...CounterTail, revision: number, owner: CostOwner | null, refusing: boolean];
type CounterTail = CounterRow extends [string, ...infer Tail] ? Tail : never;

function changedOf(row: ChangedRow): ChangedCounter {
  const [revision, owner, refusing] = row.slice(-3) as [number, CostOwner | null, boolean];
  const counter = counterOf(row.slice(0, -3) as unknown as CounterRow);
  return { org: row[0], counter, revision, refusing, owner: owner ?? undefined };
}

/** The name of a Budget is in its own row, since it may be another's after a restore; that of another object is fixed by its uid. */
const COLUMNS = `${COUNTER_COLUMNS}, c.revision,
  coalesce(c.owner, CASE WHEN c.counter LIKE 'budget/%' THEN (
    SELECT jsonb_build_object('uid', b.uid, 'kind', 'Budget', 'project', '', 'name', b.name)
    FROM budgets b WHERE b.org = c.org AND b.uid = split_part(c.counter, '/', 2)
  ) END),
  EXISTS (SELECT FROM holds h WHERE h.org = c.org AND h.refused_by = c.counter)`;

const CHANGED: Statement = {
  name: 'changed counters',
  text: `
SELECT ${COLUMNS} FROM counters c
WHERE c.revision <> c.shown AND (c.org, c.counter) > ($1, $2) AND c.counter <> 'wallet'
  AND (c.holders = 0 OR c.shown_at <= CASE WHEN c.counter LIKE 'budget/%' THEN $3::bigint ELSE $4::bigint END)
ORDER BY c.org, c.counter LIMIT $5`,
};

const NAMED: Statement = {
  name: 'counters by name',
  text: `
SELECT ${COLUMNS} FROM json_to_recordset($1::json) AS g(org text, counter text)
JOIN counters c ON (c.org, c.counter) = (g.org, g.counter)`,
};

/**
 * Precondition: none. Result: counters that are still at these revisions are not read again; others are. It waits for no row: a commit that
 * waited for it in turn would hold up all others, and a row that is being written is to be read again anyway.
 */
const SHOWN: Statement = {
  name: 'counters shown',
  text: `
UPDATE counters c SET shown = f.seen, shown_at = $2::bigint FROM (
  SELECT c.org, c.counter, g.revision AS seen
  FROM json_to_recordset($1::json) AS g(org text, counter text, revision bigint)
  JOIN counters c ON (c.org, c.counter) = (g.org, g.counter)
  FOR NO KEY UPDATE OF c SKIP LOCKED
) f WHERE (c.org, c.counter) = (f.org, f.counter)`,
};

/** What has no time of renewal bills nothing. */
const HOLDS_OF: Statement = {
  name: 'holds that count in objects',
  text: `
WITH g AS MATERIALIZED (SELECT * FROM json_to_recordset($1::json) AS g(org text, uid text, counter text))
SELECT format, body FROM (
  SELECT h.org, h.key, h.format, h.body FROM g JOIN holds h ON h.uid = g.uid AND h.org = g.org WHERE h.renew_at IS NOT NULL
  UNION
  SELECT h.org, h.key, h.format, h.body FROM g JOIN holds h ON h.org = g.org AND h.counters[2] = g.counter
  WHERE h.counters[2] LIKE 'cost/%' AND h.renew_at IS NOT NULL
  UNION
  SELECT h.org, h.key, h.format, h.body FROM g JOIN holds h ON h.org = g.org AND h.counters[3] = g.counter
  WHERE h.counters[3] LIKE 'cost/%' AND h.renew_at IS NOT NULL
) AS found LIMIT $2`,
};

const UNNOTICED: Statement = {
  name: 'unnoticed thresholds',
  text: `
SELECT t.org, t.budget, b.name, t.period, t.threshold
FROM thresholds t LEFT JOIN budgets b ON (b.org, b.uid) = (t.org, t.budget)
WHERE NOT t.noticed ORDER BY t.org, t.budget, t.period, t.threshold LIMIT $1`,
};

/** Precondition: none. Result: these need no notice any more. */
const NOTICED: Statement = {
  name: 'noticed thresholds',
  text: `
UPDATE thresholds t SET noticed = true
FROM json_to_recordset($1::json) AS g(org text, budget text, period text, threshold int)
WHERE (t.org, t.budget, t.period, t.threshold) = (g.org, g.budget, g.period, g.threshold)`,
};
