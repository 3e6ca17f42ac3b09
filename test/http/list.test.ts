/** Lists: pages that are one snapshot, selectors, versions, and what is refused. */
import test from 'ava';
import { BASE, bearer, IN_DEFAULT, KEYS, object, openTestApi, type TestApi } from './support/test-api.js';
import { at, json, list, text } from './support/json.js';

const SECRETS = `${IN_DEFAULT}/secrets`;

async function fill(api: TestApi, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const name = `s${String(i).padStart(3, '0')}`;
    await api.resources.put(
      { org: 'acme', kind: 'Secret', project: 'default', name },
      object(
        'Secret',
        name,
        'default',
        { type: i % 3 === 0 ? 'Registry' : 'Opaque' },
        { labels: { mod: String(i % 5) } },
      ),
    );
  }
}

function names(body: unknown): string[] {
  return list(body, 'items').map((item) => text(item, 'metadata.name'));
}

test('pages are one snapshot: what is written between them does not show', async (t) => {
  const api = await openTestApi(t);
  await fill(api, 10);
  let page = await json(api.call(`${SECRETS}?limit=4`));
  t.is(at(page, 'metadata.remainingItemCount'), 6);
  const version = text(page, 'metadata.resourceVersion');
  const seen = names(page);
  await api.make('Secret', 'secrets', 's0015');
  await api.call(`${SECRETS}/s009`, { method: 'DELETE' });
  while (at(page, 'metadata.continue') !== undefined) {
    const token = encodeURIComponent(text(page, 'metadata.continue'));
    page = await json(api.call(`${SECRETS}?limit=4&continue=${token}`));
    t.is(text(page, 'metadata.resourceVersion'), version);
    seen.push(...names(page));
  }
  t.deepEqual(
    seen,
    Array.from({ length: 10 }, (_, i) => `s00${i}`),
  );
  t.is(at(page, 'metadata.remainingItemCount'), undefined);
});

test('a page that exactly takes the rest has no continue, and limits above 1000 are 1000', async (t) => {
  const api = await openTestApi(t);
  await fill(api, 4);
  t.is(at(await json(api.call(`${SECRETS}?limit=4`)), 'metadata.continue'), undefined);
  t.is(names(await json(api.call(`${SECRETS}?limit=5000`))).length, 4);
  t.is(names(await json(api.call(`${SECRETS}?limit=0`))).length, 4);
});

test('a whole list of thousands is streamed complete and in order', async (t) => {
  const api = await openTestApi(t);
  await fill(api, 999);
  const body = await json(api.call(SECRETS));
  t.deepEqual(names(body), names(body).toSorted());
  t.is(names(body).length, 999);
  t.is(at(body, 'kind'), 'SecretList');
});

test('labels and fields select, and paging goes on within the selection', async (t) => {
  const api = await openTestApi(t);
  await fill(api, 30);
  const select = async (query: string): Promise<string[]> => names(await json(api.call(`${SECRETS}?${query}`)));
  t.is((await select('labelSelector=mod in (1,2)')).length, 12);
  t.is((await select('fieldSelector=spec.type%3DRegistry')).length, 10);
  t.is((await select('fieldSelector=spec.type%3DRegistry&labelSelector=mod%3D0')).length, 2);
  t.deepEqual(await select('fieldSelector=metadata.name%3Ds007'), ['s007']);
  t.deepEqual(await select('fieldSelector=metadata.name%3Ds007,metadata.name%3Ds008'), []);
  t.is((await select('fieldSelector=metadata.name!%3Ds007')).length, 29);
  t.deepEqual(await select('fieldSelector=metadata.namespace%3Dother'), []);

  const first = await json(api.call(`${SECRETS}?labelSelector=mod%3D1&limit=4`));
  t.is(at(first, 'metadata.remainingItemCount'), undefined);
  const rest = await json(
    api.call(`${SECRETS}?labelSelector=mod%3D1&limit=4&continue=${text(first, 'metadata.continue')}`),
  );
  t.deepEqual([...names(first), ...names(rest)], ['s001', 's006', 's011', 's016', 's021', 's026']);
});

test('every project is listed, and a key of one project sees that one only', async (t) => {
  const api = await openTestApi(t);
  for (const project of ['default', 'other']) {
    await api.resources.put({ org: 'acme', kind: 'Secret', project, name: 'a' }, object('Secret', 'a', project));
  }
  const owner = await json(api.call(`${BASE}/secrets`));
  t.deepEqual(
    list(owner, 'items').map((item) => text(item, 'metadata.namespace')),
    ['default', 'other'],
  );
  t.is(names(await json(api.call(`${BASE}/secrets?fieldSelector=metadata.namespace%3Dother`))).length, 1);
  const viewer = await json(api.call(`${BASE}/secrets`, { headers: bearer(KEYS.viewer) }));
  t.deepEqual(
    list(viewer, 'items').map((item) => text(item, 'metadata.namespace')),
    ['default'],
  );
});

