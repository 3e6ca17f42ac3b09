/**
 * What an org has spent, summed up from the postings of its ledger: by days, projects and one label; of the last day and week; and what
 * everything that bills now costs in an hour. It reads one org's rows by index, and postings only of the months between the two times.
 *
 * I10: a sum has at most so many rows as its caller says. Each may read many postings, and the readers are there for all reads: two sums are under
 * way at a time in this process, and of one org one. The others wait, in turns of their orgs (`turns.ts`).
 */
import { USD } from '../../src/money/usd.js';
import type { Postgres, Statement } from '../postgres.js';
import { openTurns } from './turns.js';

export interface SpendQuery {
  /** ms; the first is inside, the last is not. */
  readonly from: number;
  readonly to: number;
  readonly day: boolean;
  readonly project: boolean;
  /** Key of a label. */
  readonly label?: string | undefined;
}

export interface SpendRow {
  /** `2026-11-27`; '' when it is not asked for, as with the others. */
  readonly day: string;
  /** '' too: what was charged beside all projects. */
  readonly project: string;
  /** Value of the label; '' too: without it. */
  readonly label: string;
  /** Charged, less what was given back. */
  readonly amountUSD: USD;
  readonly coveredUSD: USD;
}

/** What an org spends now. */
export interface SpendRate {
  /** Of all that bills now. */
  readonly perHourUSD: USD;
  readonly lastDayUSD: USD;
  readonly lastWeekUSD: USD;
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer, or when `signal` is aborted while it waits for its turn. */
export interface LedgerSpend {
  /** By day, project and label, at most `most` rows: with one row more than fits, there are too many. */
  rows(org: string, query: SpendQuery, most: number, signal: AbortSignal): Promise<readonly SpendRow[]>;
  rate(org: string, signal: AbortSignal): Promise<SpendRate>;
}

export function openLedgerSpend(postgres: Postgres): LedgerSpend {
  const inTurn = openTurns({ atOnce: 2, mostWaiting: 4, what: 'sums of its spending' });
  return {
    rows: (org, { from, to, day, project, label }, most, signal) =>
      inTurn(org, signal, async () => {
        const values = [org, from, to, day, project, label ?? null, most];
        const rows = await postgres.readRows<SumRow>(SUMS, values);
        return rows.map(([ofDay, ofProject, ofLabel, amount, covered]) => ({
          ...{ day: ofDay, project: ofProject, label: ofLabel },
          ...{ amountUSD: new USD(amount), coveredUSD: new USD(covered) },
        }));
      }),
    rate: (org, signal) =>
      inTurn(org, signal, async () => {
        const [row] = await postgres.readRows<[string, string, string]>(RATE, [org]);
        const [perHour, lastDay, lastWeek] = row ?? ['0', '0', '0'];
        return { perHourUSD: new USD(perHour), lastDayUSD: new USD(lastDay), lastWeekUSD: new USD(lastWeek) };
      }),
  };
}

type SumRow = [day: string, project: string, label: string, amount: string, covered: string];

/** Postings that are spending. */
const SPENT = `reason IN ('Use', 'Refund', 'Correction')`;
const AT = (ms: string): string => `to_timestamp(${ms}::bigint / 1000.0)`;

const SUMS: Statement = {
  name: 'spending',
  text: `
SELECT day, project, label, sum(amount_usd)::text, sum(covered_usd)::text
FROM (
  SELECT CASE WHEN $4::boolean THEN to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD') ELSE '' END COLLATE "C" AS day,
    CASE WHEN $5::boolean THEN coalesce(project, '') ELSE '' END COLLATE "C" AS project,
    coalesce(labels ->> $6::text, '') COLLATE "C" AS label, amount_usd, covered_usd
  FROM postings WHERE org = $1 AND time >= ${AT('$2')} AND time < ${AT('$3')} AND ${SPENT}
) p
GROUP BY day, project, label ORDER BY day, project, label LIMIT $7`,
};

const RATE: Statement = {
  name: 'rate of spending',
  text: `
SELECT
  (SELECT coalesce(sum((body::jsonb #>> '{billing,rateUSDPerHour}')::numeric), 0) FROM holds WHERE org = $1)::text,
  coalesce(sum(amount_usd) FILTER (WHERE time >= now() - interval '24 hours'), 0)::text,
  coalesce(sum(amount_usd), 0)::text
FROM postings WHERE org = $1 AND time >= now() - interval '7 days' AND ${SPENT}`,
};
