/**
 * What an object runs, as far as it has a price: so many Attempts of this size, so many of them at once, each for so long. Kinds say it of
 * their specs; `estimate.ts` computes the money. Pure.
 */
import type { ResourceAmounts } from './amounts.js';

/** Attempts of one size. */
export interface PricedPart {
  /** Where the spec stands that asks for it: `spec`, `spec.template.spec`. */
  readonly at: string;
  /** What each may use: that is what it pays for. */
  readonly amounts: ResourceAmounts;
  readonly placement?: PricedPlacement | undefined;
  /** Attempts in all, when none fails. */
  readonly runs: number;
  /** Attempts at the same time, at most. */
  readonly atOnce: number;
  /** How long one of them is expected to run (ms); undefined: the spec does not say. */
  readonly expected?: ExpectedTime | undefined;
}

/** As in the spec. */
export interface PricedPlacement {
  readonly maxRateUSDPerHour?: string | undefined;
  readonly profile?: string | undefined;
}

export interface ExpectedTime {
  readonly p50: number;
  readonly p90: number;
}

export interface PricedWork {
  readonly parts: readonly PricedPart[];
  /** Of an object whose children run the parts: how many parts run at the same time, at most. */
  readonly partsAtOnce?: number | undefined;
}

/** Of work that runs in one place. */
export function singlePart(
  amounts: ResourceAmounts,
  placement: PricedPlacement | undefined,
  expected: ExpectedTime | undefined,
): PricedWork {
  return { parts: [{ at: 'spec', amounts, placement, runs: 1, atOnce: 1, expected }] };
}
