/**
 * Mails about thresholds: made from the rows of `thresholds`, claimed for a try, and ended. Whole store, bounded in rows.
 *
 * A threshold's row is the outbox: the commit that reaches it writes it, and one later statement makes its mails and marks it, so each
 * recipient gets one row for each Budget, period and threshold, whatever crashes between. Recipients are looked up for that statement and
 * not in the commit, which holds up all others: those of `spec.notify.emails`, and the org's billing recipients.
 */
import { decodeObject } from '../../src/api/encode.js';
import type { BudgetSpec } from '../../src/kinds/budget/schema.js';
import type { MemberSpec } from '../../src/kinds/member/schema.js';
import type { Postgres, Statement } from '../postgres.js';

export interface MailKey {
  readonly org: string;
  /** uid of the Budget. */
  readonly budget: string;
  /** A month, or `total`. */
  readonly period: string;
  readonly threshold: number;
  readonly recipient: string;
}

export interface DueMail extends MailKey {
  readonly id: string;
  /** Of the Budget. */
  readonly name: string;
  readonly action: 'Block' | 'Notify';
  /** Amounts, as the ledger has them. */
  readonly limitUSD: string;
  readonly spentUSD: string;
  readonly heldUSD: string;
  /** When these were read (ms). */
  readonly made: number;
  /** This one included. */
  readonly tries: number;
}

/** Of one threshold, all of whose mails have ended. */
export interface EndedMails extends Omit<MailKey, 'recipient'> {
  /** Absent: the Budget is gone. */
  readonly name?: string | undefined;
  readonly sent: number;
  readonly failed: number;
  /** Of one that failed. */
  readonly error?: string | undefined;
}

export type MailEnd =
  | { readonly phase: 'Sent' }
  | { readonly phase: 'Failed'; readonly error: string }
  /** To be tried again after so long (ms). */
  | { readonly phase: 'Waiting'; readonly afterMs: number };

