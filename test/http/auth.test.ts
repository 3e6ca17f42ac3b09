/** Who may do what over HTTP. The rules themselves are tested in test/api/access. */
import test from 'ava';
import { CATALOG_ORG } from '../../src/brand.js';
import { networkOf, openAddresses } from '../../http/auth/addresses.js';
import { openAuthenticator, type Authenticator } from '../../http/auth/authenticator.js';
import { openForgotten } from '../../http/auth/forgotten.js';
import type { StoredCredential } from '../../storage/store.js';
import { BASE, bearer, credential, IN_DEFAULT, KEYS, object, openTestApi, sha256 } from './support/test-api.js';
import { at, json, list } from './support/json.js';

const SECRETS = `${IN_DEFAULT}/secrets`;

test('no key, a wrong one and another scheme are Unauthorized, and the value is nowhere in log or answer', async (t) => {
  const api = await openTestApi(t);
  for (const authorization of [
    '',
    'Bearer nope-secret',
    'Basic bm9wZS1zZWNyZXQ=',
    'Bearer ',
    `Bearer ${'x'.repeat(600)}`,
  ]) {
    const answer = await fetch(`${api.url}${SECRETS}`, { headers: authorization === '' ? {} : { authorization } });
    t.is(answer.status, 401, authorization);
    t.is(answer.headers.get('www-authenticate'), 'Bearer');
    t.false((await answer.text()).includes('nope-secret'));
  }
  t.false(api.logged.join().includes('nope-secret'));
  // Health, discovery and the interface need none: they tell nothing of any tenant.
  for (const path of ['/livez', '/readyz', '/version', '/apis', '/openapi.json', '/docs/errors/NotFound']) {
    t.is((await fetch(api.url + path)).status, 200, path);
  }
});

test("another org's object is NotFound, also on the hot path, and its list is empty", async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'mine');
  const other = bearer(KEYS.other);
  for (let i = 0; i < 3; i++) {
    t.is((await api.call(`${SECRETS}/mine`)).status, 200);
    t.is((await api.call(`${SECRETS}/mine`, { headers: other })).status, 404);
  }
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const headers = {
      ...other,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    };
    const body = JSON.stringify(object('Secret', 'mine', 'default'));
    t.is((await api.call(`${SECRETS}/mine`, { method, headers, body })).status, 404, method);
  }
  t.deepEqual(list(await json(api.call(`${BASE}/secrets`, { headers: other })), 'items'), []);
  t.is((await api.call(`${SECRETS}/mine`)).status, 200);
});

test('an Idempotency-Key belongs to one token: another one of the same ServiceAccount is another holder', async (t) => {
  const api = await openTestApi(t);
  const address = { org: 'acme', kind: 'ServiceAccount', project: 'default', name: 'robot' };
  await api.resources.put(address, object('ServiceAccount', 'robot', 'default', { scopes: ['secrets:write'] }));
  const detail = { actsAs: { serviceAccount: { project: 'default', name: 'robot' } }, scopes: ['*:*'] };
  for (const token of ['svc_one', 'svc_two'])
    api.credentials.set(sha256(token), { address, uid: 'uid-ServiceAccount-robot', detail });
  const holder = async (token: string, name: string): Promise<string | undefined> => {
    const headers = { ...bearer(token), 'content-type': 'application/json', 'idempotency-key': 'same' };
    await api.call(SECRETS, { method: 'POST', headers, body: JSON.stringify(object('Secret', name, 'default')) });
    return api.resources.requests.at(-1)?.caller.holder;
  };
  const first = await holder('svc_one', 'a');
  t.is(await holder('svc_one', 'b'), first);
  t.not(await holder('svc_two', 'c'), first);
});

test('a Viewer of one project reads there, writes nowhere, and sees no other project', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  await api.resources.put({ org: 'acme', kind: 'Secret', project: 'other', name: 'b' }, object('Secret', 'b', 'other'));
  const headers = bearer(KEYS.viewer);
  t.is((await api.call(`${SECRETS}/a`, { headers })).status, 200);
  const write = await api.call(SECRETS, {
    method: 'POST',
    headers,
    body: JSON.stringify(object('Secret', 'c', 'default')),
  });
  t.is(write.status, 403);
  t.regex(String(at(await json(write), 'message')), /secrets:write/);
  t.is((await api.call(`${BASE}/namespaces/other/secrets/b`, { headers })).status, 403);
  t.is((await api.call(`${BASE}/members`, { headers })).status, 403);
});

