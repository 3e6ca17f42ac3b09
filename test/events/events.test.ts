/** Events from the outside: what becomes of a Job is told once, where it belongs, to those who may know. */
import test from 'ava';
import { listAt, numberAt, objectOf, path, textAt, type Client } from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const JOBS = path('jobs', 'default');
const ORG = path('events', '');
const PROJECT = path('events', 'default');

let service: Running | undefined;
test.before('a service without work is started', async () => {
  service = await shareRunning(undefined, { env: { TROUPE_COMPUTE: 'off' } });
});
test.after.always('it is ended', () => service?.close());

function running(): Running {
  if (service === undefined) throw new Error('no service');
  return service;
}

async function cancelledJob(client: Client, name: string): Promise<void> {
  await client.post(JOBS, objectOf('Job', name, { command: ['true'] }));
  const cancelled = await client.merge(`${JOBS}/${name}`, { spec: { state: 'Cancelled' } });
  if (cancelled.status !== 200) throw new Error(cancelled.text);
  await until('it is cancelled', async () => {
    const job = await client.get(`${JOBS}/${name}`);
    return textAt(job.body, 'status', 'phase') === 'Cancelled';
  });
}

test('a Job that was cancelled is told of with its commit, in its project and in its org', async (t) => {
  const client = running().client();
  await cancelledJob(client, 'told');
  // The phase was readable, so its event is: both are one commit (I5).
  for (const list of [ORG, PROJECT]) {
    const answer = await client.get(`${list}?object=Job/told`);
    const items = listAt(answer.body, 'items');
    t.is(items.length, 1, answer.text);
    t.is(textAt(items[0], 'type'), 'job.cancelled');
    t.is(textAt(items[0], 'reason'), 'Cancelled');
    t.is(numberAt(items[0], 'count'), 1);
    t.is(textAt(items[0], 'object', 'namespace'), 'default');
  }
});

test('events are found by type, by prefix and by uid, and go on after a cursor', async (t) => {
  const client = running().client();
  for (const name of ['a', 'b', 'c']) await cancelledJob(client, name);
  const count = async (query: string): Promise<number> =>
    listAt((await client.get(`${PROJECT}?${query}`)).body, 'items').length;
  t.is(await count('object=Job/a&type=job.cancelled'), 1);
  t.is(await count('object=Job/a&type=job.*'), 1);
  t.is(await count('object=Job/a&type=*'), 1);
  t.is(await count('object=Job/a&type=job.failed'), 0);
  t.is(await count('type=webhookendpoint.*'), 0);
  const uid = textAt((await client.get(`${JOBS}/a`)).body, 'metadata', 'uid');
  t.is(await count(`object=${uid}`), 1);
  const first = await client.get(`${PROJECT}?limit=1`);
  const after = textAt(first.body, 'continue');
  const rest = await client.get(`${PROJECT}?after=${after}`);
  const ids = listAt(rest.body, 'items').map((item) => textAt(item, 'id'));
  t.false(ids.includes(textAt(listAt(first.body, 'items')[0], 'id')));
  t.true(ids.length >= 2);
  t.is((await client.get(`${PROJECT}?after=nonsense`)).status, 400);
});

test('a follower hears of an event soon after its commit', async (t) => {
  const client = running().client();
  const gone = new AbortController();
  const response = await fetch(`${running().url}${PROJECT}?follow=true&object=Job/followed`, {
    headers: { authorization: `Bearer ${client.key}` },
    signal: gone.signal,
  });
  t.is(response.headers.get('content-type'), 'application/x-ndjson');
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  await cancelledJob(client, 'followed');
  const { value = '' } = (await reader?.read()) ?? {};
  t.is(textAt(JSON.parse(value.split('\n')[0] ?? ''), 'type'), 'job.cancelled');
  gone.abort();
});

test('an event is read by its name as it is listed, by kubectl get event NAME', async (t) => {
  const client = running().client();
  for (const name of ['single', 'single-too']) await cancelledJob(client, name);
  const CORE = '/api/v1/namespaces/default/events';
  const listed = await client.get(`${CORE}?fieldSelector=involvedObject.name%3Dsingle`);
  const [item] = listAt(listed.body, 'items');
  const name = textAt(item, 'metadata', 'name');
  const read = await client.get(`${CORE}/${name}`);
  t.is(read.status, 200, read.text);
  t.deepEqual(read.body, item);
  const digits = name.slice(-16);
  for (const none of [`single-too.${digits}`, `single.${'0'.repeat(16)}`, 'single']) {
    t.is((await client.get(`${CORE}/${none}`)).status, 404, none);
  }
  t.is((await client.get(`/api/v1/namespaces/other/events/${name}`)).status, 404);
});

test('another org hears nothing, and a key without events:read is refused', async (t) => {
  const client = running().client();
  await cancelledJob(client, 'private');
  const org = await client.post('/ops/v1/orgs', { name: 'deaf' });
  const answer = await client.ask('GET', ORG, { key: textAt(org.body, 'key') });
  t.deepEqual(listAt(answer.body, 'items'), []);
  const key = await client.post(path('apikeys', ''), objectOf('APIKey', 'jobs-only', { scopes: ['jobs:read'] }));
  const refused = await client.ask('GET', PROJECT, { key: textAt(key.body, 'status', 'key') });
  t.is(refused.status, 403);
});
