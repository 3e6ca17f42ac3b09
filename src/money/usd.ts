/** Exact arithmetic in USD: enough digits that no sum of `numeric(20,9)` is ever rounded. */
import { Decimal } from 'decimal.js';

export const USD = Decimal.clone({ precision: 60 });
export type USD = Decimal;

/** At least two decimals, and as many more as are not zero. */
export function showUSD(amount: USD): string {
  return amount.toFixed(Math.max(2, amount.decimalPlaces()));
}
