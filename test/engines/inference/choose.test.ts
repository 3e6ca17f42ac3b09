import test from 'ava';
import { array, assert, integer, property, record } from 'fast-check';
import { choose, type Choice } from '../../../src/engines/inference/choose.js';
import { HEALTHY, report, type RouteHealth } from '../../../src/engines/inference/health.js';
import { readUpstreamError } from '../../../src/engines/inference/dialects/upstream-error.js';
import { outcomeOf, refusalStatus } from '../../../src/engines/inference/outcome.js';
import { retryAfterMs } from '../../../src/engines/inference/retry-after.js';

const NOW = 1_000_000;
const COOLING: RouteHealth = report(HEALTHY, 0, { is: 'KeyRefused' }, NOW);

/** Numbers from 0 to below 1, the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const route = (weight: number, priority = 0, health = HEALTHY): Choice => ({ weight, priority, health });

test('Among routes of one priority each comes first as often as its weight says', (t) => {
  const routes = [route(1), route(3), route(6)];
  const random = seeded(7);
  const first = routes.map(() => 0);
  for (let at = 0; at < 10_000; at += 1) {
    const [front] = choose(routes, NOW, random);
    const chosen = routes.findIndex((one) => one === front);
    first[chosen] = (first[chosen] ?? 0) + 1;
  }
  for (const [at, share] of [1_000, 3_000, 6_000].entries()) {
    t.true(Math.abs((first[at] ?? 0) - share) < 200, `${first.join(', ')} of 10,000`);
  }
});

test('Every route that does not cool is there once, lower priorities first, whatever the dice say', (t) => {
  const one = record({
    weight: integer({ min: 1, max: 1000 }),
    priority: integer({ min: 0, max: 3 }),
    cools: integer({ min: 0, max: 1 }),
  });
  const holds = property(array(one, { maxLength: 12 }), integer(), (list, seed) => {
    const routes = list.map(({ weight, priority, cools }) => route(weight, priority, cools === 1 ? COOLING : HEALTHY));
    const order = choose(routes, NOW, seeded(seed));
    const sorted = order.every(({ priority }, at) => at === 0 || priority >= (order[at - 1]?.priority ?? 0));
    return (
      sorted &&
      new Set(order).size === order.length &&
      order.length === routes.filter(({ health }) => health === HEALTHY).length
    );
  });
  t.notThrows(() => assert(holds));
});

test('A route that has cooled takes its usual turn, so that it comes back while others serve', (t) => {
  const trial = route(1, 0, COOLING);
  const other = route(1, 1);
  t.deepEqual(
    choose([other, trial], NOW + 59_999, () => 0),
    [other],
  );
  t.deepEqual(
    choose([other, trial], NOW + 60_000, () => 0),
    [trial, other],
  );
});

test('Retry-After is read as seconds or as a date, and nothing else is', (t) => {
  const now = Date.parse('2026-11-27T05:00:00Z');
  t.is(retryAfterMs('7', now), 7_000);
  t.is(retryAfterMs(' 0.5 ', now), 500);
  t.is(retryAfterMs('Fri, 27 Nov 2026 05:00:30 GMT', now), 30_000);
  t.is(retryAfterMs('Fri, 27 Nov 2026 04:00:00 GMT', now), 0);
  for (const nothing of [undefined, '', '-1', 'soon', '1e9']) t.is(retryAfterMs(nothing, now), undefined);
});

test('What a vendor has against the content or the size of one request is its refusal, under 403 and 429 too', (t) => {
  const of = (status: number, body: object): readonly unknown[] => {
    const error = readUpstreamError(body);
    return [outcomeOf({ status, headers: {} }, error, NOW).is, refusalStatus(status, error)];
  };
  const moderated = { code: 403, message: 'Your input was flagged', metadata: { reasons: ['violence'] } };
  t.deepEqual(of(403, { error: moderated }), ['Refused', 400]);
  t.deepEqual(of(403, { error: { code: 'content_filter', message: 'filtered' } }), ['Refused', 400]);
  t.deepEqual(of(403, { error: { message: 'this key may not use it', metadata: {} } }), ['KeyRefused', undefined]);
  const large = 'Request too large for model in organization: Limit 30000, Requested 90000.';
  t.deepEqual(of(429, { error: { message: large, type: 'tokens' } }), ['Refused', 413]);
  t.deepEqual(of(429, { error: { message: `Slow down. ${large}` } }), ['Limited', undefined]);
});

test("A vendor's lack of credit cools its key under any status, and a client that quotes those words cools nothing", (t) => {
  const of = (status: number, message: string, code?: string): string =>
    outcomeOf({ status, headers: {} }, { message, code }, NOW).is;
  t.is(of(429, 'You exceeded your current quota', 'insufficient_quota'), 'KeyRefused');
  t.is(of(400, 'Your credit balance is too low to access the API.'), 'KeyRefused');
  t.is(of(400, 'messages: "Your credit balance is too low" is no role'), 'Refused');
  t.is(of(429, 'slow down'), 'Limited');
  for (const status of [400, 404, 413, 422]) t.is(of(status, 'no'), 'Refused');
  for (const status of [302, 408, 500, 503, 529]) t.is(of(status, 'no'), 'Failed');
  for (const status of [401, 402, 403]) t.is(of(status, 'no'), 'KeyRefused');
});
