/** A failure that one tenant alone has is not held against a route that serves others. */
import test from 'ava';
import { judged, type LastOutcomes } from '../../../src/engines/inference/blame.js';
import type { RouteOutcome } from '../../../src/engines/inference/health.js';

const FAILS: RouteOutcome = { is: 'Failed', cause: 'Failing' };
const WHOLE: RouteOutcome = { is: 'Whole' };

test('what fails for one tenant while another is served is no fault of the route, and is one when nobody is', (t) => {
  const last: LastOutcomes = new Map();
  t.deepEqual(judged(last, 'a', FAILS, 0), FAILS, 'nobody else is known');
  judged(last, 'b', WHOLE, 1_000);
  t.deepEqual(judged(last, 'a', FAILS, 2_000), { is: 'Refused' });
  t.deepEqual(judged(last, 'a', FAILS, 11_000), FAILS, 'b was served too long ago');
  judged(last, 'b', WHOLE, 12_000);
  t.deepEqual(judged(last, 'b', FAILS, 13_000), FAILS, 'nor is a served');
  t.deepEqual(judged(last, 'a', FAILS, 13_000), FAILS);
});

test('a route that cannot be reached is so for all', (t) => {
  const last: LastOutcomes = new Map();
  judged(last, 'b', WHOLE, 0);
  const gone: RouteOutcome = { is: 'Failed', cause: 'Unreachable' };
  t.is(judged(last, 'a', gone, 1), gone);
});

test('many tenants are remembered no longer than there is room', (t) => {
  const last: LastOutcomes = new Map();
  for (let i = 0; i < 1_000; i++) judged(last, `t-${i}`, WHOLE, i);
  t.true(last.size <= 64);
});
