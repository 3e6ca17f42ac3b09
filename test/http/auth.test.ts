/** Who may do what at the front door. The rules themselves are tested in test/api/access. */
import test from 'ava';
import { CATALOG_ORG } from '../../src/brand.js';
import { BASE, bearer, credential, IN_DEFAULT, KEYS, object, openDoor, sha256 } from './support/door.js';
import { at, json, list } from './support/json.js';

const SECRETS = `${IN_DEFAULT}/secrets`;

test('no key, a wrong one and another scheme are Unauthorized, and the value is nowhere in log or answer', async (t) => {
  const door = await openDoor(t);
  for (const authorization of [
    '',
    'Bearer nope-secret',
    'Basic bm9wZS1zZWNyZXQ=',
    'Bearer ',
    `Bearer ${'x'.repeat(600)}`,
  ]) {
    const answer = await fetch(`${door.url}${SECRETS}`, { headers: authorization === '' ? {} : { authorization } });
    t.is(answer.status, 401, authorization);
    t.is(answer.headers.get('www-authenticate'), 'Bearer');
    t.false((await answer.text()).includes('nope-secret'));
  }
  t.false(door.logged.join().includes('nope-secret'));
  // Health, discovery and the interface need none: they tell nothing of any tenant.
  for (const path of ['/livez', '/readyz', '/version', '/apis', '/openapi.json', '/docs/errors/NotFound']) {
    t.is((await fetch(door.url + path)).status, 200, path);
  }
});

test("another org's object is NotFound, also on the hot path, and its list is empty", async (t) => {
  const door = await openDoor(t);
  await door.make('Secret', 'secrets', 'mine');
  const other = bearer(KEYS.other);
  for (let i = 0; i < 3; i++) {
    t.is((await door.call(`${SECRETS}/mine`)).status, 200);
    t.is((await door.call(`${SECRETS}/mine`, { headers: other })).status, 404);
  }
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const headers = {
      ...other,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    };
    const body = JSON.stringify(object('Secret', 'mine', 'default'));
    t.is((await door.call(`${SECRETS}/mine`, { method, headers, body })).status, 404, method);
  }
  t.deepEqual(list(await json(door.call(`${BASE}/secrets`, { headers: other })), 'items'), []);
  t.is((await door.call(`${SECRETS}/mine`)).status, 200);
});

test('an Idempotency-Key belongs to one token: another one of the same ServiceAccount is another holder', async (t) => {
  const door = await openDoor(t);
  const address = { org: 'acme', kind: 'ServiceAccount', project: 'default', name: 'robot' };
  await door.stage.put(address, object('ServiceAccount', 'robot', 'default', { scopes: ['secrets:write'] }));
  const detail = { actsAs: { serviceAccount: { project: 'default', name: 'robot' } }, scopes: ['*:*'] };
  for (const token of ['svc_one', 'svc_two'])
    door.credentials.set(sha256(token), { address, uid: 'uid-ServiceAccount-robot', detail });
  const holder = async (token: string, name: string): Promise<string | undefined> => {
    const headers = { ...bearer(token), 'content-type': 'application/json', 'idempotency-key': 'same' };
    await door.call(SECRETS, { method: 'POST', headers, body: JSON.stringify(object('Secret', name, 'default')) });
    return door.stage.requests.at(-1)?.caller.holder;
  };
  const first = await holder('svc_one', 'a');
  t.is(await holder('svc_one', 'b'), first);
  t.not(await holder('svc_two', 'c'), first);
});

test('a Viewer of one project reads there, writes nowhere, and sees no other project', async (t) => {
  const door = await openDoor(t);
  await door.make('Secret', 'secrets', 'a');
  await door.stage.put({ org: 'acme', kind: 'Secret', project: 'other', name: 'b' }, object('Secret', 'b', 'other'));
  const headers = bearer(KEYS.viewer);
  t.is((await door.call(`${SECRETS}/a`, { headers })).status, 200);
  const write = await door.call(SECRETS, {
    method: 'POST',
    headers,
    body: JSON.stringify(object('Secret', 'c', 'default')),
  });
  t.is(write.status, 403);
  t.regex(String(at(await json(write), 'message')), /secrets:write/);
  t.is((await door.call(`${BASE}/namespaces/other/secrets/b`, { headers })).status, 403);
  t.is((await door.call(`${BASE}/members`, { headers })).status, 403);
});

test('the catalog is read by everybody and written by nobody', async (t) => {
  const door = await openDoor(t);
  const name = 'local';
  await door.stage.put({ org: CATALOG_ORG, kind: 'Offering', project: '', name }, object('Offering', name, ''));
  for (const key of [KEYS.owner, KEYS.other, KEYS.viewer]) {
    t.is((await door.call(`${BASE}/offerings/${name}`, { headers: bearer(key) })).status, 200);
    t.is(list(await json(door.call(`${BASE}/offerings`, { headers: bearer(key) })), 'items').length, 1);
  }
  const write = await door.call(`${BASE}/namespaces/svc/secrets`, {
    method: 'POST',
    body: '{"metadata":{"name":"x"}}',
  });
  t.is(write.status, 405);
});

test('a key is known by its cache until it is forgotten, and a changed role counts at once after that', async (t) => {
  let finds = 0;
  let clock = 1_000_000;
  const found = new Map([[sha256(KEYS.owner), { ...credential('acme', 'owner'), expires: 2_000_000 }]]);
  const door = await openDoor(t, {
    clock: () => clock,
    credentials: {
      async find(hash) {
        finds += 1;
        return found.get(hash);
      },
    },
  });
  await door.make('Secret', 'secrets', 'a');
  for (let i = 0; i < 5; i++) t.is((await door.call(`${SECRETS}/a`)).status, 200);
  t.is(finds, 1);

  const member = { org: 'acme', kind: 'Member', project: '', name: 'owner' };
  await door.stage.put(member, object('Member', 'owner', '', { role: 'Billing' }));
  door.http.authenticator.forget(member);
  t.is((await door.call(`${SECRETS}/a`)).status, 403);
  t.is(finds, 2);

  // Its time is over: looked at on every use, also of a kept one.
  clock = 3_000_000;
  t.is((await door.call(`${SECRETS}/a`)).status, 401);
});

test('a revoked key is refused at once when it is forgotten', async (t) => {
  const door = await openDoor(t);
  await door.make('Secret', 'secrets', 'a');
  t.is((await door.call(`${SECRETS}/a`)).status, 200);
  door.credentials.clear();
  door.http.authenticator.forget({ org: 'acme', kind: 'APIKey', project: '', name: 'owner-key' });
  t.is((await door.call(`${SECRETS}/a`)).status, 401);
});
