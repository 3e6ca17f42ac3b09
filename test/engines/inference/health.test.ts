import test from 'ava';
import { array, assert, constant, constantFrom, nat, oneof, property, record, type Arbitrary } from 'fast-check';
import {
  admit,
  FAILURES_IN_A_ROW,
  FIRST_COOLING_MS,
  HEALTHY,
  LONGEST_COOLING_MS,
  probed,
  report,
  standingAt,
  type RouteHealth,
  type RouteOutcome,
} from '../../../src/engines/inference/health.js';
import { tries } from '../../support/extent.js';

const FAILED: RouteOutcome = { is: 'Failed', cause: 'Failing' };
const UNREACHABLE: RouteOutcome = { is: 'Failed', cause: 'Unreachable' };
const NOW = 1_000_000;

/** One request after the other at the same time, each with these outcomes. */
function after(outcomes: readonly RouteOutcome[], health: RouteHealth = HEALTHY, now = NOW): RouteHealth {
  return outcomes.reduce((state, outcome) => report(state, state.epoch, outcome, now), health);
}

function until(health: RouteHealth): number | undefined {
  return health.is === 'Cooling' ? health.until : undefined;
}

test('Three failures in a row make a route cool for 5 s, and a whole answer between them does not', (t) => {
  t.is(standingAt(after([FAILED, FAILED]), NOW), 'Up');
  t.is(until(after([FAILED, UNREACHABLE, FAILED])), NOW + 5_000);
  t.is(after([FAILED, FAILED, { is: 'Whole' }, FAILED, FAILED]).is, 'Up');
  t.is(after([FAILED, FAILED, { is: 'Opened' }, FAILED]).is, 'Cooling', 'a head is no whole answer');
});

test('More than half of the last 20 outcomes within 30 s make a route cool, though no three fail in a row', (t) => {
  const flapping = (times: number, stepMs: number): RouteHealth => {
    let health = HEALTHY;
    for (let at = 0; at < times && health.is === 'Up'; at += 1) {
      health = report(health, health.epoch, at % 3 === 2 ? { is: 'Whole' } : FAILED, NOW + at * stepMs);
    }
    return health;
  };
  t.is(flapping(15, 100).is, 'Up');
  t.is(flapping(17, 100).is, 'Cooling', '11 of its last 17 have failed');
  t.is(flapping(300, 3_000).is, 'Up', 'the older ones are forgotten');
});

test('A cooling that ends lets one request in; its failure doubles the next cooling up to 60 s, a whole answer resets it', (t) => {
  let health = after([FAILED, FAILED, FAILED]);
  let now = NOW;
  for (const expected of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
    const end = until(health) ?? 0;
    t.is(end - now, expected);
    t.is(admit(health, end - 1), undefined);
    const trial = admit(health, end);
    if (trial === undefined) return t.fail('nothing was admitted');
    t.is(admit(trial, end + 100_000), undefined, 'a second request came in beside the trial');
    now = end + 7;
    health = report(trial, trial.epoch, FAILED, now);
  }
  const end = until(health) ?? 0;
  const trial = admit(health, end) ?? HEALTHY;
  const opened = report(trial, trial.epoch, { is: 'Opened' }, end);
  t.is(opened.is, 'Up');
  t.is(until(report(opened, opened.epoch, FAILED, end)), end + 60_000, 'one more failure is enough on probation');
  const whole = report(opened, opened.epoch, { is: 'Whole' }, end);
  t.is(until(after([FAILED, FAILED, FAILED], whole, end)), end + FIRST_COOLING_MS);
});

test('A trial whose client leaves lets another one in', (t) => {
  const health = after([FAILED, FAILED, FAILED]);
  const end = until(health) ?? 0;
  const trial = admit(health, end) ?? HEALTHY;
  const left = report(trial, trial.epoch, { is: 'Left' }, end);
  t.is(standingAt(left, end), 'Trial');
});

