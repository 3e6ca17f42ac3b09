/** Which endpoints an event becomes a delivery for, when its turn comes after they have changed. */
import test from 'ava';
import { openDispatcher } from '../../../actors/delivery/dispatcher.js';
import { openEndpoints } from '../../../actors/delivery/endpoints.js';
import { encodeObject } from '../../../src/api/encode.js';
import { webhookEndpointKind } from '../../../src/kinds/webhookendpoint/index.js';
import type { Dispatch, OutboxRow } from '../../../storage/webhooks/outbox.js';
import { objectOf } from '../../kinds/decide.js';
import { until } from '../../e2e/until.js';

const address = { org: 'o', kind: 'WebhookEndpoint', project: '', name: 'one' };

/** As of a commit with this version. */
function changed(version: number, enabled: boolean) {
  const object = objectOf(webhookEndpointKind, { url: 'https://hooks.example.org/', enabled });
  const after = encodeObject({ ...object, metadata: { ...object.metadata, name: 'one', uid: 'u' } });
  const type = version === 10 ? ('ADDED' as const) : ('MODIFIED' as const);
  return { version, type, address, uid: 'u', before: undefined, after };
}

function event(version: number): OutboxRow {
  const base = { org: 'o', kind: 'Job', project: 'default', name: `at-${version}`, uid: 'j', event: 'job.cancelled' };
  return { ...base, version, position: 0, reason: '', message: '', status: '{}', count: 1, time: version };
}

test('an event of before its endpoint was there, or while it was paused, is not for it, however late its turn comes', async (t) => {
  const endpoints = openEndpoints([], 0);
  for (const [version, enabled] of [
    [10, true],
    [20, false],
    [25, false],
    [30, true],
    [40, true],
  ] as const)
    endpoints.committed(changed(version, enabled));
  const rows = [5, 15, 22, 35, 45].map(event);
  const written: Dispatch[] = [];
  const stopping = new AbortController();
  const dispatcher = openDispatcher({
    outbox: {
      take: () => Promise.resolve(rows.splice(0)),
      dispatch(_epoch, group) {
        written.push(...group);
        return Promise.resolve(new Set<string>());
      },
    },
    endpoints,
    epoch: 1,
    kindOf: () => undefined,
    onDispatched: () => undefined,
    onProblem: (message) => t.fail(message),
    stopping: stopping.signal,
  });
  await until('all have had their turn', () => written.length === 5);
  stopping.abort();
  await dispatcher.ended;
  // What was emitted before the pause went out of date with it: pending deliveries are abandoned by a pause as well.
  t.deepEqual(
    written.filter(({ deliveries }) => deliveries.length > 0).map(({ row }) => row.version),
    [35, 45],
  );
});
