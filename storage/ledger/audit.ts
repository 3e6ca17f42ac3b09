/**
 * The auditor of the ledger: rebuilds from postings, lines and holds what the other tables say, and answers where they differ. Each check is one
 * statement, so it sees one moment. It begins from the sums of closed months (`months.ts`). It changes nothing. It reads whole tables, on a connection of its own: the settings of other
 * reads are for pages by an index, and with them a million lines take minutes.
 */
import type { CostOwner } from '../../src/money/payer.js';
import { unavailable } from '../errors.js';
import type { Postgres } from '../postgres.js';

const SETTINGS = {
  default_transaction_read_only: 'on',
  statement_timeout: '60s',
  work_mem: '32MB',
  // Before it has statistics, Postgres would rather go through a list for each counter.
  enable_nestloop: 'off',
  jit: 'off',
  // The machine's other cores are for those who wait.
  max_parallel_workers_per_gather: '0',
};
/** More than a statement's own limit, so that Postgres speaks first (ms). */
const ANSWER_WITHIN = 65_000;

export type LedgerFinding =
  /** I7: its lines do not add up to zero, or do not say what it says; or there are lines and no posting. */
  | { readonly type: 'UnbalancedPosting'; readonly posting: string; readonly sumUSD: string }
  /** `what`: `spent`, `held`, `holders`, `opening`, or a segment in lower case. */
  | {
      readonly type: 'CounterDiffers';
      readonly counter: string;
      readonly what: string;
      readonly found: string;
      readonly expected: string;
    }
  | { readonly type: 'GrantDiffers'; readonly uid: string; readonly found: string; readonly expected: string }
  | { readonly type: 'WalletDiffers'; readonly found: string; readonly expected: string }
  /** Its columns do not say what its parts say. */
  | { readonly type: 'HoldDiffers'; readonly key: string }
  /** The object that holds is gone (I7: no live work, no hold). */
  | { readonly type: 'OrphanHold'; readonly key: string; readonly owner: CostOwner };

/** At most `limit` findings of each type; none: the org's books are right. Rejects with a `RefusalError` Unavailable. */
export async function auditLedger(postgres: Postgres, org: string, limit = 100): Promise<readonly LedgerFinding[]> {
  const client = await postgres.connect('audit', SETTINGS, { answerWithin: ANSWER_WITHIN }).catch(refuse);
  const rows = async <Row extends unknown[]>(text: string, values: unknown[] = [org, limit]): Promise<Row[]> =>
    (await client.query<Row>({ text, values, rowMode: 'array' }).catch(refuse)).rows;
  try {
    // One after the other: each may take long.
    const postings = await rows<[string, string]>(POSTINGS);
    const counters = await rows<[string, string, string, string]>(COUNTERS);
    const grants = await rows<[string, string, string]>(GRANTS);
    const wallet = await rows<[string, string]>(WALLET, [org]);
    // Few, each by the key of its object.
    await rows('SET enable_nestloop = on', []);
    const holds = await rows<[string]>(HOLDS);
    const orphans = await rows<[string, CostOwner]>(ORPHANS);
    return [
      ...postings.map(([posting, sumUSD]) => ({ type: 'UnbalancedPosting', posting, sumUSD }) as const),
      ...counters.map(
        ([counter, what, found, expected]) => ({ type: 'CounterDiffers', counter, what, found, expected }) as const,
      ),
      ...grants.map(([uid, found, expected]) => ({ type: 'GrantDiffers', uid, found, expected }) as const),
      ...wallet.map(([found, expected]) => ({ type: 'WalletDiffers', found, expected }) as const),
      ...holds.map(([key]) => ({ type: 'HoldDiffers', key }) as const),
      ...orphans.map(([key, owner]) => ({ type: 'OrphanHold', key, owner }) as const),
    ];
  } finally {
    await client.end().catch(() => undefined);
  }
}

function refuse(error: unknown): never {
  throw unavailable(error);
}

/** What was posted in months that are not closed. */
export const OPEN = `time >= (SELECT coalesce(max(ends), '-infinity') FROM ledger_months)`;
const LINES_OF_ALL = `
  SELECT account, amount_usd FROM lines WHERE org = $1 AND ${OPEN}
  UNION ALL SELECT account, amount_usd FROM closed_accounts WHERE org = $1`;

/** Postings of these whose lines do not add up to zero, or whose revenue is not their amount (`p`), and lines of none (`l`). */
export const unbalancedIn = (postings: string, lines: string): string => `
FROM (SELECT org, key, time, reason, amount_usd FROM ${postings}) p
FULL JOIN (
  SELECT org, posting, time, sum(amount_usd) AS total,
    coalesce(sum(amount_usd) FILTER (WHERE account = 'revenue'), 0) AS revenue
  FROM ${lines} GROUP BY org, posting, time
) l ON (l.org, l.posting, l.time) = (p.org, p.key, p.time)
WHERE p.key IS NULL OR coalesce(l.total, 0) <> 0
  OR (p.reason IN ('Use', 'Refund', 'Correction') AND coalesce(l.revenue, 0) <> p.amount_usd)`;

