/** Writes what operations changed in the books of a transaction: each table once, and only what changed. */
import { emptyCounter, type Book, type BookState } from '../../src/money/book.js';
import { thresholdsReached } from '../../src/money/apply.js';
import { monthOf, parseCounter } from '../../src/money/counters.js';
import type { CostOwner } from '../../src/money/payer.js';
import type { Session } from '../commit/session.js';
import { counterChange, holdRow } from './rows.js';

export interface ChangedBook {
  readonly org: string;
  readonly before: BookState;
  readonly book: Book;
  /** Of the commit that made each posting, by position; undefined: it had no object. */
  versionOf(posting: number): number | undefined;
}

type Row = Readonly<Record<string, unknown>>;

interface StateRows {
  readonly orgs: Row[];
  readonly budgets: Row[];
  readonly droppedBudgets: Row[];
  readonly caps: Row[];
  readonly droppedCaps: Row[];
  readonly counters: Row[];
  readonly grants: Row[];
  readonly holds: Row[];
  readonly endedHolds: Row[];
}

interface HistoryRows {
  readonly postings: Row[];
  readonly lines: Row[];
  readonly once: Row[];
  readonly thresholds: Row[];
  readonly uses: Row[];
}

/** Whether anything is to be written. */
export function isChanged({ before, book }: Pick<ChangedBook, 'before' | 'book'>): boolean {
  const maps = ['budgets', 'caps', 'counters', 'grants', 'holds'] as const;
  return (
    book.postings.length > 0 ||
    book.uses.length > 0 ||
    book.once.size !== before.once.size ||
    book.modeSequence !== before.modeSequence ||
    book.walletUSD !== before.walletUSD ||
    book.disputed !== before.disputed ||
    maps.some((name) => differences<unknown>(before[name], book[name]).length > 0)
  );
}

/** Precondition: the clock row is locked, and the books were read in this transaction. `now`: ms on Postgres's clock. */
export async function writeBooks(session: Session, books: readonly ChangedBook[], now: number): Promise<void> {
  const write = (name: string, text: string, given: readonly Row[]): Promise<unknown> | undefined =>
    given.length === 0 ? undefined : session.rows(`ledger ${name}`, () => text, [JSON.stringify(given)]);
  const state = stateOf(books, now);
  const sent = session.together(() => [
    write('set orgs', SET_ORGS, state.orgs),
    write('set budgets', SET_BUDGETS, state.budgets),
    write('drop budgets', DROP_BUDGETS, state.droppedBudgets),
    write('set caps', SET_CAPS, state.caps),
    write('drop caps', DROP_CAPS, state.droppedCaps),
    write('add to counters', ADD_TO_COUNTERS, state.counters),
    write('set grants', SET_GRANTS, state.grants),
    write('set holds', SET_HOLDS, state.holds),
    write('end holds', END_HOLDS, state.endedHolds),
  ]);
  // Postgres is at work on the others by now.
  const rows = historyOf(books, now);
  const rest = session.together(() => [
    write('postings', WRITE_POSTINGS, rows.postings),
    write('lines', WRITE_LINES, rows.lines),
    write('use once', USE_ONCE, rows.once),
    write('thresholds', REACH_THRESHOLDS, rows.thresholds),
    write('use of models', ADD_USE, rows.uses),
  ]);
  await Promise.all([...sent, ...rest]);
}

