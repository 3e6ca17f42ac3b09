/**
 * Finds the holds that a Budget binds since it was made or changed, for the process that holds the lease: those in its scope are renewed at
 * once, however long their money lasts, so that they have a part on it. That this is to be done stands in the Budget's row, from the
 * transaction that made or changed it until all are renewed. So nothing is lost in a crash: the next process begins anew.
 *
 * A hold that is placed or renewed behind that transaction knows of the Budget, so each hold is looked at once: an org's holds are gone through
 * by their keys, for all Budgets that were marked when that began; what is marked meanwhile has its turn afterwards.
 *
 * I10: at most MOST_BUDGETS at a time, the longest marked first, and so many holds of all orgs together as are asked for.
 */
import type { StandingBudget } from '../../src/money/limits.js';
import { isInScope } from '../../src/money/payer.js';
import type { Postgres, Statement } from '../postgres.js';
import type { DueHold, DueHolds } from './due-holds.js';
import { BUDGET_COLUMNS, budgetOf, holdOf, type BudgetRow } from './rows.js';

const MOST_BUDGETS = 100;

export interface ReboundHolds {
  readonly due: DueHolds;
  /** Precondition: these were renewed. Until then they are found again. */
  done(): Promise<void>;
}

/** Looks at `most` holds more. Rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export type FindRebound = (most: number) => Promise<ReboundHolds>;

interface Mark {
  readonly org: string;
  readonly uid: string;
  readonly rebindAt: number;
}

/** Through the holds of an org. */
interface Way {
  readonly org: string;
  readonly marks: readonly Mark[];
  readonly budgets: readonly StandingBudget[];
  /** Key of the last hold that is renewed. */
  readonly after: string;
}

const NOTHING: ReboundHolds = { due: new Map(), done: () => Promise.resolve() };

export function openReboundHolds(postgres: Pick<Postgres, 'readRows' | 'write'>): FindRebound {
  const ways = new Map<string, Way>();

  async function beginWays(): Promise<void> {
    const marked = await postgres.readRows<[rebindAt: number, ...BudgetRow]>(MARKED, [MOST_BUDGETS]);
    const byOrg = new Map<string, { mark: Mark; budget: StandingBudget }[]>();
    for (const [rebindAt, ...row] of marked) {
      const [org, uid] = row;
      byOrg.set(org, [...(byOrg.get(org) ?? []), { mark: { org, uid, rebindAt }, budget: budgetOf(row) }]);
    }
    for (const [org, of] of byOrg)
      if (!ways.has(org))
        ways.set(org, { org, after: '', marks: of.map(({ mark }) => mark), budgets: of.map(({ budget }) => budget) });
  }

  async function done(next: readonly Way[], ended: readonly Way[]): Promise<void> {
    for (const way of next) ways.set(way.org, way);
    const marks = ended.flatMap((way) => way.marks);
    if (marks.length > 0) await postgres.write(REBOUND, [JSON.stringify(marks)]);
    for (const { org } of ended) ways.delete(org);
  }

  return async (most) => {
    await beginWays();
    if (ways.size === 0) return NOTHING;
    // As they are now: of one that begins while the holds are read, none was looked at.
    const asked = new Map(ways);
    const each = Math.ceil(most / asked.size);
    const places = JSON.stringify([...asked.values()].map(({ org, after }) => ({ org, after })));
    const rows = await postgres.readRows<[org: string, format: number, body: string]>(HOLDS, [places, each]);
    const due = new Map<string, DueHold[]>();
    const seen = new Map<string, { count: number; last: string }>();
    for (const [org, format, body] of rows) {
      const { key, sequence, placedAt, owner, payer } = holdOf(format, body);
      seen.set(org, { count: (seen.get(org)?.count ?? 0) + 1, last: key });
      if (!asked.get(org)?.budgets.some((budget) => isInScope(payer, budget))) continue;
      due.set(org, [...(due.get(org) ?? []), { key, sequence, placedAt, owner, evenIfChanged: true }]);
    }
    const [next, ended]: [Way[], Way[]] = [[], []];
    for (const way of asked.values()) {
      const { count, last } = seen.get(way.org) ?? { count: 0, last: '' };
      if (count < each) ended.push(way);
      else next.push({ ...way, after: last });
    }
    return { due, done: () => done(next, ended) };
  };
}

const MARKED: Statement = {
  name: 'Budgets that bind anew',
  text: `
SELECT b.rebind_at, ${BUDGET_COLUMNS} FROM budgets b
WHERE b.rebind_at IS NOT NULL ORDER BY b.rebind_at, b.org, b.uid LIMIT $1`,
};

const HOLDS: Statement = {
  name: 'holds that are bound anew',
  text: `
SELECT w.org, h.format, h.body FROM json_to_recordset($1::json) AS w(org text, after text)
CROSS JOIN LATERAL (
  SELECT key, format, body FROM holds WHERE org = w.org AND key > w.after ORDER BY key LIMIT $2
) h ORDER BY w.org, h.key`,
};

/** One that was changed meanwhile keeps its mark. It waits for no row, since a commit would wait for it in turn: what it leaves is done again. */
const REBOUND: Statement = {
  name: 'Budgets that have bound',
  text: `
UPDATE budgets b SET rebind_at = NULL FROM (
  SELECT b.org, b.uid FROM json_to_recordset($1::json) AS m(org text, uid text, "rebindAt" bigint)
  JOIN budgets b ON (b.org, b.uid, b.rebind_at) = (m.org, m.uid, m."rebindAt")
  FOR NO KEY UPDATE OF b SKIP LOCKED
) f WHERE (b.org, b.uid) = (f.org, f.uid)`,
};
