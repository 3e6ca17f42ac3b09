/** Watches over a real server: what comes, in which order, and how each one ends. */
import test from 'ava';
import { AS_TABLE, BASE, bearer, IN_DEFAULT, KEYS, object, openTestApi, type TestApi } from './support/test-api.js';
import { at, json, text } from './support/json.js';
import { watching, type Watching } from './support/watching.js';

const SECRETS = `${IN_DEFAULT}/secrets`;

function watch(
  api: TestApi,
  query: string,
  headers: Readonly<Record<string, string>> = {},
  path = SECRETS,
): Promise<Watching> {
  return watching((signal) => api.call(`${path}?watch=true&${query}`, { signal, headers }));
}

function label(api: TestApi, name: string, labels: object): Promise<Response> {
  return api.call(`${SECRETS}/${name}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ metadata: { labels } }),
  });
}

test('without a version the state comes as ADDED, then each change once and in order', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  await api.make('Secret', 'secrets', 'b');
  const watcher = await watch(api, '');
  await watcher.until(2);
  await label(api, 'a', { x: '1' });
  await api.make('Secret', 'secrets', 'c');
  await api.call(`${SECRETS}/b`, { method: 'DELETE' });
  await watcher.until(5);
  t.deepEqual(watcher.seen(), ['ADDED a', 'ADDED b', 'MODIFIED a', 'ADDED c', 'DELETED b']);
  const versions = watcher.events.map((event) => Number(text(event, 'object.metadata.resourceVersion')));
  t.deepEqual(
    versions,
    versions.toSorted((a, b) => a - b),
  );
  watcher.stop();
});

test('from a version only later changes come, and nothing of other projects or kinds', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  const version = api.resources.version();
  await api.make('ServiceAccount', 'serviceaccounts', 'sa');
  await api.resources.put({ org: 'acme', kind: 'Secret', project: 'other', name: 'o' }, object('Secret', 'o', 'other'));
  await api.resources.put(
    { org: 'globex', kind: 'Secret', project: 'default', name: 'g' },
    object('Secret', 'g', 'default'),
  );
  await api.make('Secret', 'secrets', 'b');
  const watcher = await watch(api, `resourceVersion=${version}`);
  await watcher.until(1);
  t.deepEqual(watcher.seen(), ['ADDED b']);
  const everywhere = await watch(api, `resourceVersion=${version}`, {}, `${BASE}/secrets`);
  await everywhere.until(2);
  t.deepEqual(everywhere.seen(), ['ADDED o', 'ADDED b']);
  const viewer = await watch(api, `resourceVersion=${version}`, bearer(KEYS.viewer), `${BASE}/secrets`);
  await viewer.until(1);
  t.deepEqual(viewer.seen(), ['ADDED b']);
  for (const each of [watcher, everywhere, viewer]) each.stop();
});

test('coming into a selection is ADDED, leaving it is DELETED with the last state that was in it', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a', {}, { labels: { on: '0' } });
  const watcher = await watch(api, 'labelSelector=on%3D1');
  await label(api, 'a', { on: '1' });
  await label(api, 'a', { on: '1', more: 'x' });
  await label(api, 'a', { on: '0' });
  await label(api, 'a', { on: '2' });
  await label(api, 'a', { on: '1' });
  await api.call(`${SECRETS}/a`, { method: 'DELETE' });
  await watcher.until(5);
  t.deepEqual(watcher.seen(), ['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a']);
  const left = watcher.events[2];
  t.is(at(left, 'object.metadata.labels.more'), 'x');
  // The event's own version, so that a client that resumes does not see it twice.
  t.true(
    Number(text(left, 'object.metadata.resourceVersion')) >
      Number(text(watcher.events[1], 'object.metadata.resourceVersion')),
  );
  watcher.stop();
});

test('kubectl wait: initial events end with a marked bookmark, and one name is one object', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  await api.make('Secret', 'secrets', 'b');
  const query =
    'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name%3Da';
  const watcher = await watch(api, query);
  await watcher.until(2);
  t.deepEqual(watcher.seen(), ['ADDED a', 'BOOKMARK']);
  t.is(at(watcher.events[1], 'object.metadata.annotations')?.valueOf() !== undefined, true);
  t.deepEqual(at(watcher.events[1], 'object.metadata.annotations'), { 'k8s.io/initial-events-end': 'true' });
  await label(api, 'b', { x: 'y' });
  await label(api, 'a', { x: 'y' });
  await watcher.until(3);
  t.is(watcher.seen()[2], 'MODIFIED a');
  watcher.stop();
});

test('sendInitialEvents=false starts from now, and mixtures that kube forbids are 422', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  const watcher = await watch(api, 'sendInitialEvents=false&resourceVersionMatch=NotOlderThan');
  await api.make('Secret', 'secrets', 'b');
  await watcher.until(1);
  t.deepEqual(watcher.seen(), ['ADDED b']);
  watcher.stop();
  for (const query of [
    'sendInitialEvents=true',
    'sendInitialEvents=true&resourceVersionMatch=Exact',
    'resourceVersionMatch=NotOlderThan&resourceVersion=5',
  ]) {
    t.is((await api.call(`${SECRETS}?watch=true&${query}`)).status, 422, query);
  }
  t.is((await api.call(`${SECRETS}?watch=true&resourceVersion=x`)).status, 400);
});

test('what is neither 0 nor false is true, as Kubernetes reads booleans, so that clients in Python can watch', async (t) => {
  const api = await openTestApi(t);
  const isWatch = async (query: string): Promise<boolean> => {
    const answer = await api.call(`${SECRETS}?${query}&timeoutSeconds=1`);
    return !(await answer.text()).includes('"items"');
  };
  for (const query of ['watch=True', 'watch=1', 'watch=yes', 'watch=', 'watch']) t.true(await isWatch(query), query);
  for (const query of ['watch=False', 'watch=0', 'watch=FALSE', '']) t.false(await isWatch(query), query);
});

test('a version that was never given is HTTP 200 and one ERROR event of 410: the database may be an older one', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  const newest = api.resources.version();
  for (const more of ['', '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan']) {
    const watcher = await watch(api, `resourceVersion=${newest + 1}${more}`);
    t.is(watcher.status, 200);
    await watcher.until(1);
    t.is(at(watcher.events[0], 'object.code'), 410);
    t.regex(text(watcher.events[0], 'object.message'), /too large resource version: \d+, current: \d+/);
    t.is(await watcher.ended(), 'ended');
  }
});

test('a version below the kept window is HTTP 200 and one ERROR event of 410', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  api.resources.compact(api.resources.version());
  const watcher = await watch(api, 'resourceVersion=1');
  t.is(watcher.status, 200);
  t.is(await watcher.ended(), 'ended');
  t.is(at(watcher.events[0], 'type'), 'ERROR');
  t.is(at(watcher.events[0], 'object.code'), 410);
  t.is(at(watcher.events[0], 'object.reason'), 'Expired');
});

test('timeoutSeconds ends a watch cleanly, and its resources with it', async (t) => {
  const api = await openTestApi(t);
  const watcher = await watch(api, 'timeoutSeconds=1');
  t.is(await watcher.ended(), 'ended');
  while (api.resources.watchers > 0) await new Promise((resolve) => setImmediate(resolve));
  t.is(api.resources.watchers, 0);
});

test('a client that leaves takes its watch with it', async (t) => {
  const api = await openTestApi(t);
  const watcher = await watch(api, '');
  await api.make('Secret', 'secrets', 'a');
  await watcher.until(1);
  t.is(api.resources.watchers, 1);
  watcher.stop();
  while (api.resources.watchers > 0) await new Promise((resolve) => setImmediate(resolve));
  const metrics = await (await api.call('/metrics')).text();
  t.regex(metrics, /troupe_http_streams 0/);
});

test('a watch as Table or PartialObjectMetadata has each event in that form', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  const table = await watch(api, '', { accept: AS_TABLE });
  const [row] = await table.until(1);
  t.is(at(row, 'object.kind'), 'Table');
  t.is(at(row, 'object.rows.0.cells.0'), 'a');
  t.is(at(row, 'object.rows.0.object.metadata.name'), 'a');
  const partial = await watch(api, '', { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' });
  const [one] = await partial.until(1);
  t.is(at(one, 'object.kind'), 'PartialObjectMetadata');
  t.is(at(one, 'object.spec'), undefined);
  table.stop();
  partial.stop();
});

test('line separators inside of objects do not break a frame', async (t) => {
  const api = await openTestApi(t);
  const note = 'a\u2028b\u2029c';
  await api.make('Secret', 'secrets', 'a', {}, { annotations: { note } });
  const answer = await api.call(`${SECRETS}?watch=true&timeoutSeconds=1`);
  const body = await answer.text();
  t.false(body.includes('\u2028'));
  t.is(at(JSON.parse(body.split('\n')[0] ?? ''), 'object.metadata.annotations.note'), note);
  const table = await api.call(`${SECRETS}?watch=true&timeoutSeconds=1`, { headers: { accept: AS_TABLE } });
  t.false((await table.text()).includes('\u2028'));
});

test('a drain ends watches cleanly, refuses writes and new streams, and lets requests finish', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  const watcher = await watch(api, '');
  await watcher.until(1);
  const release = api.resources.hold();
  const slow = api.make('Secret', 'secrets', 'b');
  while (api.resources.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
  const drained = api.http.drain();
  t.is(await watcher.ended(), 'ended');
  release();
  const done = await slow;
  t.is(done.status, 201);
  t.is(at(await json(done), 'metadata.name'), 'b');
  await drained;
  await t.throwsAsync(api.call(`${SECRETS}/a`), undefined, 'new connections are not taken any more');
});

test('hundreds of watchers see every write, complete and in order', async (t) => {
  t.timeout(60_000);
  const api = await openTestApi(t, { limits: { streams: 2000, streamsPerKey: 2000 } });
  const from = api.resources.version();
  const watchers = await Promise.all(Array.from({ length: 300 }, () => watch(api, `resourceVersion=${from}`)));
  for (let i = 0; i < 50; i++) await api.make('Secret', 'secrets', `s${i}`);
  const wanted = Array.from({ length: 50 }, (_, i) => `ADDED s${i}`);
  for (const watcher of watchers) {
    await watcher.until(50);
    t.deepEqual(watcher.seen(), wanted);
    watcher.stop();
  }
});

test('a quiet watch that asked for bookmarks is told how far it is', async (t) => {
  const api = await openTestApi(t, { limits: { bookmarkSeconds: 0.1 } });
  await api.make('Secret', 'secrets', 'a');
  const watcher = await watch(api, 'allowWatchBookmarks=true&fieldSelector=metadata.name%3Da');
  const without = await watch(api, '');
  await api.make('ServiceAccount', 'serviceaccounts', 'sa');
  const version = String(api.resources.version());
  let bookmark: unknown;
  while (bookmark === undefined) {
    await watcher.until(watcher.events.length + 1);
    bookmark = watcher.events.find((event) => at(event, 'object.metadata.resourceVersion') === version);
  }
  t.is(text(bookmark, 'type'), 'BOOKMARK');
  t.is(text(bookmark, 'object.kind'), 'Secret');
  t.is(at(bookmark, 'object.metadata.annotations'), undefined);
  t.deepEqual(without.seen(), ['ADDED a']);
  watcher.stop();
  without.stop();
});
