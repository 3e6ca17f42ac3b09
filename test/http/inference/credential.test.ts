/** Keys of the data plane in Anthropic's header: as good as a bearer key there, nowhere else, and no way around the bounds on strangers. */
import test from 'ava';
import { BASE, KEYS, openTestApi, type TestApi } from '../support/test-api.js';

const MODELS = '/v1/models';

function withKey(api: TestApi, key: string, path = MODELS, more: object = {}): Promise<Response> {
  return fetch(api.url + path, { headers: { 'x-api-key': key, ...more } });
}

const inference = {
  ...{ models: () => [], refused: () => undefined, find: unasked, admit: unasked, forward: unasked },
  follow: () => () => undefined,
  spool: () => Promise.reject(new Error('nothing is spooled here')),
};
function unasked(): never {
  throw new Error('not asked in this test');
}

test('a key in x-api-key is a bearer key where models are called, and none elsewhere', async (t) => {
  const api = await openTestApi(t, { inference });
  t.is((await withKey(api, KEYS.owner)).status, 200);
  t.is((await withKey(api, 'svc_made-up')).status, 401);
  t.is((await withKey(api, KEYS.owner, `${BASE}/secrets`)).status, 401);
  const two = await withKey(api, KEYS.owner, MODELS, { authorization: `Bearer ${KEYS.viewer}` });
  t.is(two.status, 400);
  t.regex(await two.text(), /different keys/);
  t.false(api.logged.join('\n').includes('svc_'));
});

test('made-up keys in x-api-key use up the rate of their address, and a known key goes on from there', async (t) => {
  // Ten seconds of it at once.
  const api = await openTestApi(t, { inference, limits: { rates: { key: 1_000_000, org: 1_000_000, address: 0.5 } } });
  t.is((await withKey(api, KEYS.owner)).status, 200);
  const statuses: number[] = [];
  for (let i = 0; i < 12; i += 1) statuses.push((await withKey(api, `svc_made-up-${i}`)).status);
  t.is(statuses.at(0), 401);
  t.is(statuses.at(-1), 429, statuses.join(' '));
  t.is((await withKey(api, KEYS.owner)).status, 200);
});
