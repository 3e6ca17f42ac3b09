/** Reads of the ledger for the wallet and its entries. Bounded in rows. Nothing here decides about money: only the commit does. */
import { emptyCounter, type Counter } from '../../src/money/book.js';
import { WALLET } from '../../src/money/counters.js';
import type { Hold } from '../../src/money/hold.js';
import type { WalletMode } from '../../src/money/limits.js';
import { USD } from '../../src/money/usd.js';
import type { Postgres, Statement } from '../postgres.js';
import { ENTRY_COLUMNS, entryOf, type EntryRow, type LedgerEntry } from './entries.js';
import { counterOf, COUNTER_COLUMNS, holdOf, type CounterRow } from './rows.js';
import { openTurns } from './turns.js';

export interface WalletFigures {
  readonly mode: WalletMode;
  /** What grants still have, and what is owed or was given back. Below zero: arrears. */
  readonly balanceUSD: USD;
  readonly heldUSD: USD;
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface LedgerReads {
  /** Zero where nothing was ever spent or held. */
  counter(org: string, name: string): Promise<Counter>;
  hold(org: string, key: string): Promise<Hold | undefined>;
  /** Those of one object, at most `limit`. */
  holdsOf(org: string, uid: string, limit: number): Promise<readonly Hold[]>;
  wallet(org: string): Promise<WalletFigures>;
  /** Those behind a position, in order, at most `limit`; only those that count in `month` (`2026-11`), where one is given. `signal` ends the wait for a turn. */
  entries(
    org: string,
    after: number,
    limit: number,
    signal: AbortSignal,
    month?: string,
  ): Promise<readonly LedgerEntry[]>;
}

export function openLedgerReads(postgres: Postgres): LedgerReads {
  // Those of an early month may lie behind all that came later. As many wait as requests of an org may be under way.
  const inTurn = openTurns({ atOnce: 4, mostWaiting: 2_000, what: 'lists of its entries' });
  return {
    async counter(org, name) {
      const [row] = await postgres.readRows<CounterRow>(COUNTER, [org, name]);
      return row === undefined ? emptyCounter(name) : counterOf(row);
    },
    async hold(org, key) {
      const [row] = await postgres.readRows<[number, string]>(HOLD, [org, key]);
      return row && holdOf(...row);
    },
    async holdsOf(org, uid, limit) {
      const rows = await postgres.readRows<[number, string]>(HOLDS_OF, [org, uid, limit]);
      return rows.map(([format, body]) => holdOf(format, body));
    },
    async wallet(org) {
      const [row] = await postgres.readRows<[WalletMode, string, string]>(WALLET_FIGURES, [org, WALLET]);
      const [mode, balance, held] = row ?? ['Unlimited', '0', '0'];
      return { mode, balanceUSD: new USD(balance), heldUSD: new USD(held) };
    },
    async entries(org, after, limit, signal, month) {
      const rows = await inTurn(org, signal, () =>
        month === undefined
          ? postgres.readRows<EntryRow>(ENTRIES, [org, after, limit])
          : postgres.readRows<EntryRow>(ENTRIES_OF_MONTH, [org, after, limit, month]),
      );
      return rows.map(entryOf);
    },
  };
}

const COUNTER: Statement = {
  name: 'counter',
  text: `SELECT ${COUNTER_COLUMNS} FROM counters c WHERE c.org = $1 AND c.counter = $2`,
};

const HOLD: Statement = { name: 'hold', text: 'SELECT format, body FROM holds WHERE org = $1 AND key = $2' };

const HOLDS_OF: Statement = {
  name: 'holds of an object',
  text: 'SELECT format, body FROM holds WHERE org = $1 AND uid = $2 ORDER BY key LIMIT $3',
};

const WALLET_FIGURES: Statement = {
  name: 'wallet',
  text: `
SELECT coalesce((SELECT mode FROM money_orgs WHERE org = $1), 'Unlimited'),
  (coalesce((SELECT wallet_usd FROM money_orgs WHERE org = $1), 0)
    + coalesce((SELECT sum(remaining_usd) FROM grants WHERE org = $1 AND remaining_usd > 0), 0))::text,
  coalesce((SELECT held_usd FROM counters WHERE org = $1 AND counter = $2), 0)::text`,
};

const ENTRIES_BEHIND = `SELECT ${ENTRY_COLUMNS('lines')} FROM postings p WHERE p.org = $1 AND p.position > $2::bigint`;

const ENTRIES: Statement = { name: 'ledger entries', text: `${ENTRIES_BEHIND} ORDER BY p.position LIMIT $3` };

/** Nothing that counts in a month is posted before it, so older partitions are not read. */
const ENTRIES_OF_MONTH: Statement = {
  name: 'ledger entries of a month',
  text: `${ENTRIES_BEHIND} AND p.period = $4 AND p.time >= ($4::text || '-01 00:00:00+00')::timestamptz
ORDER BY p.position LIMIT $3`,
};
