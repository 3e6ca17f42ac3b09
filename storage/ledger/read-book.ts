/**
 * Reads what operations touch, of each org, in one pipelined turn. Precondition: the clock row is locked, so what is read is true until
 * the commit, and Postgres's clock of that turn is the time of all of them.
 */
import type { BookState, CorrectedPosting, Counter, Grant, MonthUsage } from '../../src/money/book.js';
import { clawbackOnce, correctionOnce } from '../../src/money/apply.js';
import { COST, costCounter, WALLET } from '../../src/money/counters.js';
import type { Hold, Segment } from '../../src/money/hold.js';
import type { StandingBudget, WalletMode } from '../../src/money/limits.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import { USD, ZERO } from '../../src/money/usd.js';
import type { Session } from '../commit/session.js';
import {
  BUDGET_COLUMNS,
  budgetOf,
  counterOf,
  COUNTER_COLUMNS,
  grantOf,
  holdOf,
  type BudgetRow,
  type CounterRow,
  type GrantRow,
} from './rows.js';

/** One org's operations, and the uids of its objects that are deleted beside them. */
export interface LedgerNeeds {
  readonly org: string;
  readonly operations: readonly MoneyOperation[];
  readonly deleted?: string | undefined;
}

export interface LedgerBooks {
  /** ms on Postgres's clock. */
  readonly now: number;
  readonly books: ReadonlyMap<string, BookState>;
}

/** Everything is sent before the first answer is awaited. */
export async function readBooks(session: Pick<Session, 'rows'>, needs: readonly LedgerNeeds[]): Promise<LedgerBooks> {
  const keys = keysOf(needs);
  const json = (of: readonly unknown[]): string => JSON.stringify(of);
  const { orgs } = keys;
  const [modes, budgets, holds, counters, grants, once, usage, corrected] = await Promise.all([
    session.rows<OrgRow>('ledger orgs', () => ORGS, [orgs]),
    session.rows<BudgetRow>('ledger budgets', () => BUDGETS, [orgs]),
    session.rows<[string, number, string]>('ledger holds', () => HOLDS, [json(keys.holds), json(keys.deleted)]),
    session.rows<LimitedRow>('ledger counters', () => COUNTERS, [
      ...[json(keys.holds), json(keys.deleted), json(keys.counters), orgs, json(keys.budgets)],
    ]),
    session.rows<GrantRow>('ledger grants', () => GRANTS, [orgs, json(keys.grants)]),
    keys.once.length === 0 ? [] : session.rows<[string, string]>('ledger once', () => ONCE, [json(keys.once)]),
    keys.begun.length === 0
      ? []
      : session.rows<UsageRow>('ledger month usage', () => MONTH_USAGE, [keys.begun.map(({ org }) => org)]),
    keys.corrected.length === 0
      ? []
      : session.rows<CorrectedRow>('ledger corrected', () => CORRECTED, [json(keys.corrected)]),
  ]);

  const books = new Map(orgs.map((org) => [org, emptyState()]));
  const of = (org: string): State => books.get(org) ?? emptyState();
  for (const [, org, mode, sequence, wallet, disputed] of modes) {
    if (org === null) continue;
    of(org).mode = mode ?? 'Unlimited';
    of(org).modeSequence = sequence ?? 0;
    of(org).walletUSD = new USD(wallet ?? 0);
    of(org).disputed = disputed ?? false;
  }
  for (const row of budgets) of(row[0]).budgets.set(row[1], budgetOf(row));
  for (const [org, format, body] of holds) {
    const hold = holdOf(format, body);
    of(org).holds.set(hold.key, hold);
  }
  for (const [org, name, limit, ...row] of counters) {
    const state = of(org);
    if (isCounter(row)) state.counters.set(name, counterOf(row));
    if (limit !== null) state.caps.set(name.slice(COST.length), new USD(limit));
  }
  for (const row of grants) of(row[0]).grants.set(row[1], grantOf(row));
  for (const [org, key] of once) of(org).once.add(key);
  for (const [org, project, labels, spent] of usage)
    of(org).monthUsage.push({ project, labels, spentUSD: new USD(spent) });
  for (const [org, key, period, project, labels, owner, segment, on, amount, paid] of corrected)
    of(org).corrected.set(key, {
      ...{ period, owner, segment, paid, usage: { project, labels }, counters: on, amountUSD: new USD(amount) },
    });
  return { now: modes[0]?.[0] ?? 0, books };
}