export interface MailBounds {
  /** Thresholds whose mails are made at once. */
  readonly thresholds: number;
  /** Mails that may wait for the server; with more, thresholds wait. */
  readonly waiting: number;
  /** Mails of an org in 24 hours; one more fails at once. */
  readonly orgDaily: number;
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface MailRows {
  /** Makes the mails of thresholds that have none yet; how many thresholds there were. */
  makeMails(bounds: MailBounds): Promise<number>;
  /** Thresholds get no mail: nothing sends any. */
  skipMails(limit: number): Promise<number>;
  /** Counts a try of mails that are due, the longest due first, and sets the next one to `retryMs` from now: as if this process crashed. */
  claimMails(limit: number, retryMs: number): Promise<readonly DueMail[]>;
  /** One that has ended stays as it is. */
  endMail(key: MailKey, end: MailEnd): Promise<void>;
  /** Thresholds whose mails have all ended and whose Budgets have not heard of it. */
  endedMails(limit: number): Promise<readonly EndedMails[]>;
  toldMails(ended: readonly EndedMails[]): Promise<void>;
}

type DueRow = [
  string,
  string,
  string,
  number,
  string,
  string,
  string,
  DueMail['action'],
  string,
  string,
  string,
  number,
  number,
];
type EndedRow = [string, string, string, number, string | null, number, number, string | null];

type UnmailedRow = [
  ...[org: string, budget: string, period: string, threshold: number],
  ...[
    name: string | null,
    action: string | null,
    limit: string | null,
    spent: string,
    held: string,
    body: string | null,
  ],
];

/** Members that are looked at, and of them those who get mail, in the order of their names. */
const MOST_MEMBERS = 5_000;
const MOST_BILLING = 50;

/** The org's Members with role Owner or Billing. */
async function billingRecipients(postgres: Postgres, org: string): Promise<readonly string[]> {
  const rows = await postgres.readRows<[string]>(MEMBERS, [org, MOST_MEMBERS]);
  return rows
    .map(([body]) => decodeObject<MemberSpec>(Buffer.from(body)))
    .filter(({ metadata, spec }) => metadata.deletionTimestamp === undefined && BILLING_ROLES.has(spec.role))
    .slice(0, MOST_BILLING)
    .map(({ spec }) => spec.email);
}

const BILLING_ROLES: ReadonlySet<string> = new Set(['Owner', 'Billing']);

/** One for each address, however it is written. */
function mailsOf(row: UnmailedRow, billing: readonly string[]): readonly object[] {
  const [org, budget, period, threshold, name, action, limitUSD, spentUSD, heldUSD, body] = row;
  if (body === null) return [];
  const { spec } = decodeObject<BudgetSpec>(Buffer.from(body));
  const recipients = new Map([...billing, ...(spec.notify?.emails ?? [])].map((one) => [one.toLowerCase(), one]));
  return [...recipients.values()].map((recipient) => ({
    ...{ org, budget, period, threshold, recipient, name, action, limitUSD, spentUSD, heldUSD },
  }));
}

export function openMailRows(postgres: Postgres): MailRows {
  return {
    async makeMails({ thresholds, waiting, orgDaily }) {
      const rows = await postgres.readRows<UnmailedRow>(UNMAILED, [thresholds, waiting]);
      if (rows.length === 0) return 0;
      const billing = new Map<string, readonly string[]>();
      for (const [org] of rows) if (!billing.has(org)) billing.set(org, await billingRecipients(postgres, org));
      const reached = rows.map(([org, budget, period, threshold]) => ({ org, budget, period, threshold }));
      const mails = rows.flatMap((row) => mailsOf(row, billing.get(row[0]) ?? []));
      await postgres.write(MAKE, [JSON.stringify(reached), JSON.stringify(mails), orgDaily]);
      return rows.length;
    },
    skipMails: (limit) => postgres.write(SKIP, [limit]),
    async claimMails(limit, retryMs) {
      const rows = await postgres.readRows<DueRow>(CLAIM, [limit, retryMs]);
      return rows.map(
        ([org, budget, period, threshold, recipient, id, name, action, limitUSD, spentUSD, heldUSD, made, tries]) => ({
          ...{ org, budget, period, threshold, recipient, id, name, action, limitUSD, spentUSD, heldUSD, made, tries },
        }),
      );
    },
    async endMail({ org, budget, period, threshold, recipient }, end) {
      const error = end.phase === 'Failed' ? end.error : null;
      const after = end.phase === 'Waiting' ? end.afterMs : 0;
      await postgres.write(END, [org, budget, period, threshold, recipient, end.phase, error, after]);
    },
    async endedMails(limit) {
      const rows = await postgres.readRows<EndedRow>(ENDED, [limit]);
      return rows.map(([org, budget, period, threshold, name, sent, failed, error]) => ({
        ...{ org, budget, period, threshold, sent, failed },
        ...{ name: name ?? undefined, error: error ?? undefined },
      }));
    },
    async toldMails(ended) {
      if (ended.length > 0) await postgres.write(TOLD, [JSON.stringify(ended)]);
    },
  };
}

/** What has no Budget any more has no mails. */
const UNMAILED: Statement = {
  name: 'unmailed thresholds',
  text: `
SELECT t.org, t.budget, t.period, t.threshold, b.name, b.action, b.limit_usd, coalesce(c.spent_usd, 0), coalesce(c.held_usd, 0), o.body
FROM thresholds t
LEFT JOIN budgets b ON (b.org, b.uid) = (t.org, t.budget)
LEFT JOIN objects o ON (o.org, o.kind, o.project, o.name) = (t.org, 'Budget', '', b.name) AND o.uid = t.budget
LEFT JOIN counters c ON (c.org, c.counter) = (t.org, 'budget/' || t.budget || '/' || t.period)
WHERE NOT t.mailed AND (SELECT count(*) FROM (SELECT FROM mails WHERE phase = 'Waiting' LIMIT $2) w) < $2
ORDER BY t.time LIMIT $1`,
};

const MEMBERS: Statement = {
  name: 'members to mail',
  text: `SELECT body FROM objects WHERE org = $1 AND kind = 'Member' AND project = '' ORDER BY name LIMIT $2`,
};

/**
 * Precondition: none. Result: the thresholds of $1 are marked, and each has the mails of $2 that it has not had yet, of which those past
 * $3 of an org in a day have failed.
 */
const MAKE: Statement = {
  name: 'make mails',
  text: `
WITH marked AS (
  UPDATE thresholds t SET mailed = true FROM json_to_recordset($1::json) AS g(org text, budget text, period text, threshold int)
  WHERE (t.org, t.budget, t.period, t.threshold) = (g.org, g.budget, g.period, g.threshold)
), counted AS (
  SELECT g.*, row_number() OVER (PARTITION BY g.org) + (
    SELECT count(*) FROM mails m
    WHERE m.org = g.org AND m.made > now() - interval '1 day' AND NOT (m.phase = 'Failed' AND m.tries = 0)
  ) > $3::bigint AS over
  FROM json_to_recordset($2::json) AS g(org text, budget text, period text, threshold int, recipient text, name text, action text,
    "limitUSD" numeric, "spentUSD" numeric, "heldUSD" numeric)
)
INSERT INTO mails (org, budget, period, threshold, recipient, name, action, limit_usd, spent_usd, held_usd, phase, error)
SELECT org, budget, period, threshold, recipient, name, action, "limitUSD", "spentUSD", "heldUSD",
  CASE WHEN over THEN 'Failed' ELSE 'Waiting' END,
  CASE WHEN over THEN format('this organization was sent %s mails within a day, which is the most', $3::bigint) END
FROM counted ON CONFLICT DO NOTHING`,
};

/** Precondition: none. Result: at most $1 thresholds have no mails, and get none. */
const SKIP: Statement = {
  name: 'skip mails',
  text: `
UPDATE thresholds t SET mailed = true FROM (
  SELECT org, budget, period, threshold FROM thresholds WHERE NOT mailed ORDER BY time LIMIT $1 FOR UPDATE SKIP LOCKED
) g WHERE (t.org, t.budget, t.period, t.threshold) = (g.org, g.budget, g.period, g.threshold)`,
};

/** Precondition: none. Result: at most $1 mails that were due have one more try, and are due again in $2 ms. Two at once take different ones. */
const CLAIM: Statement = {
  name: 'claim mails',
  text: `
WITH g AS MATERIALIZED (
  SELECT org, budget, period, threshold, recipient FROM mails
  WHERE phase = 'Waiting' AND due <= now() ORDER BY due LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE mails m SET tries = m.tries + 1, due = now() + $2 * interval '1 ms'
FROM g WHERE (m.org, m.budget, m.period, m.threshold, m.recipient) = (g.org, g.budget, g.period, g.threshold, g.recipient)
RETURNING m.org, m.budget, m.period, m.threshold, m.recipient, m.id, m.name, m.action,
  m.limit_usd, m.spent_usd, m.held_usd, floor(extract(epoch FROM m.made) * 1000)::bigint, m.tries`,
};

/** Precondition: it waits. Result: it has ended in phase $6, or waits for another $8 ms. Otherwise nothing changes. */
const END: Statement = {
  name: 'end mail',
  text: `
UPDATE mails SET phase = $6, error = $7, due = now() + $8 * interval '1 ms'
WHERE (org, budget, period, threshold, recipient) = ($1, $2, $3, $4, $5) AND phase = 'Waiting'`,
};

const ENDED: Statement = {
  name: 'ended mails',
  text: `
SELECT m.org, m.budget, m.period, m.threshold, (SELECT b.name FROM budgets b WHERE (b.org, b.uid) = (m.org, m.budget)),
  count(*) FILTER (WHERE m.phase = 'Sent'), count(*) FILTER (WHERE m.phase = 'Failed'), max(m.error)
FROM mails m WHERE NOT m.told GROUP BY m.org, m.budget, m.period, m.threshold
HAVING bool_and(m.phase <> 'Waiting') LIMIT $1`,
};

/** Precondition: none. Result: their Budgets have shown how these ended. */
const TOLD: Statement = {
  name: 'told mails',
  text: `
UPDATE mails m SET told = true FROM json_to_recordset($1::json) AS g(org text, budget text, period text, threshold int)
WHERE (m.org, m.budget, m.period, m.threshold) = (g.org, g.budget, g.period, g.threshold) AND NOT m.told`,
};