test('the catalog is read by everybody and written by nobody', async (t) => {
  const api = await openTestApi(t);
  const name = 'local';
  await api.resources.put({ org: CATALOG_ORG, kind: 'Offering', project: '', name }, object('Offering', name, ''));
  for (const key of [KEYS.owner, KEYS.other, KEYS.viewer]) {
    t.is((await api.call(`${BASE}/offerings/${name}`, { headers: bearer(key) })).status, 200);
    t.is(list(await json(api.call(`${BASE}/offerings`, { headers: bearer(key) })), 'items').length, 1);
  }
  const write = await api.call(`${BASE}/namespaces/svc/secrets`, {
    method: 'POST',
    body: '{"metadata":{"name":"x"}}',
  });
  t.is(write.status, 405);
});

test('a key is known by its cache until it is forgotten, and a changed role counts at once after that', async (t) => {
  let finds = 0;
  let clock = 1_000_000;
  const found = new Map([[sha256(KEYS.owner), { ...credential('acme', 'owner'), expires: 2_000_000 }]]);
  const api = await openTestApi(t, {
    clock: () => clock,
    credentials: {
      async find(hash) {
        finds += 1;
        return found.get(hash);
      },
    },
  });
  await api.make('Secret', 'secrets', 'a');
  for (let i = 0; i < 5; i++) t.is((await api.call(`${SECRETS}/a`)).status, 200);
  t.is(finds, 1);

  const member = { org: 'acme', kind: 'Member', project: '', name: 'owner' };
  await api.resources.put(member, object('Member', 'owner', '', { role: 'Billing' }));
  api.http.authenticator.forget(member);
  t.is((await api.call(`${SECRETS}/a`)).status, 403);
  t.is(finds, 2);

  // Its time is over: looked at on every use, also of a kept one.
  clock = 3_000_000;
  t.is((await api.call(`${SECRETS}/a`)).status, 401);
});

test('a revoked key is refused at once when it is forgotten', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  t.is((await api.call(`${SECRETS}/a`)).status, 200);
  api.credentials.clear();
  api.http.authenticator.forget({ org: 'acme', kind: 'APIKey', project: '', name: 'owner-key' });
  t.is((await api.call(`${SECRETS}/a`)).status, 401);
});

test('a key whose own deletion has begun is Unauthorized', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'a');
  t.is((await api.call(`${SECRETS}/a`)).status, 200);
  const key = { org: 'acme', kind: 'APIKey', project: '', name: 'owner-key' };
  const { metadata, ...rest } = object('APIKey', 'owner-key', '');
  const deletionTimestamp = '2026-01-02T03:04:05Z';
  await api.resources.put(key, { ...rest, metadata: { ...metadata, deletionTimestamp } });
  api.http.authenticator.forget(key);
  t.is((await api.call(`${SECRETS}/a`)).status, 401);
});

interface Lookups {
  readonly authenticator: Authenticator;
  /** Hashes that are being looked up, in order; `answer` ends a look-up. */
  readonly asked: string[];
  answer(hash: string): void;
  /** As `answer`, and there is no such key. */
  refuse(hash: string): void;
  now: number;
}

/** An authenticator whose look-ups wait for the test; `svc_good` is the one key that there is. */
function lookups(): Lookups {
  const asked: string[] = [];
  const waiting = new Map<string, (found: StoredCredential | undefined) => void>();
  const good = credential('acme', 'owner');
  let now = 0;
  const authenticator = openAuthenticator({
    credentials: {
      find(hash) {
        asked.push(hash);
        return new Promise((resolve) => waiting.set(hash, resolve));
      },
    },
    principals: async ({ kind }) =>
      kind === 'Member'
        ? object('Member', 'owner', '', { role: 'Owner', email: 'a@b.test' })
        : object('APIKey', 'owner-key', ''),
    addresses: openAddresses(10, () => now),
    clock: () => 1_000_000,
    now: () => now,
  });
  return {
    authenticator,
    asked,
    answer: (hash) => waiting.get(hash)?.(hash === sha256('svc_good') ? good : undefined),
    refuse: (hash) => waiting.get(hash)?.(undefined),
    get now() {
      return now;
    },
    set now(value) {
      now = value;
    },
  };
}

