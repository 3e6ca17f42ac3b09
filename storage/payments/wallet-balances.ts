/** What orgs that pay in advance have left, for notices and recharges. Whole store, bounded in rows; nothing here decides about money (I7). */
import type { Postgres, Statement } from '../postgres.js';

export interface WalletBalance {
  readonly org: string;
  /** Below zero: more is held than there is. */
  readonly availableUSD: string;
  /** Below zero: arrears. */
  readonly balanceUSD: string;
}

/** Those behind `after` by org, at most `limit`. Rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export type ReadBalances = (after: string, limit: number) => Promise<readonly WalletBalance[]>;

export function openWalletBalances(postgres: Postgres): ReadBalances {
  return async (after, limit) => {
    const rows = await postgres.readRows<[string, string, string]>(BALANCES, [after, limit]);
    return rows.map(([org, availableUSD, balanceUSD]) => ({ org, availableUSD, balanceUSD }));
  };
}

const BALANCES: Statement = {
  name: 'balances of wallets',
  text: `
SELECT m.org, (m.wallet_usd + coalesce(g.remaining, 0) - coalesce(c.held_usd, 0))::text,
  (m.wallet_usd + coalesce(g.remaining, 0))::text
FROM (SELECT org, wallet_usd FROM money_orgs WHERE mode = 'Prepaid' AND org > $1 ORDER BY org LIMIT $2) m
LEFT JOIN LATERAL (
  SELECT sum(remaining_usd) AS remaining FROM grants WHERE org = m.org AND remaining_usd > 0
) g ON true
LEFT JOIN counters c ON c.org = m.org AND c.counter = 'wallet'
ORDER BY m.org`,
};
