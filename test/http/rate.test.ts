/** Rates and streams of one credential: what is too much is told, and troubles nobody else. */
import test from 'ava';
import { openRates } from '../../http/rate.js';
import type { Caller } from '../../actors/resource-service.js';
import { bearer, IN_DEFAULT, KEYS, openTestApi } from './support/test-api.js';
import { at, json } from './support/json.js';
import { watching } from './support/watching.js';

const SECRETS = `${IN_DEFAULT}/secrets`;

function caller(org: string, holder: string): Caller {
  return { org, holder } as Caller;
}

test('a credential may send its rate for ever, ten seconds of it at once, and no more', (t) => {
  let now = 0;
  const rates = openRates({ key: 5, org: 1_000 }, () => now);
  const one = caller('acme', 'k1');
  for (let i = 0; i < 50; i += 1) t.true(rates.take(one));
  t.false(rates.take(one));
  now += 1_000;
  for (let i = 0; i < 5; i += 1) t.true(rates.take(one));
  t.false(rates.take(one));
  t.throws(() => rates.demand(one), { message: /more than 5 requests a second/ });
});

test('an org is bounded over all its credentials, and another org notices nothing', (t) => {
  const rates = openRates({ key: 1_000, org: 2 }, () => 0);
  for (let i = 0; i < 20; i += 1) t.true(rates.take(caller('acme', `k${i}`)));
  t.false(rates.take(caller('acme', 'k99')));
  t.true(rates.take(caller('globex', 'k1')));
});

test('what is refused takes nothing, and a credential looked up anew keeps its bucket', (t) => {
  let now = 0;
  const rates = openRates({ key: 1, org: 1_000 }, () => now);
  for (let i = 0; i < 10; i += 1) t.true(rates.take(caller('acme', 'k1')));
  for (let i = 0; i < 100; i += 1) t.false(rates.take(caller('acme', 'k1')));
  now += 1_000;
  t.true(rates.take(caller('acme', 'k1')));
});

test('too many requests of one key are 429 with Retry-After, on the short way of reads too, and other keys go on', async (t) => {
  const api = await openTestApi(t, { limits: { rates: { key: 1, org: 1_000, address: 1_000_000 } } });
  await api.make('Secret', 'secrets', 'a');
  const statuses: number[] = [];
  for (let i = 0; i < 15; i += 1) statuses.push((await api.call(`${SECRETS}/a`)).status);
  t.is(statuses[0], 200);
  t.is(statuses.at(-1), 429);
  const refused = await api.call(`${SECRETS}/a`);
  t.truthy(refused.headers.get('retry-after'));
  t.is(at(await json(refused), 'reason'), 'TooManyRequests');
  t.is((await api.call(`${SECRETS}/a`, { headers: bearer(KEYS.viewer) })).status, 200);
});

test('one credential holds at most its share of streams, and gets it back when one ends', async (t) => {
  const api = await openTestApi(t, { limits: { streamsPerKey: 1 } });
  const first = await watching((signal) => api.call(`${SECRETS}?watch=1`, { signal }));
  t.is(first.status, 200);
  t.is((await api.call(`${SECRETS}?watch=1`)).status, 429);
  const other = await watching((signal) => api.call(`${SECRETS}?watch=1`, { signal, headers: bearer(KEYS.viewer) }));
  t.is(other.status, 200);
  first.stop();
  other.stop();
  let again = await api.call(`${SECRETS}?watch=1&timeoutSeconds=1`);
  for (let i = 0; i < 200 && again.status === 429; i += 1)
    again = await api.call(`${SECRETS}?watch=1&timeoutSeconds=1`);
  t.is(again.status, 200);
  await again.text();
});

test('one org holds at most half of all streams, however many keys it has', async (t) => {
  const api = await openTestApi(t, { limits: { streams: 4 } });
  const watch = (key: string): ReturnType<typeof watching> =>
    watching((signal) => api.call(`${SECRETS}?watch=1`, { signal, headers: bearer(key) }));
  const open = [await watch(KEYS.owner), await watch(KEYS.viewer)];
  t.deepEqual(
    open.map(({ status }) => status),
    [200, 200],
  );
  t.is((await api.call(`${SECRETS}?watch=1`, { headers: bearer(KEYS.viewer) })).status, 429);
  const other = await watch(KEYS.other);
  t.is(other.status, 200);
  for (const { stop } of [...open, other]) stop();
});