/** Of rows of a counter with what was `spent` in a `segment`. */
export const SUMS_BY_SEGMENT = `
  sum(spent) AS spent,
  coalesce(sum(spent) FILTER (WHERE segment = 'Boot'), 0) AS boot,
  coalesce(sum(spent) FILTER (WHERE segment = 'Running'), 0) AS running,
  coalesce(sum(spent) FILTER (WHERE segment = 'Restore'), 0) AS restore,
  coalesce(sum(spent) FILTER (WHERE segment = 'Teardown'), 0) AS teardown`;

const POSTINGS = `
SELECT coalesce(p.key, l.posting), coalesce(l.total, 0)::text
${unbalancedIn(`postings WHERE org = $1 AND ${OPEN}`, `lines WHERE org = $1 AND ${OPEN}`)}
LIMIT $2`;

const COUNTERS = `
WITH alike AS (
  -- Work posts many times on the same counters.
  SELECT counters, segment, sum(amount_usd) AS spent FROM postings WHERE org = $1 AND ${OPEN} GROUP BY counters, segment
), by_segment AS (
  SELECT c.counter, a.segment, sum(a.spent) AS spent
  FROM alike a CROSS JOIN unnest(a.counters) AS c(counter) GROUP BY c.counter, a.segment
), in_open AS (
  SELECT counter, ${SUMS_BY_SEGMENT}
  FROM by_segment GROUP BY counter
), posted AS (
  SELECT counter, sum(spent) AS spent, sum(boot) AS boot, sum(running) AS running, sum(restore) AS restore,
    sum(teardown) AS teardown
  FROM (
    SELECT * FROM in_open
    UNION ALL
    SELECT counter, spent_usd, boot_usd, running_usd, restore_usd, teardown_usd FROM closed_counters WHERE org = $1
  ) all_months GROUP BY counter
), held AS (
  SELECT part ->> 'counter' AS counter, sum((part ->> 'amountUSD')::numeric) AS held, count(*) AS holders
  FROM holds h CROSS JOIN jsonb_array_elements(h.body::jsonb -> 'parts') AS part WHERE h.org = $1 GROUP BY 1
), names AS (
  SELECT counter FROM counters WHERE org = $1 UNION SELECT counter FROM posted UNION SELECT counter FROM held
)
SELECT n.counter, v.what, v.found::text, v.expected::text
FROM names n
LEFT JOIN counters c ON c.org = $1 AND c.counter = n.counter
LEFT JOIN posted p ON p.counter = n.counter
LEFT JOIN held h ON h.counter = n.counter
CROSS JOIN LATERAL (VALUES
  ('spent', coalesce(c.spent_usd, 0), coalesce(p.spent, 0) + coalesce(c.opening_usd, 0)),
  ('held', coalesce(c.held_usd, 0), coalesce(h.held, 0)),
  ('holders', coalesce(c.holders, 0)::numeric, coalesce(h.holders, 0)::numeric),
  ('boot', coalesce(c.boot_usd, 0), coalesce(p.boot, 0)),
  ('running', coalesce(c.running_usd, 0), coalesce(p.running, 0)),
  ('restore', coalesce(c.restore_usd, 0), coalesce(p.restore, 0)),
  ('teardown', coalesce(c.teardown_usd, 0), coalesce(p.teardown, 0))
) AS v(what, found, expected)
WHERE v.found <> v.expected
ORDER BY n.counter, v.what
LIMIT $2`;

const GRANTS = `
WITH lined AS (
  SELECT account, sum(amount_usd) AS left_usd FROM (${LINES_OF_ALL}) l WHERE account LIKE 'grants/%' GROUP BY account
)
SELECT coalesce(g.uid, substr(l.account, 8)), coalesce(g.remaining_usd, 0)::text, coalesce(l.left_usd, 0)::text
FROM (SELECT * FROM grants WHERE org = $1) g FULL JOIN lined l ON l.account = 'grants/' || g.uid
WHERE coalesce(g.remaining_usd, 0) <> coalesce(l.left_usd, 0)
LIMIT $2`;

const WALLET = `
SELECT found::text, expected::text FROM (
  SELECT coalesce((SELECT wallet_usd FROM money_orgs WHERE org = $1), 0) AS found,
    coalesce((SELECT sum(amount_usd) FROM (${LINES_OF_ALL}) l WHERE account = 'wallet'), 0) AS expected
) w WHERE found <> expected`;

const HOLDS = `
SELECT h.key FROM holds h
WHERE h.org = $1 AND (
  h.uid <> h.body::jsonb -> 'owner' ->> 'uid'
  OR h.counters <> ARRAY(SELECT part ->> 'counter' FROM jsonb_array_elements(h.body::jsonb -> 'parts') AS part)
)
ORDER BY h.key LIMIT $2`;

/** By address and uid: another object may have taken the name. */
const ORPHANS = `
SELECT h.key, h.body::jsonb -> 'owner' FROM holds h CROSS JOIN LATERAL (SELECT h.body::jsonb -> 'owner' AS who) w
WHERE h.org = $1 AND NOT EXISTS (
  SELECT FROM objects o
  WHERE (o.org, o.kind, o.project, o.name) = ($1, w.who ->> 'kind', w.who ->> 'project', w.who ->> 'name')
    AND o.uid = h.uid
)
ORDER BY h.key LIMIT $2`;