type OrgRow = [
  now: number,
  org: string | null,
  mode: WalletMode | null,
  sequence: number | null,
  wallet: string | null,
  disputed: boolean | null,
];

/** The cap of the object whose cost it is, and the counter: either may be missing. */
type LimitedRow = [org: string, counter: string, limit: string | null, ...counter: CounterRow | null[]];

function isCounter(row: CounterRow | null[]): row is CounterRow {
  return row[0] !== null;
}

type CorrectedRow = [
  org: string,
  key: string,
  period: string,
  project: string,
  labels: Record<string, string>,
  owner: string,
  segment: Segment,
  counters: string[],
  amount: string,
  paid: boolean,
];

type UsageRow = [org: string, project: string, labels: Record<string, string>, spent: string];

interface State extends BookState {
  mode: WalletMode;
  modeSequence: number;
  walletUSD: USD;
  disputed: boolean;
  readonly budgets: Map<string, StandingBudget>;
  readonly caps: Map<string, USD>;
  readonly counters: Map<string, Counter>;
  readonly grants: Map<string, Grant>;
  readonly holds: Map<string, Hold>;
  readonly once: Set<string>;
  readonly monthUsage: MonthUsage[];
  readonly corrected: Map<string, CorrectedPosting>;
}

function emptyState(): State {
  return {
    ...{
      mode: 'Unlimited',
      modeSequence: 0,
      walletUSD: ZERO,
      disputed: false,
      budgets: new Map(),
      caps: new Map(),
      counters: new Map(),
    },
    ...{ grants: new Map(), holds: new Map(), once: new Set(), monthUsage: [], corrected: new Map() },
  };
}

interface OfOrg {
  readonly org: string;
}

interface Keys {
  readonly orgs: string[];
  readonly holds: (OfOrg & { readonly key: string })[];
  readonly deleted: (OfOrg & { readonly uid: string })[];
  readonly counters: (OfOrg & { readonly counter: string })[];
  /** That are set: one that was deleted has counters still. */
  readonly budgets: (OfOrg & { readonly uid: string })[];
  readonly grants: (OfOrg & { readonly uid: string })[];
  readonly once: (OfOrg & { readonly key: string })[];
  /** Orgs with a Budget that may begin. */
  readonly begun: OfOrg[];
  readonly corrected: (OfOrg & { readonly key: string })[];
}

function keysOf(needs: readonly LedgerNeeds[]): Keys {
  const orgs = new Set<string>();
  const keys: Omit<Keys, 'orgs'> = {
    ...{ holds: [], deleted: [], counters: [], budgets: [], grants: [], once: [], begun: [], corrected: [] },
  };
  for (const { org, operations, deleted } of needs) {
    orgs.add(org);
    if (deleted !== undefined) keys.deleted.push({ org, uid: deleted });
    for (const operation of operations) addKeys(keys, org, operation);
  }
  for (const org of orgs) keys.counters.push({ org, counter: WALLET });
  return { ...keys, orgs: [...orgs] };
}

function addKeys(keys: Omit<Keys, 'orgs'>, org: string, operation: MoneyOperation): void {
  switch (operation.op) {
    case 'Place':
      keys.holds.push({ org, key: operation.key });
      if (operation.replaces !== undefined) keys.holds.push({ org, key: operation.replaces });
      for (const { uid } of operation.payer.costs) keys.counters.push({ org, counter: costCounter(uid) });
      return;
    case 'Bill':
    case 'Renew':
    case 'Release':
    case 'Draw':
      keys.holds.push({ org, key: operation.key });
      return;
    case 'SetCap':
      keys.counters.push({ org, counter: costCounter(operation.uid) });
      return;
    case 'SetBudget':
      keys.budgets.push({ org, uid: operation.budget.uid });
      if (operation.budget.period === 'Monthly') keys.begun.push({ org });
      return;
    case 'Credit':
      keys.grants.push({ org, uid: operation.grant });
      if (operation.once !== undefined) keys.once.push({ org, key: operation.once });
      return;
    case 'Clawback':
      keys.grants.push({ org, uid: operation.grant });
      keys.once.push({ org, key: clawbackOnce(operation.once) });
      return;
    case 'Correct':
      keys.corrected.push({ org, key: operation.posting });
      keys.once.push({ org, key: correctionOnce(operation.once) });
      return;
    default:
  }
}

/** Always a row, for the time. */
const ORGS = `
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, o.org, o.mode, o.mode_sequence, o.wallet_usd, o.disputed
FROM (SELECT) AS one LEFT JOIN money_orgs o ON o.org = ANY($1::text[])`;

