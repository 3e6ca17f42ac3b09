/** What InferenceEndpoints are told of their Model. */
import test from 'ava';
import { openStanding } from '../../../actors/inference/standing.js';
import type { ModelView } from '../../../actors/inference/directory.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { until } from '../../e2e/until.js';

const address = { org: 'acme', kind: 'InferenceEndpoint', project: 'default', name: 'assistant' };

test('an endpoint is told that its model is served, and that it is no more when its time is over, though its upstream answers', async (t) => {
  const told: ObjectMessage[] = [];
  let now = Date.parse('2026-01-01T00:00:00Z');
  const model: ModelView = {
    ...{ name: 'small', uid: 'u', created: '2025-01-01T00:00:00Z' },
    spec: { deprecationTime: '2026-01-01T00:01:00Z' },
  };
  const standing = openStanding({
    standing: () => [{ model: 'small', available: true, message: 'Its upstream serves it.' }],
    directory: { model: () => model, models: () => [] },
    async send(_to, _uid, message) {
      told.push(message);
      return 'Done';
    },
    ...{ clock: () => now, onProblem: (message) => t.fail(message) },
  });
  const stopping = new AbortController();
  standing.know(address, 'e', 'small');
  const running = standing.run(stopping.signal);
  await until('it was told once', () => told.length === 1);
  t.like(told[0], { available: true, reason: 'Served' });
  now += 60_000;
  await until('it was told again', () => told.length === 2);
  t.like(told[1], { available: false, reason: 'Deprecated', model: 'small' });
  stopping.abort();
  await running;
});