test('versions of lists answer as kube-apiserver: exact, not older, future, compacted, forbidden mixtures', async (t) => {
  const api = await openTestApi(t);
  await fill(api, 5);
  const before = api.resources.version();
  await api.make('Secret', 'secrets', 'zz');
  const count = async (query: string): Promise<number> => names(await json(api.call(`${SECRETS}?${query}`))).length;
  t.is(await count(`resourceVersion=${before}&resourceVersionMatch=Exact`), 5);
  t.is(await count(`resourceVersion=${before}&limit=100`), 5);
  t.is(await count(`resourceVersion=${before}&resourceVersionMatch=NotOlderThan`), 6);
  t.is(await count(`resourceVersion=${before}`), 6);
  t.is(await count('resourceVersion=0'), 6);

  const status = async (query: string): Promise<number> => (await api.call(`${SECRETS}?${query}`)).status;
  const future = await api.call(`${SECRETS}?resourceVersion=999999`);
  t.is(future.status, 504);
  const tooLarge = await json(future);
  t.is(at(tooLarge, 'details.causes.0.reason'), 'ResourceVersionTooLarge');
  t.regex(text(tooLarge, 'fix'), /^Send a resourceVersion that this service has answered/);
  t.is(await status('resourceVersion=abc'), 400);
  t.is(await status('timeout=soon'), 400);
  t.is(await status('timeout=5'), 400, 'a duration has a unit');
  t.is(await status('timeout=1m30.5s&unknown=left-alone'), 200);
  t.is(await status('resourceVersionMatch=Exact'), 422);
  t.is(await status('resourceVersion=1&resourceVersionMatch=Almost'), 422);
  t.is(await status('resourceVersion=0&resourceVersionMatch=Exact'), 422);
  t.is(await status('sendInitialEvents=true'), 422);
  for (const [query, field] of [
    ['limit=abc', 'limit'],
    ['limit=-1', 'limit'],
    ['resourceVersion=abc', 'resourceVersion'],
    ['timeout=soon', 'timeout'],
    ['watch=1&timeoutSeconds=soon', 'timeoutSeconds'],
  ] as const) {
    const refused = await json(api.call(`${SECRETS}?${query}`));
    t.is(at(refused, 'code'), 400, query);
    t.is(at(refused, 'details.causes.0.field'), field);
    t.is(at(refused, 'details.causes.0.reason'), 'FieldValueInvalid');
    t.notRegex(text(refused, 'fix'), /what the message names/, 'a fix of its own');
  }
  t.is(await status('labelSelector=a%3D%3D%3Db'), 400);
  t.is(await status('fieldSelector=spec.nope%3D1'), 400);

  const page = await json(api.call(`${SECRETS}?limit=2`));
  const token = text(page, 'metadata.continue');
  t.is(await status(`limit=2&continue=${token}&resourceVersion=5`), 400);
  t.is(await status(`limit=2&continue=${token.slice(2)}`), 400);
  t.is((await api.call(`${BASE}/namespaces/other/secrets?limit=2&continue=${token}`)).status, 400);
  api.resources.compact(api.resources.version() + 1);
  const compacted = await api.call(`${SECRETS}?limit=2&continue=${token}`);
  t.is(compacted.status, 410);
  t.is(at(await json(compacted), 'reason'), 'Expired');
});

test('a list, a watch and a deletion of a collection begin in a slice of the event loop, and deletions go on in slices', async (t) => {
  const api = await openTestApi(t);
  await fill(api, 20);
  const { list: read, write } = api.resources;
  let steps: string[] = [];
  api.resources.slice = async (org) => void steps.push(`slice of ${org}`);
  api.resources.list = (request) => {
    steps.push('list');
    return read(request);
  };
  api.resources.write = (address, request, signal) => {
    steps.push('delete');
    return write(address, request, signal);
  };
  t.is((await api.call(`${SECRETS}?labelSelector=mod=1`)).status, 200);
  t.deepEqual(steps, ['slice of acme', 'list']);
  steps = [];
  await (await api.call(`${SECRETS}?watch=true&timeoutSeconds=1&labelSelector=mod=1`)).body?.cancel();
  t.deepEqual(steps, ['slice of acme', 'list']);
  // Sixteen deletions are under way for one request, which a commit takes together; of a dry run four.
  for (const [query, groups] of [
    ['?dryRun=All', [4, 4, 4, 4, 4]],
    ['', [16, 4]],
  ] as const) {
    // The store of these tests deletes in a dry run, too.
    await fill(api, 20);
    steps = [];
    await (await api.call(`${SECRETS}${query}`, { method: 'DELETE' })).text();
    t.deepEqual(steps.slice(0, 2), ['slice of acme', 'list']);
    const inSlices = steps.slice(2).join().split('slice of acme,').slice(1);
    t.deepEqual(
      inSlices.map((part) => part.split(',').filter((step) => step === 'delete').length),
      [...groups],
    );
  }
});
