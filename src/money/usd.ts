/** Exact arithmetic in USD: enough digits that no sum of `numeric(20,9)` is ever rounded. */
import { Decimal } from 'decimal.js';

export const USD = Decimal.clone({ precision: 60 });
export type USD = Decimal;

export const ZERO = new USD(0);

/** All parts of a hold have the same few amounts. Full: forgotten at once (I10). */
const MOST_KNOWN = 4_096;
const known = new Map<string, USD>();

/** A decimal that was written by these rules before. Its value never changes, so it is shared. */
export function readUSD(text: string): USD {
  let amount = known.get(text);
  if (amount === undefined) {
    amount = new USD(text);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(text, amount);
  }
  return amount;
}

/** Decimals that an amount may have. */
const PLACES = 9;
/** Eleven digits before the point and nine after it: what `numeric(20,9)` holds. */
const AMOUNT = /^\d{1,11}(\.\d{1,9})?$/;

/** An amount as it is made: not negative, at most nine decimals, below 1e11. Throws a RangeError for anything else (I7). */
export function amountOf(text: string): USD {
  if (!AMOUNT.test(text)) throw new RangeError(`${JSON.stringify(text.slice(0, 40))} is not an amount in USD`);
  return new USD(text);
}

/** Nine decimals, half up. */
export function roundUSD(amount: USD): USD {
  return amount.toDecimalPlaces(PLACES, USD.ROUND_HALF_UP);
}

/** Nine decimals, up: what is held covers what will be charged. */
export function ceilUSD(amount: USD): USD {
  return amount.toDecimalPlaces(PLACES, USD.ROUND_UP);
}

export function sumUSD(amounts: readonly (USD | string)[]): USD {
  return amounts.reduce<USD>((sum, amount) => sum.plus(amount), ZERO);
}

/** At least two decimals, and as many more as are not zero. */
export function showUSD(amount: USD): string {
  return amount.toFixed(Math.max(2, amount.decimalPlaces()));
}