test('429 cools for its Retry-After between 1 and 60 s, and 5 s without one; a refused key cools for 60 s', (t) => {
  const limited = (retryAfterMs: number | undefined): number =>
    (until(after([{ is: 'Limited', retryAfterMs }])) ?? 0) - NOW;
  t.is(limited(undefined), 5_000);
  t.is(limited(7_000), 7_000);
  t.is(limited(0), 1_000);
  t.is(limited(3_600_000), 60_000);
  t.is(until(after([{ is: 'KeyRefused' }])), NOW + 60_000);
});

test('A probe brings back a route that was not reached, keeps requests off one that is not, and heals no refused key', (t) => {
  const gone = after([UNREACHABLE, UNREACHABLE, UNREACHABLE]);
  t.is(probed(gone, true, NOW).is, 'Up');
  t.is(until(probed(gone, false, NOW)), NOW + 20_000);
  for (const outcome of [{ is: 'KeyRefused' }, { is: 'Limited', retryAfterMs: 9_000 }] as const) {
    const health = after([outcome]);
    t.is(probed(health, true, NOW), health);
    t.is(probed(health, false, NOW), health);
  }
  const failing = after([FAILED, FAILED, FAILED]);
  t.is(probed(failing, true, NOW), failing, 'it answered before, and wrongly');
});

const outcome: Arbitrary<RouteOutcome> = oneof(
  constantFrom<RouteOutcome>(FAILED, UNREACHABLE, { is: 'Whole' }, { is: 'Opened' }, { is: 'Refused' }, { is: 'Left' }),
  constant<RouteOutcome>({ is: 'KeyRefused' }),
  record({ is: constant('Limited' as const), retryAfterMs: nat(200_000) }),
);

test('What clients cause never cools a route, in any order', (t) => {
  const harmless = constantFrom<RouteOutcome>({ is: 'Refused' }, { is: 'Left' }, { is: 'Opened' }, { is: 'Whole' });
  t.notThrows(() => assert(property(array(harmless), (outcomes) => after(outcomes).is === 'Up')));
});

test('In any order of requests and answers a route cools at most 60 s, has one trial, and comes back', (t) => {
  const step = record({ waitMs: nat(20_000), outcome, answers: nat(7), begins: nat(3) });
  const holds = property(array(step, { maxLength: 60 }), (steps) => {
    let health = HEALTHY;
    let now = NOW;
    const open: number[] = [];
    let trials = 0;
    for (const { waitMs, outcome: ended, answers, begins } of steps) {
      now += waitMs;
      for (let at = 0; at < begins; at += 1) {
        const admitted = admit(health, now);
        if (admitted === undefined) continue;
        if (admitted.is === 'Cooling') {
          if (health.is !== 'Cooling' || health.trial || now < health.until) return false;
          trials += 1;
        }
        health = admitted;
        open.push(admitted.epoch);
      }
      const epoch = open.splice(answers % Math.max(1, open.length), 1)[0];
      if (epoch === undefined) continue;
      const before = health;
      health = report(health, epoch, ended, now);
      // Late answers change nothing.
      if (epoch !== before.epoch && health !== before) return false;
      if (health.is === 'Cooling' && health.until > now + LONGEST_COOLING_MS) return false;
      if (health.is === 'Up' && (health.failures.length > 20 || health.streak >= FAILURES_IN_A_ROW)) return false;
    }
    if (trials > steps.length * 3) return false;
    // Once all that was open has ended, it is up, or a request may try it within a minute.
    for (const epoch of open) health = report(health, epoch, { is: 'Left' }, now);
    return standingAt(health, now + LONGEST_COOLING_MS) !== 'Cooling';
  });
  t.notThrows(() => assert(holds, { numRuns: tries(2_000) }));
});

test('Many requests that fail together cool a route once', (t) => {
  let health = HEALTHY;
  for (let at = 0; at < 500; at += 1) health = report(health, HEALTHY.epoch, UNREACHABLE, NOW);
  t.is(until(health), NOW + FIRST_COOLING_MS);
});
