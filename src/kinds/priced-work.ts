/**
 * What an object runs, as far as it has a price: so many Attempts of this size, so many of them at once, each for so long. Kinds say it of
 * their specs; `estimate.ts` computes the money. Pure.
 */
import { sha256 } from '../api/sha256.js';
import type { ResourceAmounts } from './amounts.js';

/** Attempts of one size. */
export interface PricedPart {
  /** Where the spec stands that asks for it: `spec`, `spec.template.spec`. */
  readonly at: string;
  /** What each may use: that is what it pays for. */
  readonly amounts: ResourceAmounts;
  readonly placement?: PricedPlacement | undefined;
  /** As it is named. */
  readonly image?: string | undefined;
  /** Attempts in all, when none fails. */
  readonly runs: number;
  /** Attempts at the same time, at most. */
  readonly atOnce: number;
  /** How long one of them is expected to run (ms); undefined: the spec does not say. */
  readonly expected?: ExpectedTime | undefined;
  /** Equal for like work of a project (`likenessOf`). Undefined: how long other work ran says nothing about this. */
  readonly like?: string | undefined;
  /** It has no end of its own: that it was stopped (Cancelled) is its regular end. */
  readonly untilStopped?: boolean | undefined;
  /** One may not run for longer (ms); undefined: the spec sets no bound. */
  readonly most?: number | undefined;
  /** What its own object may cost, and where that stands. */
  readonly cap?: { readonly at: string; readonly maxCostUSD: string } | undefined;
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
  more: Pick<PricedPart, 'image' | 'expected' | 'like' | 'untilStopped' | 'most'> = {},
): PricedWork {
  return { parts: [{ at: 'spec', amounts, placement, runs: 1, atOnce: 1, ...more }] };
}

/** What runs, as far as its time depends on it. What differs between like work is where data and variables come from. */
export interface LikeProgram {
  readonly image?: string | undefined;
  readonly imageRef?: unknown;
  readonly command?: unknown;
  readonly args?: unknown;
  readonly initCommand?: unknown;
  readonly source?: unknown;
}

/** Longest text that is not shortened to its digest. */
const MOST_LIKENESS = 200;

/** `kind`: of the object whose Attempts run it. */
export function likenessOf(kind: string, program: LikeProgram, { milliCpu, memory }: ResourceAmounts): string {
  const { image, imageRef, command, args, initCommand, source } = program;
  const text = JSON.stringify([kind, milliCpu, memory, image, imageRef, command, args, initCommand, source]);
  return text.length <= MOST_LIKENESS ? text : sha256(text);
}
