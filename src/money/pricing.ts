/** What capacity costs by a price book: the rate of an Offering for the amounts that work asks for, and the terms of that work. Pure, exact. */
import { Decimal } from 'decimal.js';
import type { PriceBook } from './price-book.js';
import { RESERVE_MS, UNIT_MS, type Terms } from './terms.js';
import { showUSD, USD, USD_PLACES } from './usd.js';

export interface PricedAmounts {
  /** Thousandths of a core. */
  readonly milliCpu: number;
  /** Bytes. */
  readonly memory: number;
}

const GIB = 2 ** 30;
/** Digits enough that only the sum is rounded. */
const Exact = Decimal.clone({ precision: 60 });

/** USD per hour, nine decimals, half up. An Offering that the book does not name is free: `checkOfferings` refuses a book that lacks one. */
export function rateOf({ offerings }: PriceBook, offering: string, { milliCpu, memory }: PricedAmounts): USD {
  const price = offerings[offering];
  if (price === undefined) return new USD(0);
  const cpu = new Exact(price.perCpuHourUSD).times(milliCpu).dividedBy(1000);
  const ram = new Exact(price.perGiBMemoryHourUSD).times(memory).dividedBy(GIB);
  return new USD(cpu.plus(ram).plus(price.perHourUSD).toDecimalPlaces(USD_PLACES, Exact.ROUND_HALF_UP).toFixed());
}

/** What work that asks for these amounts is admitted at today. */
export function termsOf(book: PriceBook, offering: string, amounts: PricedAmounts): Terms {
  const price = book.offerings[offering];
  const { incrementSeconds = 1, minimumUSD = '0.00' } = price ?? {};
  return {
    rateUSDPerHour: showUSD(rateOf(book, offering, amounts)),
    incrementMs: incrementSeconds * 1000,
    minimumUSD,
    unitMs: price === undefined ? UNIT_MS : price.holdSeconds * 1000,
    reserveMs: price === undefined ? RESERVE_MS : price.reserveSeconds * 1000,
  };
}
