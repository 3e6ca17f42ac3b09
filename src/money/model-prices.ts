/**
 * What a request to a model costs by the price book. Pure and exact: amounts are summed as they are, and rounded once, at the end. What a model
 * has no price for is billed as what it is a part of: reads from a cache and writes to it as input, long writes as other writes.
 */
import type { ModelPrice } from './price-book.js';
import { readUSD, USD, ZERO } from './usd.js';

/** Tokens of one request, each counted once: those read from a cache or written to it are in no other count. */
export interface Usage {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Written to a cache for longer than five minutes. */
  readonly longCacheWriteTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
}

export const ZERO_USAGE: Usage = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  longCacheWriteTokens: 0,
  outputTokens: 0,
};

/** The most that a request can use. */
export interface LargestUse {
  readonly inputTokens: number;
  /** Of all its answers together. */
  readonly outputTokens: number;
  /** It asks for cache writes that last. */
  readonly longCache?: boolean | undefined;
}

const MILLION = 1_000_000;

/** Half a billionth is rounded up. */
export function costOf(price: ModelPrice, usage: Usage): USD {
  const { input, cacheRead, cacheWrite, longCacheWrite, output } = unitPrices(price);
  return input
    .times(usage.inputTokens)
    .plus(cacheRead.times(usage.cacheReadTokens))
    .plus(cacheWrite.times(usage.cacheWriteTokens))
    .plus(longCacheWrite.times(usage.longCacheWriteTokens))
    .plus(output.times(usage.outputTokens))
    .dividedBy(MILLION, 'HalfUp');
}

/** No usage within `most` costs more, whatever of its input is read from a cache or written to one. */
export function largestCost(price: ModelPrice, { inputTokens, outputTokens, longCache = false }: LargestUse): USD {
  const { input, cacheRead, cacheWrite, longCacheWrite, output } = unitPrices(price);
  const dearest = USD.max(input, cacheRead, cacheWrite, ...(longCache ? [longCacheWrite] : []));
  return dearest.times(inputTokens).plus(output.times(outputTokens)).dividedBy(MILLION, 'Up');
}

/** Of a recording; undefined: the model has no price for seconds. At least so many as are charged always. */
export function secondsCost(
  { audioPerSecondUSD, audioMinimumSeconds = 0 }: ModelPrice,
  seconds: number,
): USD | undefined {
  if (audioPerSecondUSD === undefined) return undefined;
  const thousandths = Math.ceil(Math.max(seconds, audioMinimumSeconds) * 1_000);
  return readUSD(audioPerSecondUSD).times(thousandths).dividedBy(1_000, 'HalfUp');
}

/** Of a text that is spoken; undefined: the model has no price for characters. */
export function charactersCost({ speechPerMillionCharactersUSD }: ModelPrice, characters: number): USD | undefined {
  if (speechPerMillionCharactersUSD === undefined) return undefined;
  return readUSD(speechPerMillionCharactersUSD).times(characters).dividedBy(MILLION, 'HalfUp');
}

export function addUsage(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    longCacheWriteTokens: one.longCacheWriteTokens + other.longCacheWriteTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}

/** Of the prompt, from caches or not. */
export function promptTokens(usage: Usage): number {
  return usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.longCacheWriteTokens;
}

export function totalTokens(usage: Usage): number {
  return promptTokens(usage) + usage.outputTokens;
}

interface UnitPrices {
  readonly input: USD;
  readonly cacheRead: USD;
  readonly cacheWrite: USD;
  readonly longCacheWrite: USD;
  readonly output: USD;
}

/** Each for a million tokens. */
function unitPrices(price: ModelPrice): UnitPrices {
  const input = priceOr(price.inputPerMillionTokensUSD, ZERO);
  const cacheWrite = priceOr(price.cacheWritePerMillionTokensUSD, input);
  return {
    input,
    cacheRead: priceOr(price.cacheReadPerMillionTokensUSD, input),
    cacheWrite,
    longCacheWrite: priceOr(price.longCacheWritePerMillionTokensUSD, cacheWrite),
    output: priceOr(price.outputPerMillionTokensUSD, ZERO),
  };
}

function priceOr(price: string | undefined, otherwise: USD): USD {
  return price === undefined ? otherwise : readUSD(price);
}
