import test from 'ava';
import { matcherOf } from '../../../src/kinds/webhookendpoint/matches.js';

const spec = (eventTypes?: string[], projects?: string[], enabled = true) => ({
  url: 'https://example.com',
  enabled,
  eventTypes,
  projects,
});

const CASES: readonly (readonly [
  types: string[] | undefined,
  projects: string[] | undefined,
  event: string,
  project: string,
  matches: boolean,
])[] = [
  [undefined, undefined, 'job.failed', 'default', true],
  [[], [], 'job.failed', 'default', true],
  [['*'], undefined, 'billing.low_balance', '', true],
  [['job.failed'], undefined, 'job.failed', 'default', true],
  [['job.failed'], undefined, 'job.failed_again', 'default', false],
  [['job.failed'], undefined, 'job.succeeded', 'default', false],
  [['job.*'], undefined, 'job.succeeded', 'default', true],
  [['job.*'], undefined, 'jobs.succeeded', 'default', false],
  [['job.*'], undefined, 'job', 'default', false],
  [['sandbox.*', 'job.failed'], undefined, 'job.failed', 'default', true],
  [undefined, ['a'], 'job.failed', 'a', true],
  [undefined, ['a'], 'job.failed', 'b', false],
  [undefined, ['a', 'b'], 'job.failed', 'b', true],
  [undefined, ['a'], 'billing.low_balance', '', true],
  [['job.*'], ['a'], 'billing.low_balance', '', false],
  [['job.*'], ['a'], 'sandbox.stopped', 'a', false],
];

test("an event is sent to whom its type and project are wanted by; the org's own by its type alone", (t) => {
  for (const [types, projects, event, project, matches] of CASES) {
    const label = JSON.stringify([types, projects, event, project]);
    t.is(matcherOf(spec(types, projects))({ event, project }), matches, label);
  }
});

test('a paused endpoint wants nothing', (t) => {
  t.false(matcherOf(spec(undefined, undefined, false))({ event: 'job.failed', project: 'default' }));
});
