/**
 * USD amounts as text. They are exact decimals everywhere (`numeric(20,9)` in Postgres), shown with at least two
 * decimals and as many more as are not zero (decisions, "Money"). Never a floating point number.
 */
import { Decimal } from 'decimal.js';

/** Eleven digits before the point and nine after it: what `numeric(20,9)` holds. For OpenAPI. */
export const USD_PATTERN = '^-?[0-9]{1,11}(\\.[0-9]{1,9})?$';

/** The largest amount, and the smallest step from one to the next. */
export const LARGEST_USD = '99999999999.999999999';
export const USD_STEP = '0.000000001';

const USD = new RegExp(USD_PATTERN);
const PLACES = 9;

/** The exact amount; undefined for what is no USD amount (exponents, more than nine decimals, signs other than one minus). */
export function parseUsd(text: string): Decimal | undefined {
  return USD.test(text) ? new Decimal(text) : undefined;
}

/** `1` → `1.00`, `0.0005` → `0.0005`. Digits beyond the ninth decimal are rounded half up. */
export function formatUsd(amount: Decimal | string): string {
  const value = new Decimal(amount).toDecimalPlaces(PLACES, Decimal.ROUND_HALF_UP);
  // Plus zero, so that a negative zero is not shown.
  return value.plus(0).toFixed(Math.max(2, value.decimalPlaces()));
}
