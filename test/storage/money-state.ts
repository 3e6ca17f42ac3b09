/** What a book holds, and what Postgres holds of an org's ledger, in one form, so that the two can be compared. */
import type { Book } from '../../src/money/book.js';
import { SEGMENTS } from '../../src/money/hold.js';
import { monthOf } from '../../src/money/counters.js';
import { sumUSD, USD, ZERO } from '../../src/money/usd.js';
import { holdRow } from '../../storage/ledger/rows.js';
import type { Postgres } from '../../storage/postgres.js';

type Lines = readonly string[];

export interface MoneyState {
  readonly counters: Lines;
  readonly grants: Lines;
  readonly holds: Lines;
  readonly caps: Lines;
  readonly budgets: Lines;
  readonly wallet: Lines;
  /** Of all postings, by account. */
  readonly accounts: Lines;
  /** Of all postings, by month and reason. */
  readonly months: Lines;
  /** Of requests to models, by InferenceEndpoint and minute. */
  readonly uses: Lines;
}

const amount = (text: string | USD): string => new USD(text).toFixed();

/** A counter that a refused hold has touched may have a row or not. */
const isNotEmpty = (counter: string): boolean => !counter.endsWith(' 0,0,0 0 0,0,0,0 ');

/** The same value with its keys in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}

/** `now`: of the last operation. */
export function stateOf(book: Book, now: number): MoneyState {
  const counters = [...book.counters.values()].map((one) => {
    const segments = SEGMENTS.map((segment) => amount(one.segments[segment] ?? ZERO)).join();
    const figures = [one.spentUSD, one.heldUSD, one.openingUSD].map(amount).join();
    return `${one.counter} ${figures} ${one.holders} ${segments} ${one.covered.toSorted().join()}`;
  });
  const accounts = new Map<string, USD>();
  const months = new Map<string, USD>();
  const add = (to: Map<string, USD>, key: string, more: USD): void => {
    to.set(key, more.plus(to.get(key) ?? ZERO));
  };
  for (const { lines, period, reason, amountUSD } of book.postings) {
    for (const line of lines) add(accounts, line.account, line.amountUSD);
    add(months, `${period} ${reason}`, amountUSD);
  }
  const holds = [...book.holds.values()].map((hold) => {
    // When it is renewed was computed when it was written last, which may be before now.
    const { key, uid, body, counters: on, amount: held, refused_by: by } = holdRow('', hold, now);
    return JSON.stringify([key, uid, sorted(JSON.parse(JSON.stringify(body))), on, amount(String(held)), by]);
  });
  return {
    counters: counters.filter(isNotEmpty).toSorted(),
    grants: [...book.grants.values()].map((one) => `${one.uid} ${amount(one.remainingUSD)} ${one.expires}`).toSorted(),
    holds: holds.toSorted(),
    caps: [...book.caps].map(([uid, limit]) => `${uid} ${amount(limit)}`).toSorted(),
    budgets: [...book.budgets.values()].map((one) => `${one.uid} ${amount(one.limitUSD)}`).toSorted(),
    wallet: [`${amount(book.walletUSD)} ${book.mode} ${book.modeSequence} ${book.disputed}`],
    accounts: [...accounts].map(([account, sum]) => `${account} ${amount(sum)}`).toSorted(),
    months: [...months].map(([month, sum]) => `${month} ${amount(sum)}`).toSorted(),
    uses: usesIn(book),
  };
}

function usesIn(book: Book): Lines {
  const minutes = new Map(book.uses.map((use) => [`${use.uid} ${use.minute}`, [] as (typeof book.uses)[number][]]));
  for (const use of book.uses) minutes.get(`${use.uid} ${use.minute}`)?.push(use);
  return [...minutes]
    .map(([name, all]) => {
      const sum = (of: (use: (typeof all)[number]) => number): number => all.reduce((so, use) => so + of(use), 0);
      const tokens = [sum((use) => use.inputTokens), sum((use) => use.outputTokens)];
      const counts = [sum((use) => use.requests), sum((use) => use.errors), ...tokens];
      return `${name} ${counts.join()} ${amount(sumUSD(all.map(({ costUSD }) => costUSD)))}`;
    })
    .toSorted();
}

