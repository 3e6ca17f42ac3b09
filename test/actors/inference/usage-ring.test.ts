/** Use of 24 hours, minute by minute. */
import test from 'ava';
import fc from 'fast-check';
import { openUsageRing, type Use } from '../../../actors/inference/usage-ring.js';
import { showUSD, sumUSD, USD } from '../../../src/money/usd.js';
import { tries } from '../../support/extent.js';

const FIRST = 29_000_000;
const DAY = 1_440;
const use = (requests: number, costUSD = '0.000000001'): Use => ({
  ...{ requests, errors: requests % 2, inputTokens: requests * 10, outputTokens: requests * 3 },
  costUSD: new USD(costUSD),
});

test('the sum is that of the last 1,440 minutes, to the billionth, whatever came in which order', (t) => {
  const step = fc.record({
    wait: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 }), fc.constantFrom(700, 1_439, 1_440, 1_441)),
    back: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1_500 })),
    requests: fc.integer({ min: 0, max: 5 }),
    billionths: fc.bigInt({ min: 0n, max: 10n ** 18n }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ring = openUsageRing();
      const all: { readonly minute: number; readonly use: Use }[] = [];
      let now = FIRST;
      for (const { wait, back, requests, billionths } of steps) {
        now += wait;
        ring.advance(now);
        const one = use(requests, new USD(billionths).toFixed());
        ring.add(now - back, one);
        all.push({ minute: now - back, use: one });
        const counting = all.filter(({ minute }) => minute > now - DAY);
        const sum = (of: (use: Use) => number): number => counting.reduce((total, each) => total + of(each.use), 0);
        const total = ring.total();
        if (total.requests !== sum((each) => each.requests) || total.errors !== sum((each) => each.errors))
          return false;
        if (total.outputTokens !== sum((each) => each.outputTokens)) return false;
        if (total.costUSD !== showUSD(sumUSD(counting.map((each) => each.use.costUSD)))) return false;
        if (ring.size() !== new Set(counting.map(({ minute }) => minute)).size) return false;
      }
      return true;
    }),
    { numRuns: tries(300) },
  );
  t.pass();
});

test('a minute counts for 24 hours, itself included, and then it is gone with all that it had', (t) => {
  const ring = openUsageRing();
  ring.add(FIRST, use(2));
  ring.add(FIRST + 1, use(1));
  ring.advance(FIRST + DAY - 1);
  t.is(ring.total().requests, 3);
  ring.advance(FIRST + DAY);
  t.is(ring.total().requests, 1);
  ring.advance(FIRST + DAY + 1);
  t.deepEqual(ring.total(), { requests: 0, errors: 0, inputTokens: 0, outputTokens: 0, costUSD: '0.00' });
  t.is(ring.size(), 0);
});
