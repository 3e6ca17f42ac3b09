import test from 'ava';
import fc from 'fast-check';
import { addUsage, costOf, largestCost, totalTokens, type Usage, ZERO_USAGE } from '../../src/money/model-prices.js';
import { type ModelPrice, parsePriceBook } from '../../src/money/price-book.js';
import { showUSD, USD } from '../../src/money/usd.js';

const PRICE: ModelPrice = {
  inputPerMillionTokensUSD: '3.00',
  outputPerMillionTokensUSD: '15.00',
  cacheReadPerMillionTokensUSD: '0.30',
  cacheWritePerMillionTokensUSD: '3.75',
  longCacheWritePerMillionTokensUSD: '6.00',
};

const usage = (given: Partial<Usage>): Usage => ({ ...ZERO_USAGE, ...given });
const cost = (price: ModelPrice, given: Partial<Usage>): string => showUSD(costOf(price, usage(given)));

test('each kind of token is charged at its own price, and the sum is exact', (t) => {
  t.is(cost(PRICE, { inputTokens: 1_000_000 }), '3.00');
  t.is(cost(PRICE, { cacheReadTokens: 1_000_000 }), '0.30');
  t.is(cost(PRICE, { cacheWriteTokens: 1_000_000 }), '3.75');
  t.is(cost(PRICE, { longCacheWriteTokens: 1_000_000 }), '6.00');
  t.is(cost(PRICE, { outputTokens: 1 }), '0.000015');
  const all = {
    inputTokens: 21,
    cacheReadTokens: 188_086,
    cacheWriteTokens: 456,
    longCacheWriteTokens: 100,
    outputTokens: 393,
  };
  t.is(cost(PRICE, all), '0.0646938');
  t.is(cost(PRICE, {}), '0.00');
});

test('half a billionth is rounded up, once for the whole sum', (t) => {
  const price: ModelPrice = { inputPerMillionTokensUSD: '0.0005', outputPerMillionTokensUSD: '0.0004' };
  t.is(cost(price, { inputTokens: 1 }), '0.000000001');
  t.is(cost(price, { outputTokens: 1 }), '0.00');
  t.is(cost(price, { outputTokens: 2 }), '0.000000001', '0.8 of a billionth, and not two times nothing');
  t.is(cost(price, { inputTokens: 1, outputTokens: 1 }), '0.000000001');
});

test('tokens of a cache without a price are input, long writes without one are writes, and a model without prices is free', (t) => {
  const input: ModelPrice = { inputPerMillionTokensUSD: '2.00' };
  const each = { cacheReadTokens: 1_000, cacheWriteTokens: 1_000, longCacheWriteTokens: 1_000, outputTokens: 1_000 };
  t.is(cost(input, each), '0.006');
  t.is(cost({ ...input, cacheWritePerMillionTokensUSD: '4.00' }, { longCacheWriteTokens: 1_000 }), '0.004');
  t.is(
    cost({ ...input, cacheReadPerMillionTokensUSD: '0' }, { cacheReadTokens: 1_000 }),
    '0.00',
    'a price of nothing is a price',
  );
  t.is(cost({}, each), '0.00');
});

test('the largest cost takes all input at its dearest, and long writes only where they are asked for', (t) => {
  t.is(showUSD(largestCost(PRICE, { inputTokens: 1_000_000, outputTokens: 0 })), '3.75');
  t.is(showUSD(largestCost(PRICE, { inputTokens: 1_000_000, outputTokens: 0, longCache: true })), '6.00');
  t.is(
    showUSD(largestCost({ inputPerMillionTokensUSD: '0.0001' }, { inputTokens: 1, outputTokens: 0 })),
    '0.000000001',
  );
});

const amount = fc.option(fc.nat(20_000_000_000), { nil: undefined });
const prices = fc
  .tuple(amount, amount, amount, amount, amount)
  .map(([input, output, read, write, long]): ModelPrice => {
    const text = (billionths: number | undefined): string | undefined =>
      billionths === undefined ? undefined : new USD(BigInt(billionths)).toFixed();
    const all = {
      inputPerMillionTokensUSD: text(input),
      outputPerMillionTokensUSD: text(output),
      cacheReadPerMillionTokensUSD: text(read),
      cacheWritePerMillionTokensUSD: text(write),
      longCacheWritePerMillionTokensUSD: text(long),
    };
    return all;
  });
const tokens = fc.oneof(fc.nat(3), fc.nat(1_000_000_000));
const usages = fc.record({
  inputTokens: tokens,
  cacheReadTokens: tokens,
  cacheWriteTokens: tokens,
  longCacheWriteTokens: tokens,
  outputTokens: tokens,
});

test('two requests cost what both together cost, but for a billionth of rounding', (t) => {
  fc.assert(
    fc.property(prices, usages, usages, (price, one, other) => {
      const apart = costOf(price, one).plus(costOf(price, other));
      const together = costOf(price, addUsage(one, other));
      const difference = apart.minus(together).billionths;
      t.true(difference >= -1n && difference <= 1n, String(difference));
      t.is(totalTokens(addUsage(one, other)), totalTokens(one) + totalTokens(other));
    }),
  );
});

test('no split of the input over caches costs more than the largest cost', (t) => {
  fc.assert(
    fc.property(prices, usages, fc.boolean(), (price, drawn, longCache) => {
      const used = longCache ? drawn : { ...drawn, longCacheWriteTokens: 0 };
      const inputTokens = totalTokens(used) - used.outputTokens;
      const most = largestCost(price, { inputTokens, outputTokens: used.outputTokens, longCache });
      t.true(costOf(price, used).lte(most));
    }),
  );
});

test('the price book takes a price for cache writes that last', (t) => {
  const read = parsePriceBook(
    "pricebookVersion: v1\nofferings: {}\nstorage: { perGiBMonthUSD: '0' }\nimages: { perBuildMinuteUSD: '0' }\n" +
      "models: { m: { cacheWritePerMillionTokensUSD: '3.75', longCacheWritePerMillionTokensUSD: '6.00' } }\n",
  );
  if (read.outcome !== 'Read') return t.fail(read.lines.join('\n'));
  t.is(cost(read.book.models['m'] ?? {}, { longCacheWriteTokens: 1_000_000 }), '6.00');
});
