/**
 * The names of counters, which say what is spent and held: `cost/<uid>` of an object, `budget/<uid>/<period>` of a Budget, `wallet` of the
 * org. A period is a month in UTC, `2026-11`, or `total`. A counter that has no row is zero, so a new month needs nothing to begin.
 */

export const WALLET = 'wallet';

export type CounterName =
  | { readonly of: 'Wallet' }
  | { readonly of: 'Cost'; readonly uid: string }
  | { readonly of: 'Budget'; readonly uid: string; readonly period: string };

export function costCounter(uid: string): string {
  return `cost/${uid}`;
}

/** `period` is `total` or a month. */
export function budgetCounter(uid: string, period: string): string {
  return `budget/${uid}/${period}`;
}

export function parseCounter(counter: string): CounterName {
  if (counter === WALLET) return { of: 'Wallet' };
  const [of, uid = '', period = ''] = counter.split('/');
  return of === 'cost' ? { of: 'Cost', uid } : { of: 'Budget', uid, period };
}

/** The UTC month of a time in ms. */
export function monthOf(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}

/** The part of a counter's name that says when: the month of `at` (ms), or `total`. */
export function periodOf(period: 'Monthly' | 'Total', at: number): string {
  return period === 'Monthly' ? monthOf(at) : 'total';
}

/** First ms of the next UTC month. */
export function periodEnd(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
