/**
 * The names of counters, which say what is spent and held: `cost/<uid>` of an object, `budget/<uid>/<period>` of a Budget, `wallet` of the
 * org. A period is a month in UTC, `2026-11`, or `total`. A counter that has no row is zero, so a new month needs nothing to begin.
 */

export const WALLET = 'wallet';
/** Before the uid of an object. */
export const COST = 'cost/';

export type CounterName =
  | { readonly of: 'Wallet' }
  | { readonly of: 'Cost'; readonly uid: string }
  | { readonly of: 'Budget'; readonly uid: string; readonly period: string };

export function costCounter(uid: string): string {
  return `${COST}${uid}`;
}

/** `period` is `total` or a month. */
export function budgetCounter(uid: string, period: string): string {
  return `budget/${uid}/${period}`;
}

const OF_WALLET: CounterName = { of: 'Wallet' };
/** Every hold has the same few Budgets. Full: forgotten at once (I10). */
const MOST_KNOWN = 4_096;
const known = new Map<string, CounterName>();

export function parseCounter(counter: string): CounterName {
  if (counter === WALLET) return OF_WALLET;
  if (counter.startsWith(COST)) return { of: 'Cost', uid: counter.slice(COST.length) };
  let name = known.get(counter);
  if (name === undefined) {
    const [, uid = '', period = ''] = counter.split('/');
    name = { of: 'Budget', uid, period };
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(counter, name);
  }
  return name;
}

/** A Budget's counter for one month. */
export function isOfMonth(counter: string): boolean {
  if (counter === WALLET || counter.startsWith(COST)) return false;
  const name = parseCounter(counter);
  return name.of === 'Budget' && name.period !== 'total';
}

/** The month that was asked for last, which nearly always is asked for again. */
let last = { from: 0, end: 0, month: '' };

function monthAt(at: number): typeof last {
  if (at < last.from || at >= last.end) {
    const date = new Date(at);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    last = { from: Date.UTC(year, month), end: Date.UTC(year, month + 1), month: date.toISOString().slice(0, 7) };
  }
  return last;
}

/** The UTC month of a time in ms. */
export function monthOf(at: number): string {
  return monthAt(at).month;
}

/** The part of a counter's name that says when: the month of `at` (ms), or `total`. */
export function periodOf(period: 'Monthly' | 'Total', at: number): string {
  return period === 'Monthly' ? monthOf(at) : 'total';
}

/** First ms of the next UTC month. */
export function periodEnd(at: number): number {
  return monthAt(at).end;
}
