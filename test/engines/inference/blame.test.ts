/** A failure that one tenant alone has is not held against a route that serves others. */
import test from 'ava';
import fc from 'fast-check';
import { heldAgainst } from '../../../src/engines/inference/blame.js';
import { standingAt, type RouteOutcome } from '../../../src/engines/inference/health.js';
import { enter, healthFor, newRoute, type Route } from '../../../src/engines/inference/route.js';
import type { Upstream } from '../../../src/engines/inference/upstream.js';

const FAILS: RouteOutcome = { is: 'Failed', cause: 'Failing' };
const LIMITED: RouteOutcome = { is: 'Limited', retryAfterMs: 20_000 };
const FORBIDDEN: RouteOutcome = { is: 'Forbidden' };
const REFUSED_KEY: RouteOutcome = { is: 'KeyRefused' };
const GONE: RouteOutcome = { is: 'Failed', cause: 'Unreachable' };
const WHOLE: RouteOutcome = { is: 'Whole' };

test('what fails for one tenant while others are known to be served is held against it alone, and against all once a second one fails', (t) => {
  const served = { at: 0, served: true };
  for (const outcome of [FAILS, LIMITED, FORBIDDEN]) {
    t.is(heldAgainst(outcome, [], 1), 'All', 'nobody else is known');
    t.is(heldAgainst(outcome, [served], 599_999), 'TenantAlone');
    t.is(heldAgainst(outcome, [served], 600_000), 'All', 'it is not known any more');
    const failed = { at: 5_000, served: false };
    t.is(heldAgainst(outcome, [served, failed], 9_999), 'TenantAlone', 'the route serves');
    t.is(heldAgainst(outcome, [served, failed], 10_000), 'All');
    t.is(heldAgainst(outcome, [served, failed], 65_000), 'TenantAlone');
  }
});

test('what no request can cause is held against the route, whoever is served', (t) => {
  for (const outcome of [GONE, REFUSED_KEY]) t.is(heldAgainst(outcome, [{ at: 0, served: true }], 1), 'All');
});

const probed = { name: 'u', probe: () => Promise.resolve(true) } as unknown as Upstream;

function ask(route: Route, tenant: string, outcome: RouteOutcome, now: number): boolean {
  const report = enter(route, tenant, now);
  report?.(outcome, now);
  return report !== undefined;
}

test('a route rests for the tenant whose request was limited or forbidden, as long as it says, and goes on for others', (t) => {
  const route = newRoute(probed, 'm');
  ask(route, 'b', WHOLE, 0);
  t.true(ask(route, 'a', LIMITED, 60_000));
  t.false(ask(route, 'a', WHOLE, 79_999));
  t.is(standingAt(healthFor(route, 'a', 79_999), 79_999), 'Cooling');
  t.is(standingAt(healthFor(route, 'b', 79_999), 79_999), 'Up');
  t.true(ask(route, 'b', WHOLE, 79_999));
  t.is(standingAt(healthFor(route, 'a', 80_000), 80_000), 'Trial');
  t.true(ask(route, 'a', FORBIDDEN, 80_000));
  t.false(ask(route, 'a', WHOLE, 139_999));
  t.true(ask(route, 'a', WHOLE, 140_000), 'after a minute');
  t.true(ask(route, 'a', WHOLE, 140_001), 'and it is well');
});

test('a route that limits two tenants in turn rests for all', (t) => {
  const route = newRoute(probed, 'm');
  for (const tenant of ['a', 'b', 'c']) ask(route, tenant, WHOLE, 0);
  t.true(ask(route, 'a', LIMITED, 20_000));
  t.true(ask(route, 'b', LIMITED, 20_001));
  t.false(ask(route, 'c', WHOLE, 20_002));
  t.is(standingAt(route.health, 20_002), 'Cooling');
});

test('a route that fails for its only tenant rests for all, so that whoever comes next is told at once', (t) => {
  const route = newRoute(probed, 'm');
  for (let i = 0; i < 3; i += 1) t.true(ask(route, 'a', FAILS, i));
  t.false(ask(route, 'a', WHOLE, 3));
  t.false(ask(route, 'b', WHOLE, 4));
});

test('whatever one tenant meets with, it makes no route rest for one that was served by it in the last ten minutes', (t) => {
  const outcome = fc.constantFrom<RouteOutcome>(FAILS, LIMITED, FORBIDDEN, WHOLE, { is: 'Left' }, { is: 'Opened' });
  fc.assert(
    fc.property(fc.array(fc.tuple(outcome, fc.nat(60_000)), { maxLength: 40 }), (turns) => {
      const route = newRoute(probed, 'm');
      ask(route, 'b', WHOLE, 0);
      let now = 0;
      for (const [what, ms] of turns) {
        now += ms;
        if (now >= 600_000) break;
        ask(route, 'a', what, now);
        t.is(standingAt(healthFor(route, 'b', now), now), 'Up');
      }
    }),
  );
});

test('many tenants are remembered no longer than there is room', (t) => {
  const route = newRoute(probed, 'm');
  for (let i = 0; i < 1_000; i += 1) ask(route, `t-${i}`, WHOLE, i);
  t.true(route.tenants.size <= 64);
});
