/** Exact amounts in USD, as whole numbers of billionths: what `numeric` with nine decimals holds in Postgres. Nothing is ever rounded unsaid. */

/** Decimals that an amount may have. */
export const USD_PLACES = 9;
const UNIT = 10n ** BigInt(USD_PLACES);
/** A whole number is of USD. */
type Amount = USD | string | number;

/** Of a quotient that is not a whole number of billionths. */
export type Rounding = 'HalfUp' | 'Up' | 'Down';

export class USD {
  readonly billionths: bigint;

  /** A bigint is of billionths. Throws for a text that is not a decimal with at most nine places, and for a number that is not whole. */
  constructor(amount: Amount | bigint) {
    this.billionths = typeof amount === 'bigint' ? amount : billionthsOf(amount);
  }

  static max(first: Amount, ...others: readonly Amount[]): USD {
    return others.reduce<USD>((most, one) => (most.lt(one) ? usdOf(one) : most), usdOf(first));
  }

  static min(first: Amount, ...others: readonly Amount[]): USD {
    return others.reduce<USD>((least, one) => (least.gt(one) ? usdOf(one) : least), usdOf(first));
  }

  plus(other: Amount): USD {
    return new USD(this.billionths + billionthsOf(other));
  }

  minus(other: Amount): USD {
    return new USD(this.billionths - billionthsOf(other));
  }

  negated(): USD {
    return new USD(-this.billionths);
  }

  /** `factor` is whole. */
  times(factor: number): USD {
    return new USD(this.billionths * BigInt(factor));
  }

  /** Precondition: neither is below zero, and `divisor` is whole and not zero. */
  dividedBy(divisor: number, rounding: Rounding): USD {
    const by = BigInt(divisor);
    const quotient = this.billionths / by;
    const rest = this.billionths % by;
    const up = rounding === 'Up' ? rest > 0n : rounding === 'HalfUp' && 2n * rest >= by;
    return new USD(up ? quotient + 1n : quotient);
  }

  /** How many times the other goes into this one, whole; more than any number for an amount that is zero. Precondition: neither is below zero. */
  wholeTimes(other: Amount): number {
    const by = billionthsOf(other);
    return by === 0n ? Number.POSITIVE_INFINITY : Number(this.billionths / by);
  }

  isZero(): boolean {
    return this.billionths === 0n;
  }

  isNegative(): boolean {
    return this.billionths < 0n;
  }

  eq(other: Amount): boolean {
    return this.billionths === billionthsOf(other);
  }

  lt(other: Amount): boolean {
    return this.billionths < billionthsOf(other);
  }

  lte(other: Amount): boolean {
    return this.billionths <= billionthsOf(other);
  }

  gt(other: Amount): boolean {
    return this.billionths > billionthsOf(other);
  }

  gte(other: Amount): boolean {
    return this.billionths >= billionthsOf(other);
  }

  /** For sorting. */
  comparedTo(other: Amount): number {
    const than = billionthsOf(other);
    return this.billionths < than ? -1 : this.billionths > than ? 1 : 0;
  }

  /** A decimal with as many places as are not zero: how amounts are stored. */
  toFixed(): string {
    return textOf(this.billionths, 0);
  }
}

function usdOf(amount: Amount): USD {
  return typeof amount === 'object' ? amount : new USD(amount);
}

function billionthsOf(amount: Amount): bigint {
  if (typeof amount === 'object') return amount.billionths;
  if (typeof amount === 'number') return BigInt(amount) * UNIT;
  const point = amount.indexOf('.');
  if (point < 0) return BigInt(amount) * UNIT;
  const decimals = amount.length - point - 1;
  if (decimals > USD_PLACES) throw new RangeError(`${amount.slice(0, 40)} has more than ${USD_PLACES} decimals`);
  // In one piece, so that a minus before a zero is not lost.
  return BigInt(amount.slice(0, point) + amount.slice(point + 1)) * 10n ** BigInt(USD_PLACES - decimals);
}

/** At least `least` decimals, and as many more as are not zero. */
function textOf(billionths: bigint, least: number): string {
  const sign = billionths < 0n ? '-' : '';
  const digits = (billionths < 0n ? -billionths : billionths).toString().padStart(USD_PLACES + 1, '0');
  const point = digits.length - USD_PLACES;
  let end = digits.length;
  while (end > point + least && digits.endsWith('0', end)) end -= 1;
  const whole = sign + digits.slice(0, point);
  return end === point ? whole : `${whole}.${digits.slice(point, end)}`;
}

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

/** Eleven digits before the point and nine after it: what `numeric(20,9)` holds. */
const AMOUNT = /^\d{1,11}(\.\d{1,9})?$/;

/** An amount as it is made: not negative, at most nine decimals, below 1e11. Throws a RangeError for anything else (I7). */
export function amountOf(text: string): USD {
  if (!AMOUNT.test(text)) throw new RangeError(`${JSON.stringify(text.slice(0, 40))} is not an amount in USD`);
  return new USD(text);
}

export function sumUSD(amounts: readonly (USD | string)[]): USD {
  return amounts.reduce<USD>((sum, amount) => sum.plus(amount), ZERO);
}

/** At least two decimals, and as many more as are not zero. */
export function showUSD({ billionths }: USD): string {
  return textOf(billionths, 2);
}
