/** Events over HTTP: our own route, and the one that Kubernetes' clients read. */
import test from 'ava';
import type { HttpDeps } from '../../http/deps.js';
import type { EventQuery } from '../../storage/events.js';
import { at, json, list } from './support/json.js';
import { pageOf, storedEvent } from './support/stored-event.js';
import { AS_TABLE, BASE, bearer, IN_DEFAULT, KEYS, openTestApi } from './support/test-api.js';

test('events are listed, paged and followed', async (t) => {
  const asked: (EventQuery & { org: string })[] = [];
  const events: HttpDeps['events'] = {
    async list(org, query) {
      asked.push({ org, ...query });
      return pageOf(
        [1, 2, 3].map((version) => storedEvent(version)),
        query,
      );
    },
  };
  const api = await openTestApi(t, { events });
  const page = await json(api.call(`${BASE}/events?limit=2&type=job.*`));
  t.is(list(page, 'items').length, 2);
  t.is(at(page, 'continue'), `2.${storedEvent(2).id}`);
  t.like(asked[0], { org: 'acme', type: 'job.*', project: undefined });
  await api.call(`${IN_DEFAULT}/events?object=Job/j`);
  t.like(asked[1], { project: 'default', object: 'Job/j' });
  const abort = new AbortController();
  const followed = await api.call(`${BASE}/events?follow=true`, { signal: abort.signal });
  const chunk = await followed.body?.getReader().read();
  const lines = Buffer.from(chunk?.value ?? [])
    .toString()
    .trimEnd()
    .split('\n');
  t.deepEqual(
    lines.map((each) => at(JSON.parse(each), 'id')),
    [1, 2, 3].map((version) => storedEvent(version).id),
  );
  abort.abort();
});

test('kubectl gets the same events as core/v1 Events: selected by its fields, page by page, as rows, and watched', async (t) => {
  const stored = [
    storedEvent(1),
    storedEvent(2, { type: 'job.succeeded', reason: 'Succeeded', name: 'k', uid: 'uid-Job-k' }),
    storedEvent(3, { kind: 'WebhookEndpoint', project: '', name: 'w', uid: 'uid-w', type: 'webhookendpoint.ping' }),
    storedEvent(4, { count: 7, reason: 'MaxCostReached', type: 'job.max_cost_reached' }),
  ];
  const asked: EventQuery[] = [];
  const events: HttpDeps['events'] = {
    async list(_org, query) {
      asked.push(query);
      return pageOf(stored, query);
    },
  };
  const api = await openTestApi(t, { events });
  const ALL = '/api/v1/events';
  const namesOf = (body: unknown): unknown[] => list(body, 'items').map((item) => at(item, 'involvedObject.name'));
  const selected = async (fields: string): Promise<unknown[]> =>
    namesOf(await json(api.call(`${ALL}?fieldSelector=${encodeURIComponent(fields)}`)));

  const whole = await json(api.call(ALL));
  t.is(at(whole, 'kind'), 'EventList');
  t.is(at(whole, 'metadata.continue'), undefined);
  const [first, , ofOrg, last] = list(whole, 'items');
  t.like(first, {
    ...{ kind: 'Event', apiVersion: 'v1', reason: 'Failed', message: 'it has failed', type: 'Warning', count: 1 },
    involvedObject: { kind: 'Job', namespace: 'default', name: 'j', uid: 'uid-Job-j', apiVersion: 'svc.dev/v1' },
    ...{ firstTimestamp: '2026-01-02T03:04:05Z', lastTimestamp: '2026-01-02T03:04:05Z', reportingComponent: 'troupe' },
    metadata: { namespace: 'default', resourceVersion: '1', uid: storedEvent(1).id, name: 'j.0000000100004000' },
  });
  t.is(at(ofOrg, 'metadata.namespace'), 'default');
  t.is(at(ofOrg, 'involvedObject.namespace'), undefined);
  t.is(at(last, 'count'), 7);

  t.deepEqual(await selected('involvedObject.kind=Job,involvedObject.name=j,involvedObject.uid=uid-Job-j'), ['j', 'j']);
  t.like(asked.at(-1), { kind: 'Job', name: 'j', uid: 'uid-Job-j' }, 'storage reads no more than is selected');
  t.deepEqual(await selected('involvedObject.apiVersion=svc.dev/v1,involvedObject.namespace=default,reason=Failed'), [
    'j',
  ]);
  t.deepEqual(await selected('type=Normal'), ['k', 'w']);

  // As `kubectl events --for` asks for them, in the namespace that it is in.
  const forBudget = 'fieldSelector=involvedObject.kind%3DBudget,involvedObject.name%3Db';
  await api.call(`/api/v1/namespaces/default/events?${forBudget}`);
  t.like(asked.at(-1), { project: 'default', ofOrg: true }, 'the events of the org are shown in default');
  await api.call(`/api/v1/namespaces/default/events`, { headers: bearer(KEYS.viewer) });
  t.like(asked.at(-1), { project: 'default', ofOrg: false }, 'not to who may read this project alone');
  await api.call(`/api/v1/namespaces/other/events?${forBudget}`);
  t.like(asked.at(-1), { project: 'other', ofOrg: false });
  t.deepEqual(await selected('type!=Normal,reason!=Failed'), ['j']);
  const wrong = await api.call(`${ALL}?fieldSelector=spec.x%3D1`);
  t.is(wrong.status, 400);
  t.is((await api.call(`${ALL}?continue=x`)).status, 400);

  const page = await json(api.call(`${ALL}?limit=3`));
  const rest = await json(api.call(`${ALL}?limit=3&continue=${String(at(page, 'metadata.continue'))}`));
  t.deepEqual([...namesOf(page), ...namesOf(rest)], ['j', 'k', 'w', 'j']);
  t.is(at(rest, 'metadata.continue'), undefined);

  const table = await json(api.call(ALL, { headers: { ...bearer(KEYS.owner), accept: AS_TABLE } }));
  t.is(at(table, 'kind'), 'Table');
  t.deepEqual(
    list(table, 'columnDefinitions').map((column) => at(column, 'name')),
    ['Last Seen', 'Type', 'Reason', 'Object', 'Message', 'First Seen', 'Count', 'Name'],
  );
  t.deepEqual(list(list(table, 'rows')[1], 'cells').slice(1, 5), ['Normal', 'Succeeded', 'job/k', 'it has failed']);

  const watch = await (await api.call(`${ALL}?watch=true&resourceVersion=2&timeoutSeconds=1`)).text();
  const frames = watch
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
  t.deepEqual(
    frames.map((frame) => [at(frame, 'type'), at(frame, 'object.metadata.resourceVersion')]),
    [
      ['ADDED', '3'],
      ['MODIFIED', '4'],
    ],
  );
  const streamed = '?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  t.is((await api.call(`${ALL}${streamed}`)).status, 422, 'clients list and watch then');
  t.is((await api.call(ALL, { method: 'POST', body: '{}' })).status, 405);
});