function stateOf(books: readonly ChangedBook[], now: number): StateRows {
  const rows: StateRows = {
    ...{ orgs: [], budgets: [], droppedBudgets: [], caps: [], droppedCaps: [], counters: [], grants: [], holds: [] },
    endedHolds: [],
  };
  for (const changed of books) {
    const { org, before, book } = changed;
    if (
      book.modeSequence !== before.modeSequence ||
      book.walletUSD !== before.walletUSD ||
      book.disputed !== before.disputed
    )
      rows.orgs.push({
        ...{ org, mode: book.mode, sequence: book.modeSequence, wallet: book.walletUSD.toFixed() },
        disputed: book.disputed,
      });
    for (const [uid, budget] of differences(before.budgets, book.budgets)) {
      if (budget === undefined) rows.droppedBudgets.push({ org, uid });
      else rows.budgets.push({ org, ...budget });
    }
    for (const [uid, limit] of differences(before.caps, book.caps)) {
      if (limit === undefined) rows.droppedCaps.push({ org, uid });
      else rows.caps.push({ org, uid, limit: limit.toFixed() });
    }
    for (const [name, counter] of differences(before.counters, book.counters))
      if (counter !== undefined) {
        const known = before.counters.get(name);
        const owner = known === undefined ? ownerOf(changed, name) : undefined;
        // Most Attempts end before anybody looks: their figures are shown when they have run for a while, or at their end.
        const shown = owner?.kind === 'Attempt' ? now : 0;
        rows.counters.push({ ...counterChange(org, known ?? emptyCounter(name), counter), owner, shown });
      }
    for (const [uid, grant] of differences(before.grants, book.grants)) {
      if (grant === undefined) continue;
      const { name, amountUSD, remainingUSD, expires = null } = grant;
      rows.grants.push({ org, uid, name, expires, amount: amountUSD.toFixed(), remaining: remainingUSD.toFixed() });
    }
    for (const [key, hold] of differences(before.holds, book.holds)) {
      if (hold === undefined) rows.endedHolds.push({ org, key });
      else rows.holds.push(holdRow(org, hold, now));
    }
  }
  return rows;
}

function historyOf(books: readonly ChangedBook[], now: number): HistoryRows {
  const rows: HistoryRows = { postings: [], lines: [], once: [], thresholds: [], uses: [] };
  for (const changed of books) {
    const { org, before, book } = changed;
    addPostings(rows, changed, now);
    for (const key of book.once) if (!before.once.has(key)) rows.once.push({ org, key });
    rows.thresholds.push(...thresholdsOf(changed, now));
    for (const { costUSD, ...use } of book.uses) rows.uses.push({ org, ...use, cost: costUSD.toFixed() });
  }
  return rows;
}

/** Whose cost a new counter is: a hold that counts in it says so. */
function ownerOf({ before, book }: ChangedBook, counter: string): CostOwner | undefined {
  const name = parseCounter(counter);
  if (name.of !== 'Cost') return undefined;
  for (const holds of [book.holds, before.holds])
    for (const { payer } of holds.values()) {
      const owner = payer.costs.find(({ uid }) => uid === name.uid);
      if (owner !== undefined) return owner;
    }
  return undefined;
}

function addPostings(rows: HistoryRows, { org, book, versionOf }: ChangedBook, now: number): void {
  book.postings.forEach((posting, i) => {
    const { key, reason, period, usage, owner, segment, counters, amountUSD, coveredUSD, lines } = posting;
    rows.postings.push({
      ...{ org, now, key, reason, period, owner, segment, counters, project: usage?.project, labels: usage?.labels },
      ...{ amount: amountUSD.toFixed(), covered: coveredUSD.toFixed(), version: versionOf(i) },
    });
    lines.forEach(({ account, amountUSD: amount }, line) => {
      rows.lines.push({ org, now, posting: key, line, account, amount: amount.toFixed() });
    });
  });
}

/** After each change of what is spent, of a limit, or of thresholds. Those that were reached before have their row. */
function* thresholdsOf({ org, before, book }: ChangedBook, now: number): Generator<Row> {
  const counters = new Set(differences(before.counters, book.counters).map(([name]) => name));
  const changed = new Set(differences(before.budgets, book.budgets).map(([uid]) => uid));
  for (const name of book.counters.keys()) {
    const parsed = parseCounter(name);
    if (parsed.of !== 'Budget') continue;
    // A changed limit says nothing about a month that is over.
    const current = parsed.period === 'total' || parsed.period === monthOf(now);
    if (!counters.has(name) && !(current && changed.has(parsed.uid))) continue;
    for (const threshold of thresholdsReached(book, name))
      yield { org, budget: parsed.uid, period: parsed.period, threshold };
  }
}

