/** What capacity costs by a price book: the rate of an Offering for the amounts that work asks for, and the terms of that work. Pure, exact. */
import type { PriceBook } from './price-book.js';
import { RESERVE_MS, UNIT_MS, type Terms } from './terms.js';
import { roundUSD, showUSD, USD } from './usd.js';

export interface PricedAmounts {
  /** Thousandths of a core. */
  readonly milliCpu: number;
  /** Bytes. */
  readonly memory: number;
}

const GIB = 2 ** 30;

/** USD per hour, nine decimals. An Offering that the book does not name is free: `checkOfferings` refuses a book that lacks one. */
export function rateOf({ offerings }: PriceBook, offering: string, { milliCpu, memory }: PricedAmounts): USD {
  const price = offerings[offering];
  if (price === undefined) return new USD(0);
  const cpu = new USD(price.perCpuHourUSD).times(milliCpu).dividedBy(1000);
  const ram = new USD(price.perGiBMemoryHourUSD).times(memory).dividedBy(GIB);
  return roundUSD(cpu.plus(ram).plus(price.perHourUSD));
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