test('one event is read by its name, in the form of the list, where its reader may list', async (t) => {
  const stored = [storedEvent(1), storedEvent(2, { project: '', kind: 'Budget', name: 'b.c', uid: 'uid-b' })];
  const asked: EventQuery[] = [];
  const events: HttpDeps['events'] = {
    async list(_org, query) {
      asked.push(query);
      return pageOf(
        stored.filter(
          ({ name, id }) => name === (query.name ?? name) && id.replaceAll('-', '').startsWith(query.idPrefix ?? ''),
        ),
        query,
      );
    },
  };
  const api = await openTestApi(t, { events });
  const ALL = '/api/v1/namespaces/default/events';
  const [first] = list(await json(api.call(ALL)), 'items');
  const one = await api.call(`${ALL}/j.0000000100004000`);
  t.is(one.status, 200);
  t.is(one.headers.get('etag'), '"1"');
  t.deepEqual(await one.json(), first);
  t.like(asked.at(-1), { project: 'default', ofOrg: true, name: 'j', idPrefix: '0000000100004000', limit: 1 });
  t.is(at(await json(api.call(`${ALL}/b.c.0000000200004000`)), 'involvedObject.name'), 'b.c');

  const table = await json(api.call(`${ALL}/j.0000000100004000`, { headers: { accept: AS_TABLE } }));
  t.deepEqual([at(table, 'kind'), list(table, 'rows').length], ['Table', 1]);
  const yaml = await api.call(`${ALL}/j.0000000100004000`, { headers: { accept: 'application/yaml' } });
  t.regex(await yaml.text(), /^kind: Event$/m);

  for (const none of ['j.0000000900004000', 'k.0000000100004000', 'j', '.0000000100004000', 'x'.repeat(2_000)]) {
    const missing = await api.call(`${ALL}/${none}`);
    t.is(missing.status, 404, none);
    t.true((await missing.text()).length < 2_000, none);
  }
  t.is((await api.call(`${ALL}/j.0000000100004000/status`)).status, 404);
  t.is((await api.call('/api/v1/events/j.0000000100004000')).status, 404, 'it is read in its namespace');
  t.is((await api.call(`${ALL}/j.0000000100004000`, { method: 'DELETE' })).status, 405);

  await api.call(`${ALL}/j.0000000100004000`, { headers: bearer(KEYS.viewer) });
  t.like(asked.at(-1), { ofOrg: false }, 'the events of the org are not for who may read this project alone');
  t.is(
    (await api.call('/api/v1/namespaces/other/events/j.0000000100004000', { headers: bearer(KEYS.viewer) })).status,
    403,
  );
});