/** Keys whose value is another one; undefined: it is gone. */
function differences<Value>(
  before: ReadonlyMap<string, Value>,
  after: ReadonlyMap<string, Value>,
): [string, Value | undefined][] {
  const found: [string, Value | undefined][] = [];
  for (const [key, value] of after) if (before.get(key) !== value) found.push([key, value]);
  for (const key of before.keys()) if (!after.has(key)) found.push([key, undefined]);
  return found;
}

const SET_ORGS = `
INSERT INTO money_orgs (org, mode, mode_sequence, wallet_usd, disputed)
SELECT org, mode, sequence, wallet, disputed
FROM json_to_recordset($1::json) AS g(org text, mode text, sequence bigint, wallet numeric, disputed boolean)
ON CONFLICT (org) DO UPDATE
SET mode = excluded.mode, mode_sequence = excluded.mode_sequence, wallet_usd = excluded.wallet_usd,
    disputed = excluded.disputed`;

// The time since when holds are to be renewed stays until they are (`rebound-holds.ts`). It is the mark by which one
// change is told from the next, also of the same millisecond.
const SET_BUDGETS = `
INSERT INTO budgets (org, uid, name, limit_usd, action, period, project, selector, thresholds, made, rebind_at)
SELECT org, uid, name, "limitUSD", action, period, project, selector, thresholds, made, "rebindAt"
FROM json_to_recordset($1::json) AS g(org text, uid text, name text, "limitUSD" numeric, action text, period text,
  project text, selector text, thresholds int[], made bigint, "rebindAt" bigint)
ON CONFLICT (org, uid) DO UPDATE
SET name = excluded.name, limit_usd = excluded.limit_usd, action = excluded.action, period = excluded.period,
    project = excluded.project, selector = excluded.selector, thresholds = excluded.thresholds,
    made = excluded.made,
    rebind_at = CASE WHEN excluded.rebind_at IS NULL THEN budgets.rebind_at
      ELSE greatest(excluded.rebind_at, budgets.rebind_at + 1) END`;

const DROP_BUDGETS = `
DELETE FROM budgets b USING json_to_recordset($1::json) AS g(org text, uid text) WHERE (b.org, b.uid) = (g.org, g.uid)`;

const SET_CAPS = `
INSERT INTO caps (org, uid, limit_usd)
SELECT org, uid, "limit" FROM json_to_recordset($1::json) AS g(org text, uid text, "limit" numeric)
ON CONFLICT (org, uid) DO UPDATE SET limit_usd = excluded.limit_usd`;

const DROP_CAPS = `
DELETE FROM caps c USING json_to_recordset($1::json) AS g(org text, uid text) WHERE (c.org, c.uid) = (g.org, g.uid)`;

// A row that is not there is made; one that is gets what was added, which may be below zero.
const ADD_TO_COUNTERS = `
WITH g AS MATERIALIZED (
  SELECT org, counter, coalesce(spent, 0) AS spent, coalesce(held, 0) AS held, coalesce(opening, 0) AS opening,
    coalesce(holders, 0) AS holders, coalesce(boot, 0) AS boot, coalesce(running, 0) AS running,
    coalesce(restore, 0) AS restore, coalesce(teardown, 0) AS teardown, coalesce(covered, '{}') AS covered, owner, shown
  FROM json_to_recordset($1::json) AS g(org text, counter text, spent numeric, held numeric, opening numeric,
    holders bigint, boot numeric, running numeric, restore numeric, teardown numeric, covered text[], owner jsonb,
    shown bigint)
), known AS (
  UPDATE counters c
  SET spent_usd = c.spent_usd + g.spent, held_usd = c.held_usd + g.held, opening_usd = c.opening_usd + g.opening,
      holders = c.holders + g.holders, boot_usd = c.boot_usd + g.boot, running_usd = c.running_usd + g.running,
      restore_usd = c.restore_usd + g.restore, teardown_usd = c.teardown_usd + g.teardown, revision = c.revision + 1,
      covered = CASE WHEN g.covered <@ c.covered THEN c.covered
        ELSE ARRAY(SELECT DISTINCT unnest(c.covered || g.covered) ORDER BY 1) END
  FROM g WHERE (c.org, c.counter) = (g.org, g.counter)
  RETURNING c.org, c.counter
)
INSERT INTO counters (org, counter, spent_usd, held_usd, opening_usd, holders, boot_usd, running_usd, restore_usd,
  teardown_usd, covered, owner, revision, shown_at)
SELECT org, counter, spent, held, opening, holders, boot, running, restore, teardown, covered, owner, 1, shown
FROM g WHERE (org, counter) NOT IN (SELECT org, counter FROM known)`;