const GOOD = 'Bearer svc_good';

async function untilAsked(l: Lookups, times: number): Promise<void> {
  for (let turn = 0; turn < 1_000 && l.asked.length < times; turn += 1) await new Promise(setImmediate);
}

test('a known key is served while it is looked up again, and neither waits behind made-up ones', async (t) => {
  const l = lookups();
  const hash = sha256('svc_good');
  const first = l.authenticator.authenticate(GOOD, '10.0.0.1');
  l.answer(hash);
  t.is((await first).caller.org, 'acme');
  // From four addresses, so that all look-ups of unknown keys are taken.
  const flood = Array.from({ length: 80 }, async (_, i) =>
    l.authenticator.authenticate(`Bearer made-up-${i}`, `10.0.1.${i % 5}`).catch((error: Error) => error.message),
  );
  t.is(l.asked.length, 65);
  l.now = 12_000;
  t.is(l.authenticator.known(GOOD)?.caller.org, 'acme');
  t.is(l.asked.at(-1), hash, 'it is looked up again meanwhile');
  t.is((await l.authenticator.authenticate(GOOD, '10.0.1.0')).caller.org, 'acme');
  t.is(l.asked.length, 66, 'once');
  l.now = 16_000;
  t.is(l.authenticator.known(GOOD), undefined);
  const late = l.authenticator.authenticate(GOOD, '10.0.1.0');
  l.answer(hash);
  t.is((await late).caller.org, 'acme');
  for (const asked of l.asked) l.answer(asked);
  const said = await Promise.all(flood);
  t.is(said.filter((message) => message === 'Unavailable: too many unknown keys at once').length, 16);
});

test('one address takes a part of the look-ups of unknown keys, and what fails counts against it alone', async (t) => {
  const l = lookups();
  const guess = async (i: number, from: string): Promise<string> =>
    l.authenticator.authenticate(`Bearer guess-${i}`, from).then(
      () => 'let in',
      (error: Error) => error.message.split(':')[0] ?? '',
    );
  const running = Array.from({ length: 20 }, (_, i) => guess(i, '10.0.0.1'));
  t.is(l.asked.length, 16);
  const elsewhere = l.authenticator.authenticate(GOOD, '10.0.0.2');
  l.answer(sha256('svc_good'));
  t.is((await elsewhere).caller.org, 'acme');
  for (const asked of l.asked) l.answer(asked);
  t.is((await Promise.all(running)).filter((code) => code === 'Unauthorized').length, 16);
  const outcomes: string[] = [];
  for (let i = 100; i < 220; i += 1) {
    const outcome = guess(i, '10.0.0.1');
    l.answer(sha256(`guess-${i}`));
    outcomes.push(await outcome);
  }
  t.is(outcomes.filter((code) => code === 'Unauthorized').length, 80, 'ten seconds of its rate, in all');
  t.is(outcomes.at(-1), 'TooManyRequests');
  t.is(l.asked.length, 16 + 1 + 80, 'what is refused is not looked up');
  t.is((await l.authenticator.authenticate(GOOD, '10.0.0.1')).caller.org, 'acme', 'a known key goes on from there');
});

test('a key that is not known yet takes one look-up, however many requests come with it at once', async (t) => {
  const l = lookups();
  const all = Array.from({ length: 90 }, async () => (await l.authenticator.authenticate(GOOD, '10.0.0.1')).caller.org);
  t.is(l.asked.length, 1);
  l.answer(sha256('svc_good'));
  t.deepEqual(new Set(await Promise.all(all)), new Set(['acme']));
});

const OWNER_KEY = { org: 'acme', kind: 'APIKey', project: '', name: 'owner-key' };

test('a look-up that began before a key ended is not what a later request is judged by', async (t) => {
  const l = lookups();
  const hash = sha256('svc_good');
  const before = l.authenticator.authenticate(GOOD, '10.0.0.1');
  l.authenticator.forget(OWNER_KEY);
  const after = [1, 2].map(async () => l.authenticator.authenticate(GOOD, '10.0.0.1'));
  l.answer(hash);
  t.is((await before).caller.org, 'acme');
  t.is(l.authenticator.isCurrent(await before), false);
  await untilAsked(l, 2);
  l.answer(hash);
  for (const identity of await Promise.all(after)) t.is(l.authenticator.isCurrent(identity), true);
  t.is(l.asked.length, 2, 'one for both');
});