type Figures = [counter: string, figures: string[], holders: number, segments: string[], covered: string[]];

export async function storedState(postgres: Postgres, org: string): Promise<MoneyState> {
  const read = <Row extends unknown[]>(name: string, text: string): Promise<Row[]> =>
    postgres.readRows<Row>({ name: `state: ${name}`, text }, [org]);
  const counters = await read<Figures>(
    'counters',
    `SELECT counter, ARRAY[spent_usd, held_usd, opening_usd]::text[], holders,
       ARRAY[boot_usd, running_usd, restore_usd, teardown_usd]::text[], covered FROM counters WHERE org = $1`,
  );
  const grants = await read<[string, string, number | null]>(
    'grants',
    'SELECT uid, remaining_usd::text, expires FROM grants WHERE org = $1',
  );
  const holds = await read<[string, string, string, string[], string, string | null]>(
    'holds',
    'SELECT key, uid, body, counters, amount_usd::text, refused_by FROM holds WHERE org = $1',
  );
  const caps = await read<[string, string]>('caps', 'SELECT uid, limit_usd::text FROM caps WHERE org = $1');
  const budgets = await read<[string, string]>('budgets', 'SELECT uid, limit_usd::text FROM budgets WHERE org = $1');
  const [wallet = ['0', 'Unlimited', 0, false]] = await read<[string, string, number, boolean]>(
    'wallet',
    'SELECT wallet_usd::text, mode, mode_sequence, disputed FROM money_orgs WHERE org = $1',
  );
  const accounts = await read<[string, string]>(
    'accounts',
    'SELECT account, sum(amount_usd)::text FROM lines WHERE org = $1 GROUP BY account',
  );
  const months = await read<[string, string, string, number]>(
    'months',
    `SELECT period || ' ' || reason, sum(amount_usd)::text, period,
       min(floor(extract(epoch FROM time) * 1000))::bigint FROM postings WHERE org = $1 GROUP BY period, reason`,
  );
  const uses = await read<[string, number, string[], string]>(
    'uses',
    `SELECT uid, floor(extract(epoch FROM minute) * 1000)::bigint,
       ARRAY[requests, errors, input_tokens, output_tokens]::text[], cost_usd::text FROM inference_use WHERE org = $1`,
  );
  // Whoever reads a month asks for what was posted since it began.
  for (const [, , period, first] of months)
    if (monthOf(first) < period) throw new Error(`what counts in ${period} was posted in ${monthOf(first)}`);
  const figures = counters.map(
    ([counter, sums, holders, segments, covered]) =>
      `${counter} ${sums.map(amount).join()} ${holders} ${segments.map(amount).join()} ${covered.toSorted().join()}`,
  );
  return {
    counters: figures.filter(isNotEmpty).toSorted(),
    grants: grants.map(([uid, left, expires]) => `${uid} ${amount(left)} ${expires ?? undefined}`).toSorted(),
    holds: holds
      .map(([key, uid, body, on, held, by]) =>
        JSON.stringify([key, uid, sorted(JSON.parse(body)), on, amount(held), by]),
      )
      .toSorted(),
    caps: caps.map(([uid, limit]) => `${uid} ${amount(limit)}`).toSorted(),
    budgets: budgets.map(([uid, limit]) => `${uid} ${amount(limit)}`).toSorted(),
    wallet: [`${amount(wallet[0])} ${wallet[1]} ${wallet[2]} ${wallet[3]}`],
    accounts: accounts.map(([account, sum]) => `${account} ${amount(sum)}`).toSorted(),
    months: months.map(([month, sum]) => `${month} ${amount(sum)}`).toSorted(),
    uses: uses.map(([uid, minute, counts, cost]) => `${uid} ${minute} ${counts.join()} ${amount(cost)}`).toSorted(),
  };
}