const SET_GRANTS = `
INSERT INTO grants (org, uid, name, amount_usd, remaining_usd, shown_usd, expires)
SELECT org, uid, name, amount, remaining, amount, expires
FROM json_to_recordset($1::json) AS g(org text, uid text, name text, amount numeric, remaining numeric, expires bigint)
ON CONFLICT (org, uid) DO UPDATE SET remaining_usd = excluded.remaining_usd`;

const SET_HOLDS = `
INSERT INTO holds (org, key, uid, format, body, counters, amount_usd, renew_at, refused_by)
SELECT org, key, uid, format, body::text, counters, amount, renew_at, refused_by
FROM json_to_recordset($1::json) AS g(org text, key text, uid text, format smallint, body json, counters text[],
  amount numeric, renew_at bigint, refused_by text)
ON CONFLICT (org, key) DO UPDATE
SET uid = excluded.uid, format = excluded.format, body = excluded.body, counters = excluded.counters,
    amount_usd = excluded.amount_usd, renew_at = excluded.renew_at, refused_by = excluded.refused_by`;

const END_HOLDS = `
DELETE FROM holds h USING json_to_recordset($1::json) AS g(org text, key text) WHERE (h.org, h.key) = (g.org, g.key)`;

// At the time of the book: what counts in a month is never posted before it, however long the transaction waited for the lock.
const WRITE_POSTINGS = `
INSERT INTO postings (time, org, key, reason, period, project, labels, owner, segment, counters, amount_usd, covered_usd,
  version)
SELECT to_timestamp(now / 1000.0), org, key, reason, period, project, labels, owner, segment, counters, amount, covered, version
FROM json_to_recordset($1::json) AS g(now bigint, org text, key text, reason text, period text, project text, labels jsonb,
  owner text, segment text, counters text[], amount numeric, covered numeric, version bigint)`;

const WRITE_LINES = `
INSERT INTO lines (time, org, posting, line, account, amount_usd)
SELECT to_timestamp(now / 1000.0), org, posting, line, account, amount
FROM json_to_recordset($1::json) AS g(now bigint, org text, posting text, line smallint, account text, amount numeric)`;

const USE_ONCE = `
INSERT INTO once (org, key) SELECT org, key FROM json_to_recordset($1::json) AS g(org text, key text)`;

const REACH_THRESHOLDS = `
INSERT INTO thresholds (org, budget, period, threshold)
SELECT org, budget, period, threshold
FROM json_to_recordset($1::json) AS g(org text, budget text, period text, threshold int)
ON CONFLICT DO NOTHING`;

const ADD_USE = `
INSERT INTO inference_use AS u (org, uid, minute, requests, errors, input_tokens, output_tokens, cost_usd)
SELECT org, uid, to_timestamp(minute / 1000.0), sum(requests), sum(errors), sum("inputTokens"), sum("outputTokens"), sum(cost)
FROM json_to_recordset($1::json) AS g(org text, uid text, minute bigint, requests bigint, errors bigint,
  "inputTokens" bigint, "outputTokens" bigint, cost numeric)
GROUP BY org, uid, minute
ON CONFLICT (org, uid, minute) DO UPDATE
SET requests = u.requests + excluded.requests, errors = u.errors + excluded.errors,
    input_tokens = u.input_tokens + excluded.input_tokens, output_tokens = u.output_tokens + excluded.output_tokens,
    cost_usd = u.cost_usd + excluded.cost_usd`;
