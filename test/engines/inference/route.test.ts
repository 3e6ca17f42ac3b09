/** A failure that a request may have caused makes a route rest for its tenant alone. */
import test from 'ava';
import fc from 'fast-check';
import { standingAt, type RouteOutcome } from '../../../src/engines/inference/health.js';
import { enter, healthFor, isResting, newRoute, type Route } from '../../../src/engines/inference/route.js';
import type { Upstream } from '../../../src/engines/inference/upstream.js';

const FAILS: RouteOutcome = { is: 'Failed', cause: 'Failing' };
const LIMITED: RouteOutcome = { is: 'Limited', retryAfterMs: 20_000 };
const REFUSED_KEY: RouteOutcome = { is: 'KeyRefused' };
const WHOLE: RouteOutcome = { is: 'Whole' };

const probed = { name: 'u', probe: () => Promise.resolve(true) } as unknown as Upstream;

function ask(route: Route, tenant: string, outcome: RouteOutcome, now: number): boolean {
  const report = enter(route, tenant, now);
  report?.(outcome, now);
  return report !== undefined;
}

test('a route rests for the tenant whose request was limited or refused for its price, as long as it says, and goes on for others', (t) => {
  const route = newRoute(probed, 'm');
  t.true(ask(route, 'a', LIMITED, 60_000));
  t.false(ask(route, 'a', WHOLE, 79_999));
  t.is(standingAt(healthFor(route, 'a', 79_999), 79_999), 'Cooling');
  t.is(standingAt(healthFor(route, 'b', 79_999), 79_999), 'Up');
  t.true(ask(route, 'b', WHOLE, 79_999), 'though it was never served before');
  t.is(standingAt(healthFor(route, 'a', 80_000), 80_000), 'Trial');
  t.true(ask(route, 'a', REFUSED_KEY, 80_000));
  t.false(ask(route, 'a', WHOLE, 139_999));
  t.true(ask(route, 'a', WHOLE, 140_000), 'after a minute');
  t.true(ask(route, 'a', WHOLE, 140_001), 'and it is well');
});

test('a route rests for all when there is no connection to it', (t) => {
  const gone: RouteOutcome = { is: 'Failed', cause: 'Unreachable' };
  const route = newRoute(probed, 'm');
  ask(route, 'b', WHOLE, 0);
  for (let i = 0; i < 3; i += 1) t.true(ask(route, 'a', gone, 1));
  t.false(ask(route, 'b', WHOLE, 2));
  t.true(isResting(route, 2));
});

test('a route rests, as people are told, when it rests for all who have asked lately', (t) => {
  const route = newRoute(probed, 'm');
  t.false(isResting(route, 0), 'nobody has asked');
  ask(route, 'a', LIMITED, 0);
  t.true(isResting(route, 1));
  ask(route, 'b', WHOLE, 1);
  t.false(isResting(route, 1));
  ask(route, 'a', LIMITED, 600_000);
  t.false(isResting(route, 600_000));
  t.true(isResting(route, 600_001), 'b has asked too long ago');
});

test('whatever one tenant meets with that its requests may have caused, no route rests for another one, nor waits for it', (t) => {
  const outcome = fc.constantFrom<RouteOutcome>(FAILS, LIMITED, REFUSED_KEY, WHOLE, { is: 'Left' }, { is: 'Opened' });
  fc.assert(
    fc.property(fc.array(fc.tuple(outcome, fc.nat(60_000)), { maxLength: 40 }), (turns) => {
      const route = newRoute(probed, 'm');
      let now = 0;
      for (const [what, ms] of turns) {
        now += ms;
        ask(route, 'a', what, now);
        t.is(standingAt(healthFor(route, 'b', now), now), 'Up');
        const report = enter(route, 'b', now);
        t.truthy(report);
        report?.({ is: 'Left' }, now);
      }
    }),
  );
});

test('many tenants are remembered no longer than there is room', (t) => {
  const route = newRoute(probed, 'm');
  for (let i = 0; i < 5_000; i += 1) ask(route, `t-${i}`, WHOLE, i);
  t.true(route.tenants.size <= 1_024);
});