const BUDGETS = `
SELECT ${BUDGET_COLUMNS}
FROM unnest($1::text[]) AS g(org) JOIN budgets b ON b.org = g.org
ORDER BY b.org, b.uid`;

/** Those under the keys ($1), and those of deleted objects ($2). */
const NAMED_HOLDS = `
  SELECT h.* FROM (SELECT DISTINCT org, key FROM json_to_recordset($1::json) AS g(org text, key text)) g
  JOIN holds h ON (h.org, h.key) = (g.org, g.key)
  UNION
  SELECT h.* FROM json_to_recordset($2::json) AS d(org text, uid text)
  JOIN holds h ON h.uid = d.uid AND h.org = d.org`;

const HOLDS = `SELECT n.org, n.format, n.body FROM (${NAMED_HOLDS}) n`;

/**
 * Of the holds, of the payers and what is capped ($3), and of all Budgets of the orgs ($4), and those that are set ($5), for this month and those
 * beside it.
 */
const COUNTERS = `
WITH names AS (
  SELECT org, unnest(counters) AS counter FROM (${NAMED_HOLDS}) n
  UNION
  SELECT org, counter FROM json_to_recordset($3::json) AS g(org text, counter text)
  UNION
  SELECT b.org, 'budget/' || b.uid || '/' || p.period
  FROM (
    SELECT b.org, b.uid FROM unnest($4::text[]) AS o(org) JOIN budgets b ON b.org = o.org
    UNION
    SELECT org, uid FROM json_to_recordset($5::json) AS g(org text, uid text)
  ) AS b
  CROSS JOIN (
    SELECT 'total' UNION ALL
    SELECT to_char((clock_timestamp() AT TIME ZONE 'UTC') + make_interval(months => m), 'YYYY-MM')
    FROM generate_series(-1, 1) AS m
  ) AS p(period)
)
SELECT n.org, n.counter, l.limit_usd, ${COUNTER_COLUMNS} FROM names n
LEFT JOIN counters c ON (c.org, c.counter) = (n.org, n.counter)
LEFT JOIN caps l ON n.counter LIKE 'cost/%' AND (l.org, l.uid) = (n.org, substr(n.counter, ${COST.length + 1}))
WHERE c.org IS NOT NULL OR l.org IS NOT NULL`;

const GRANTS = `
SELECT g.org, g.uid, g.amount_usd, g.remaining_usd, g.expires FROM unnest($1::text[]) AS o(org)
JOIN grants g ON g.org = o.org AND g.remaining_usd > 0
UNION
SELECT g.org, g.uid, g.amount_usd, g.remaining_usd, g.expires FROM json_to_recordset($2::json) AS n(org text, uid text)
JOIN grants g ON (g.org, g.uid) = (n.org, n.uid)`;

const ONCE = `
SELECT o.org, o.key FROM json_to_recordset($1::json) AS g(org text, key text)
JOIN once o ON (o.org, o.key) = (g.org, g.key)`;

/** What the orgs used in this month, by project and labels. What is posted in a month earlier than its use is none. */
const MONTH_USAGE = `
SELECT p.org, p.project, p.labels, sum(p.amount_usd)::text
FROM (SELECT DISTINCT org FROM unnest($1::text[]) AS g(org)) g JOIN postings p ON p.org = g.org
WHERE p.time >= date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
  AND p.period = to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM') AND p.project IS NOT NULL
GROUP BY p.org, p.project, p.labels`;

/** Use under these keys, with all its corrections so far; what took nothing from credits is not paid. */
const CORRECTED = `
SELECT p.org, p.key, p.period, p.project, p.labels, p.owner, p.segment, p.counters,
  (p.amount_usd + coalesce((
    SELECT sum(c.amount_usd) FROM postings c
    WHERE c.org = p.org AND c.reason = 'Correction' AND c.key >= p.key || '/corrected/' AND c.key < p.key || '/corrected0'
  ), 0))::text,
  EXISTS (
    SELECT FROM lines l WHERE (l.org, l.posting, l.time) = (p.org, p.key, p.time) AND l.account NOT IN ('revenue', 'unbilled')
  )
FROM (SELECT DISTINCT org, key FROM json_to_recordset($1::json) AS g(org text, key text)) g
JOIN postings p ON (p.org, p.key) = (g.org, g.key) AND p.reason = 'Use'`;
