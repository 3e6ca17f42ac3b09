/**
 * A hold: money that is set aside for one piece of work, and where the billing of that work stands. Its row has everything that a charge
 * or a renewal is computed from, so no caller can be out of date.
 */
import { isOfMonth, parseCounter } from './counters.js';
import type { CostOwner, Payer } from './payer.js';
import { MS_PER_HOUR, type Terms } from './terms.js';
import { readUSD, sumUSD, USD, ZERO } from './usd.js';

export { MS_PER_HOUR, type Terms };

export const SEGMENTS = ['Boot', 'Running', 'Restore', 'Teardown'] as const;
export type Segment = (typeof SEGMENTS)[number];

/** What the hold still has on one counter. */
export interface Part {
  readonly counter: string;
  readonly amountUSD: string;
}

export interface Billing {
  readonly segment: Segment;
  /** Everything before this time is billed (ms). */
  readonly since: number;
  readonly rateUSDPerHour: string;
}

/** What was charged for one segment in one month, on the same counters. */
export interface Charged {
  readonly segment: Segment;
  readonly period: string;
  readonly amountUSD: string;
  /** From credits; else it is unbilled. */
  readonly paid?: true | undefined;
  /** Where it counts. Absent in older holds: on those that the hold has parts of. */
  readonly counters?: readonly string[] | undefined;
}

/** Why the last renewal got nothing. */
export interface RenewalRefusal {
  readonly counter: string;
  /** ms. */
  readonly since: number;
}

export interface Hold {
  /** Unique within the org. */
  readonly key: string;
  /** The object that holds, as a rule an Attempt. */
  readonly owner: CostOwner;
  readonly payer: Payer;
  readonly terms: Terms;
  readonly parts: readonly Part[];
  /** Grows with each change. */
  readonly sequence: number;
  /** ms. */
  readonly placedAt: number;
  /** Absent: nothing has begun that is billed. */
  readonly billing?: Billing | undefined;
  readonly billedMs: Readonly<Partial<Record<Segment, number>>>;
  /** Rate × time of everything billed (USD per hour × ms), exact. */
  readonly accrued: string;
  readonly charged: readonly Charged[];
  /** What the service paid, since the hold had no more or the service was at fault. */
  readonly coveredUSD: Readonly<Partial<Record<Segment, string>>>;
  readonly refusal?: RenewalRefusal | undefined;
  /** A Budget has no room for it, so it gave back what it had far ahead; once others have done so too, it is decided whether it goes on. */
  readonly squeezed?: true | undefined;
  /** `modeSequence` of the book that its money was taken from: in another mode it was not in the wallet, or not needed there. */
  readonly fundedIn?: number | undefined;
  /** Number of the last draw of requests to models. What they were charged is none of what its time is. */
  readonly drawn?: number | undefined;
  /** As of the last draw: what requests under way have used, by an estimate. It is charged when nobody is left who could say what it came to. */
  readonly underWayUSD?: string | undefined;
}

/** Minimum charge or one unit in whole increments, whichever is larger, and the reserve. */
export function firstAmount(terms: Terms): USD {
  const unit = priceOf(terms.rateUSDPerHour, ceilTo(terms.unitMs, terms.incrementMs));
  return USD.max(terms.minimumUSD, unit).plus(reserveOf(terms));
}

/** The reserve for a graceful end; at the dearer rate where billing has another than the terms. */
export function reserveOf(terms: Terms, rateUSDPerHour = '0'): USD {
  const rate = USD.max(terms.rateUSDPerHour, rateUSDPerHour);
  return rate.times(terms.reserveMs).dividedBy(MS_PER_HOUR, 'Up');
}

/** What so much time costs, rounded up. */
export function priceOf(rateUSDPerHour: string, ms: number): USD {
  return new USD(rateUSDPerHour).times(ms).dividedBy(MS_PER_HOUR, 'Up');
}

/** What everything billed so far costs. */
export function dueOf({ accrued }: Pick<Hold, 'accrued'>): USD {
  return new USD(accrued).dividedBy(MS_PER_HOUR, 'HalfUp');
}

/** What was charged or covered of that. */
export function settledOf(hold: Hold): USD {
  return chargedOf(hold).plus(sumUSD(Object.values(hold.coveredUSD)));
}

/** What was charged so far. */
export function chargedOf(hold: Hold): USD {
  return sumUSD(hold.charged.map(({ amountUSD }) => amountUSD));
}

export function billedMsOf(hold: Hold): number {
  return Object.values(hold.billedMs).reduce((sum, ms) => sum + ms, 0);
}

/** What the hold has where no month matters; the largest of the parts of months when nothing else is there. */
export function amountOfHold(hold: Pick<Hold, 'parts'>): USD {
  return leastOf(hold.parts.filter(({ counter }) => !isOfMonth(counter)).map(({ amountUSD }) => amountUSD));
}

/** Of none: nothing. Nearly always all of them are the same text. */
function leastOf([first, ...others]: readonly string[]): USD {
  if (first === undefined) return ZERO;
  const different = others.filter((amount) => amount !== first);
  return different.length === 0 ? readUSD(first) : USD.min(first, ...different);
}

/** Budgets by month in which the hold has a part, of whichever month. */
function monthlyBudgets(hold: Pick<Hold, 'parts'>): Set<string> {
  const uids = new Set<string>();
  for (const { counter } of hold.parts) {
    if (!isOfMonth(counter)) continue;
    const name = parseCounter(counter);
    if (name.of === 'Budget') uids.add(name.uid);
  }
  return uids;
}

/** The counters in which a charge of this month counts. */
export function countersIn(hold: Pick<Hold, 'parts'>, period: string): readonly string[] {
  const others = hold.parts.map(({ counter }) => counter).filter((counter) => !isOfMonth(counter));
  return [...others, ...[...monthlyBudgets(hold)].map((uid) => `budget/${uid}/${period}`)];
}

/** The most that can be charged in this month: a monthly Budget without a part in it leaves nothing. */
export function capacityIn(hold: Pick<Hold, 'parts'>, period: string): USD {
  // As a rule no part is of another month: then all of them count.
  if (hold.parts.every(({ counter }) => countsIn(counter, period)))
    return leastOf(hold.parts.map(({ amountUSD }) => amountUSD));
  const amounts = new Map(hold.parts.map(({ counter, amountUSD }) => [counter, amountUSD]));
  const counters = countersIn(hold, period);
  return leastOf(counters.map((counter) => amounts.get(counter) ?? '0'));
}

function countsIn(counter: string, period: string): boolean {
  const name = parseCounter(counter);
  return name.of !== 'Budget' || name.period === 'total' || name.period === period;
}

export function hasMonthlyParts(hold: Pick<Hold, 'parts'>): boolean {
  return hold.parts.some(({ counter }) => isOfMonth(counter));
}

export function ceilTo(ms: number, increment: number): number {
  return Math.ceil(ms / increment) * increment;
}
