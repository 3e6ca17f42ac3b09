/**
 * The months of posting: closes those that are over, lists them, reads one for its export, and detaches one that was exported. A closed month
 * gets no more postings, since a posting has the time of its commit; what is posted late for a use of that month lies in a later one.
 *
 * I7: a month is closed only when the lines of each of its postings add up to zero, and in the same transaction its sums are added to those of the
 * months before, from which the auditor goes on. Nothing is detached that was not exported as it is.
 */
import type { Client } from 'pg';
import { unavailable } from '../errors.js';
import type { Postgres, Statement } from '../postgres.js';
import { SUMS_BY_SEGMENT, unbalancedIn } from './audit.js';
import { ENTRY_COLUMNS, entryOf, type EntryRow, type LedgerEntry } from './entries.js';

export interface LedgerMonth {
  /** `2026-08`. */
  readonly month: string;
  /** Open: it is not over, or its postings could not be closed. */
  readonly state: 'Open' | 'Closed' | 'Detached';
  readonly postings?: number | undefined;
  readonly lines?: number | undefined;
  /** ms. */
  readonly closedAt?: number | undefined;
  /** Of the last whole export. */
  readonly sha256?: string | undefined;
  readonly exportedAt?: number | undefined;
  readonly detachedAt?: number | undefined;
}

export type ExportedEntry = LedgerEntry & { readonly org: string };

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface LedgerMonths {
  /** Oldest first, the detached ones too. */
  list(): Promise<readonly LedgerMonth[]>;
  find(month: string): Promise<LedgerMonth | undefined>;
  /** Closes what is over, in order. Answers the month that could not be closed, since it has a posting that does not add up. */
  close(signal: AbortSignal): Promise<string | undefined>;
  /** All postings of a month that is not detached, by org and in the order of commits, in pages. */
  read(month: string, signal: AbortSignal): AsyncGenerator<readonly ExportedEntry[]>;
  exported(month: string, sha256: string): Promise<void>;
  /** False: it is not closed, or its last export had another hash. Once detached, it stays so. */
  detach(month: string, sha256: string): Promise<boolean>;
}

const PAGE = 500;
/** A commit that began in a month has ended so long after it. */
const CLOSED_AFTER = '1 hour';
const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;
/** Sums of a large month take their time (ms). */
const CLOSE_WITHIN = 600_000;
/** How often a detachment asks for its locks. Commits queue behind it, so it waits for a moment only each time. */
const DETACH_TRIES = 20;