test('a made-up key, too, is looked up again when something changed meanwhile: it may be the key that was made', async (t) => {
  const l = lookups();
  const hash = sha256('svc_good');
  const before = l.authenticator.authenticate(GOOD, '10.0.0.1').catch((error: Error) => error.message);
  l.authenticator.forget(OWNER_KEY);
  const after = l.authenticator.authenticate(GOOD, '10.0.0.1');
  l.refuse(hash);
  t.is(await before, 'Unauthorized: the API key is not valid');
  await untilAsked(l, 2);
  l.answer(hash);
  t.is((await after).caller.org, 'acme');
});

test('an org that changes its members all the time makes no look-up of another org worthless', async (t) => {
  const l = lookups();
  const change = (): void => l.authenticator.forget({ org: 'busy', kind: 'Member', project: '', name: 'owner' });
  const all = Array.from({ length: 90 }, async () => {
    const identity = l.authenticator.authenticate(GOOD, '10.0.0.1');
    change();
    return (await identity).caller.org;
  });
  t.is(l.asked.length, 1);
  l.answer(sha256('svc_good'));
  t.deepEqual(new Set(await Promise.all(all)), new Set(['acme']));
  change();
  t.is(l.authenticator.known(GOOD)?.caller.org, 'acme', 'it is kept');
});

test('changes are remembered one by one up to a bound, and beyond it everything is taken to have changed', (t) => {
  const forgotten = openForgotten(2);
  const start = forgotten.count();
  forgotten.add('a');
  forgotten.add('b');
  forgotten.add('a');
  t.is(forgotten.since(start, ['c']), false);
  t.is(forgotten.since(start, ['c', 'b']), true);
  t.is(forgotten.since(start + 2, ['b']), false);
  forgotten.add('c');
  t.is(forgotten.since(start, ['other']), true, 'the change of b is not known any more');
  t.is(forgotten.since(start + 2, ['b']), false);
  t.is(forgotten.since(start + 2, ['a']), true);
  const before = forgotten.count();
  forgotten.addAll();
  t.is(forgotten.since(before, []), true);
  t.is(forgotten.since(forgotten.count(), ['a', 'b', 'c']), false);
});

test('an IPv6 client counts by its /64, and one of IPv4 by itself', (t) => {
  t.is(networkOf('2001:db8:1:2:3:4:5:6'), networkOf('2001:db8:1:2:ffff::1'));
  t.is(networkOf('2001:db8::1'), networkOf('2001:db8:0:0:9::1'));
  t.not(networkOf('2001:db8:1:2::1'), networkOf('2001:db8:1:3::1'));
  t.is(networkOf('::1'), '0:0:0:0::/64');
  t.not(networkOf('::ffff:10.0.0.1'), networkOf('::ffff:10.0.0.2'));
  t.is(networkOf('a:b'), 'a:b', 'what is no address is itself');
  t.is(networkOf('10.0.0.1'), '10.0.0.1');
  t.is(networkOf(''), '');
});

test('an address that asks too much without a key is refused, but for health; with a key it goes on', async (t) => {
  const api = await openTestApi(t, { limits: { rates: { key: 1_000_000, org: 1_000_000, address: 0.1 } } });
  await api.make('Secret', 'secrets', 'a');
  t.is((await fetch(`${api.url}/nothing`)).status, 404);
  for (const path of [SECRETS, '/apis', '/openapi.json', '/version', '/metrics']) {
    const refused = await fetch(api.url + path);
    t.is(refused.status, 429, path);
    t.truthy(refused.headers.get('retry-after'));
    t.is(at(await json(refused), 'reason'), 'TooManyRequests');
  }
  for (const path of ['/livez', '/healthz', '/readyz']) t.is((await fetch(api.url + path)).status, 200, path);
  for (const path of [SECRETS, `${SECRETS}/a`, '/apis', '/version', '/metrics'])
    t.is((await api.call(path)).status, 200, path);
  // Also while it has to be looked up again.
  for (const path of ['/version', '/apis', SECRETS]) {
    api.http.authenticator.forget(OWNER_KEY);
    t.is((await api.call(path)).status, 200, path);
  }
});
