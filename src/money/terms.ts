/**
 * What work costs while it holds capacity, and how it is billed: fixed when the work is admitted, and the same for as long as it runs
 * (design, "Time and rounding"). Amounts are exact decimal strings in USD.
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

export const UNIT_MS = 60_000;
export const RESERVE_MS = 60_000;

/** Digits behind the point that an amount has at most: Postgres keeps as many. */
const DECIMALS = 9;

const HOUR_MS = 3_600_000;

/** Half up. */
export function toNanoUSD(amount: USD): USD {
  return amount.toDecimalPlaces(DECIMALS, USD.ROUND_HALF_UP);
}

/** What `ms` of work cost: whole increments, and at least the minimum. */
export function priceOfTime(terms: Terms, ms: number): USD {
  return USD.max(terms.minimumUSD, timeAtRate(terms, ms));
}

/** What is held before work begins: one unit or the minimum, whichever is larger, and the reserve. */
export function firstHold(terms: Terms): USD {
  return priceOfTime(terms, terms.unitMs).plus(timeAtRate(terms, terms.reserveMs));
}

/** What `ms` of work cost in whole increments. */
export function timeAtRate({ rateUSDPerHour, incrementMs }: Terms, ms: number): USD {
  const billed = Math.ceil(ms / incrementMs) * incrementMs;
  return toNanoUSD(new USD(rateUSDPerHour).times(billed).dividedBy(HOUR_MS));
}
