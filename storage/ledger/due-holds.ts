/** Finds the holds that are due for renewal, for the ticker of the process that holds the lease. */
import type { CostOwner } from '../../src/money/payer.js';
import type { Postgres, Statement } from '../postgres.js';
import { holdOf } from './rows.js';

export interface DueHold {
  readonly key: string;
  /** For the operation `Renew`: a hold that has changed since is left alone. */
  readonly sequence: number;
  /** It is renewed all the same. */
  readonly evenIfChanged?: true | undefined;
  /** ms. */
  readonly placedAt: number;
  /** Hears of a renewal that is refused, or works again. */
  readonly owner: CostOwner;
}

/** By org. */
export type DueHolds = ReadonlyMap<string, readonly DueHold[]>;

/**
 * Whole store: at most `limit` holds whose time of renewal is `now` (ms on Postgres's clock) or before, the longest due first, by org. Rejects
 * with a `RefusalError` Unavailable.
 */
export async function readDueHolds(postgres: Postgres, now: number, limit: number): Promise<DueHolds> {
  const rows = await postgres.readRows<[string, number, string]>(DUE, [now, limit]);
  const due = new Map<string, DueHold[]>();
  for (const [org, format, body] of rows) {
    const { key, sequence, placedAt, owner } = holdOf(format, body);
    const others = due.get(org) ?? [];
    due.set(org, others);
    others.push({ key, sequence, placedAt, owner });
  }
  return due;
}

const DUE: Statement = {
  name: 'due holds',
  text: 'SELECT org, format, body FROM holds WHERE renew_at <= $1::bigint ORDER BY renew_at LIMIT $2',
};
