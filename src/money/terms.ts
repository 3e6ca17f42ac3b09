/**
 * What work costs while it holds capacity, and how it is billed: fixed when the work is admitted, and the same for as long as it runs
 * (decisions, "Money"). Amounts are exact decimal strings in USD.
 */
import { USD } from './usd.js';

export interface Terms {
  readonly rateUSDPerHour: string;
  /** Billing increment (ms): the billed time is rounded up to whole ones. */
  readonly incrementMs: number;
  /** Smallest charge, however short the work is. */
  readonly minimumUSD: string;
  /** Time that is held at once (ms). */
  readonly unitMs: number;
  /** Time that is held for a graceful end (ms). */
  readonly reserveMs: number;
}

export const MS_PER_HOUR = 3_600_000;
/** Where the price book says nothing else. */
export const UNIT_MS = 60_000;
export const RESERVE_MS = 60_000;

/** What `ms` of work cost: whole increments, and at least the minimum. */
export function priceOfTime(terms: Terms, ms: number): USD {
  return USD.max(terms.minimumUSD, timeAtRate(terms, ms));
}

/** What `ms` of work cost in whole increments. */
export function timeAtRate({ rateUSDPerHour, incrementMs }: Terms, ms: number): USD {
  const billed = Math.ceil(ms / incrementMs) * incrementMs;
  return new USD(rateUSDPerHour).times(billed).dividedBy(MS_PER_HOUR, 'HalfUp');
}