export function openLedgerMonths(postgres: Postgres): LedgerMonths {
  /** The answer of `run` in one transaction on a connection of its own; undefined: it is rolled back. Rejects with pg's error. */
  async function inTransaction<T>(
    purpose: string,
    run: (client: Client) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const settings = { statement_timeout: '600s', lock_timeout: '500ms', work_mem: '32MB', jit: 'off' };
    const client = await postgres.connect(purpose, settings, { answerWithin: CLOSE_WITHIN });
    try {
      await client.query('BEGIN');
      const result = await run(client);
      await client.query(result === undefined ? 'ROLLBACK' : 'COMMIT');
      return result;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async function list(): Promise<readonly LedgerMonth[]> {
    return (await postgres.readRows<MonthRow>(MONTHS)).map(monthOf);
  }

  async function closeOne(month: string): Promise<boolean> {
    const partition = partitionOf(month);
    const closed = await inTransaction('closing a month', async (client) => {
      await client.query(noteMonth(partition), [month]);
      const wrong = await client.query(firstUnbalanced(partition));
      if (wrong.rows.length > 0) return undefined;
      await client.query(addAccounts(partition));
      await client.query(addCounters(partition));
      return true;
    }).catch(refuse);
    return closed === true;
  }

  return {
    list,
    find: async (month) => (await list()).find((one) => one.month === month),
    async close(signal) {
      const over = await postgres.readRows<[string]>(OVER);
      for (const [month] of over) {
        if (signal.aborted) return undefined;
        if (!(await closeOne(month))) return month;
      }
      return undefined;
    },
    async *read(month, signal) {
      const page: Statement = { name: `entries of ${month}`, text: entriesIn(partitionOf(month)) };
      for (let after: [string, number] = ['', 0]; !signal.aborted;) {
        const rows = await postgres.readRows<[string, ...EntryRow]>(page, [...after, PAGE]);
        const entries = rows.map(([org, ...row]) => ({ org, ...entryOf(row) }));
        const last = entries.at(-1);
        if (last !== undefined) yield entries;
        if (last === undefined || entries.length < PAGE) return;
        after = [last.org, last.position];
      }
    },
    exported: async (month, sha256) => void (await postgres.write(NOTE_EXPORT, [month, sha256])),
    async detach(month, sha256) {
      const { postings, lines } = partitionOf(month);
      for (let left = DETACH_TRIES; ; left--) {
        try {
          const done = await inTransaction('detaching a month', async (client) => {
            const { rows } = await client.query<{ detached: boolean }>(FIND_EXPORTED, [month, sha256]);
            const [found] = rows;
            if (found === undefined || found.detached) return found;
            await client.query(`ALTER TABLE postings DETACH PARTITION ${postings}; DROP TABLE ${postings}`);
            await client.query(`ALTER TABLE lines DETACH PARTITION ${lines}; DROP TABLE ${lines}`);
            await client.query(NOTE_DETACHED, [month]);
            return found;
          });
          return done !== undefined;
        } catch (error) {
          if (left === 0 || !isLockTimeout(error)) throw unavailable(error);
        }
      }
    },
  };
}

function refuse(error: unknown): never {
  throw unavailable(error);
}

/** Commits had the table for longer than `lock_timeout`. */
function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03';
}

/** Names of the tables of a month, which no statement takes as a value. */
interface Partition {
  readonly postings: string;
  readonly lines: string;
}

function partitionOf(month: string): Partition {
  if (!MONTH.test(month)) throw new RangeError(`${month.slice(0, 20)} is not a month`);
  const suffix = month.replace('-', '_');
  return { postings: `postings_${suffix}`, lines: `lines_${suffix}` };
}

type MonthRow = [
  month: string,
  postings: number | null,
  lines: number | null,
  closed: number | null,
  sha256: string | null,
  exported: number | null,
  detached: number | null,
];

function monthOf([month, postings, lines, closed, sha256, exported, detached]: MonthRow): LedgerMonth {
  return {
    month,
    state: closed === null ? 'Open' : detached === null ? 'Closed' : 'Detached',
    ...{ postings: postings ?? undefined, lines: lines ?? undefined, closedAt: closed ?? undefined },
    ...{ sha256: sha256 ?? undefined, exportedAt: exported ?? undefined, detachedAt: detached ?? undefined },
  };
}

const IN_MS = (column: string): string => `floor(extract(epoch FROM ${column}) * 1000)::bigint`;
/** Months that have begun and have a partition. */
const PARTITIONS = `
  SELECT replace(substr(c.relname, 10), '_', '-') AS month FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'postings'::regclass AND c.relname ~ '^postings_\\d{4}_\\d{2}$'
    AND to_timestamp(substr(c.relname, 10), 'YYYY_MM')::date <= (now() AT TIME ZONE 'UTC')::date`;

const MONTHS: Statement = {
  name: 'months of the ledger',
  text: `
SELECT coalesce(p.month, m.month) AS month, m.postings, m.lines, ${IN_MS('m.closed_at')}, m.sha256, ${IN_MS('m.exported_at')},
  ${IN_MS('m.detached_at')}
FROM (${PARTITIONS}) p FULL JOIN ledger_months m ON m.month = p.month COLLATE "C"
ORDER BY 1`,
};

/** Behind the last that is closed: the auditor goes on from there. */
const OVER: Statement = {
  name: 'months of the ledger that are over',
  text: `
SELECT month FROM (${PARTITIONS}) p
WHERE month > coalesce((SELECT max(month) FROM ledger_months), '')
  AND (month || '-01 00:00:00+00')::timestamptz + interval '1 month' + interval '${CLOSED_AFTER}' < now()
ORDER BY month`,
};

/** Precondition: the month is over. Result: it is known as closed; fails when it is known already. */
const noteMonth = ({ postings, lines }: Partition): string => `
INSERT INTO ledger_months (month, ends, postings, lines)
VALUES ($1, (($1::text || '-01')::timestamp + interval '1 month') AT TIME ZONE 'UTC', (SELECT count(*) FROM ${postings}), (SELECT count(*) FROM ${lines}))`;

const firstUnbalanced = ({ postings, lines }: Partition): string => `SELECT 1 ${unbalancedIn(postings, lines)} LIMIT 1`;

const addAccounts = ({ lines }: Partition): string => `
INSERT INTO closed_accounts AS a (org, account, amount_usd)
SELECT org, account, sum(amount_usd) FROM ${lines} GROUP BY org, account
ON CONFLICT (org, account) DO UPDATE SET amount_usd = a.amount_usd + excluded.amount_usd`;

const addCounters = ({ postings }: Partition): string => `
INSERT INTO closed_counters AS c (org, counter, spent_usd, boot_usd, running_usd, restore_usd, teardown_usd)
SELECT org, counter, ${SUMS_BY_SEGMENT}
FROM (SELECT org, counters, segment, sum(amount_usd) AS spent FROM ${postings} GROUP BY org, counters, segment) alike
CROSS JOIN unnest(alike.counters) AS counter
GROUP BY org, counter
ON CONFLICT (org, counter) DO UPDATE
SET spent_usd = c.spent_usd + excluded.spent_usd, boot_usd = c.boot_usd + excluded.boot_usd,
    running_usd = c.running_usd + excluded.running_usd, restore_usd = c.restore_usd + excluded.restore_usd,
    teardown_usd = c.teardown_usd + excluded.teardown_usd`;

const entriesIn = ({ postings, lines }: Partition): string => `
SELECT p.org, ${ENTRY_COLUMNS(lines)}
FROM ${postings} p WHERE (p.org, p.position) > ($1, $2::bigint) ORDER BY p.org, p.position LIMIT $3`;

const NOTE_EXPORT: Statement = {
  name: 'note an export of a month',
  text: 'UPDATE ledger_months SET sha256 = $2, exported_at = now() WHERE month = $1 AND detached_at IS NULL',
};

const FIND_EXPORTED = `
SELECT detached_at IS NOT NULL AS detached FROM ledger_months WHERE month = $1 AND sha256 = $2 FOR UPDATE`;

const NOTE_DETACHED = 'UPDATE ledger_months SET detached_at = now() WHERE month = $1';
