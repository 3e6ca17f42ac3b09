/**
 * What requests through InferenceEndpoints came to, by minutes: read when a process begins to lead, and swept when it is old. Only the commit
 * writes it, with what is charged (`storage/ledger/write-book.ts`). Whole store.
 */
import { USD } from '../../src/money/usd.js';
import type { Postgres, Statement } from '../postgres.js';

export interface UseOfMinute {
  readonly org: string;
  /** Of the InferenceEndpoint. */
  readonly uid: string;
  /** ms on Postgres's clock: its begin. */
  readonly minute: number;
  readonly requests: number;
  /** Of them, those that ended without a charge. */
  readonly errors: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUSD: USD;
}

/** Rows of one page. */
const PAGE = 5_000;

type UseRow = [
  org: string,
  uid: string,
  minute: number,
  requests: number,
  errors: number,
  input: number,
  output: number,
  cost: string,
];

/**
 * All minutes that begin at `since` (ms on Postgres's clock) or later, in the order of org, uid and minute, page by page, so that they need never
 * be in memory at once (I10). Rejects with a `RefusalError` Unavailable when Postgres does not answer.
 */
export async function* readUse(
  postgres: Pick<Postgres, 'readRows'>,
  since: number,
  page: number = PAGE,
): AsyncGenerator<readonly UseOfMinute[], void> {
  let after: readonly [org: string, uid: string, minute: number] = ['', '', 0];
  for (;;) {
    const rows = await postgres.readRows<UseRow>(USE, [since, ...after, page]);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(([org, uid, minute, requests, errors, inputTokens, outputTokens, cost]) => ({
      ...{ org, uid, minute, requests, errors, inputTokens, outputTokens, costUSD: new USD(cost) },
    }));
    if (rows.length < page) return;
    after = [last[0], last[1], last[2]];
  }
}

/** Removes at most `limit` minutes that begin before `before` (ms on Postgres's clock). Answers how many were removed. */
export async function sweepUse(postgres: Pick<Postgres, 'write'>, before: number, limit: number): Promise<number> {
  return postgres.write(SWEEP, [before, limit]);
}

const USE: Statement = {
  name: 'use of models',
  text: `
SELECT org, uid, floor(extract(epoch FROM minute) * 1000)::bigint, requests, errors, input_tokens, output_tokens, cost_usd::text
FROM inference_use
WHERE minute >= to_timestamp($1::bigint / 1000.0)
  AND (org, uid, minute) > ($2, $3, to_timestamp($4::bigint / 1000.0))
ORDER BY org, uid, minute LIMIT $5`,
};

/** Precondition: none. Result: at most $2 more of those before $1 are gone. */
const SWEEP: Statement = {
  name: 'sweep use of models',
  text: `
DELETE FROM inference_use WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM inference_use WHERE minute < to_timestamp($1::bigint / 1000.0) ORDER BY minute LIMIT $2
))`,
};
