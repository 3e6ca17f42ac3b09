/** What `/metrics` costs, and whom it answers. */
import test from 'ava';
import { Registry } from 'prom-client';
import { openMetricsText } from '../../http/metrics-text.js';
import { until } from '../e2e/until.js';
import { bearer, KEYS, openTestApi } from './support/test-api.js';

test('metrics are rendered at most once a second, however many ask for them', async (t) => {
  const metrics = new Registry();
  let rendered = 0;
  const text = async (): Promise<string> => `rendered ${++rendered}\n`;
  const api = await openTestApi(t, { metrics: Object.assign(metrics, { metrics: text }) });
  const read = async (): Promise<string> => (await fetch(`${api.url}/metrics`)).text();
  const begun = performance.now();
  await Promise.all(Array.from({ length: 50 }, read));
  t.true(rendered <= 1 + (performance.now() - begun) / 1_000, `${rendered} times`);
  const before = rendered;
  await until('they are rendered anew', async () => (await read()) === `rendered ${before + 1}\n`);
});

test('metrics that could not be rendered are rendered anew for the next who asks, and are never older than a second', async (t) => {
  let now = 0;
  let said: string | undefined;
  let rendered = 0;
  const text = openMetricsText(
    {
      async metrics() {
        rendered += 1;
        if (said === undefined) throw new Error('no figures');
        return said;
      },
    },
    () => now,
  );
  await t.throwsAsync(text.read(), { message: 'no figures' });
  said = 'a';
  const [first, second] = await Promise.all([text.read(), text.read()]);
  t.is(first.toString(), 'a');
  t.is(second, first);
  t.is(rendered, 2);
  said = 'b';
  now = 999;
  t.is(await text.read(), first);
  now = 1_000;
  t.is((await text.read()).toString(), 'b');
});

test('metrics need the key of an operator where the setting says so', async (t) => {
  const api = await openTestApi(t, { config: { metricsOpen: false } });
  t.is((await fetch(`${api.url}/metrics`)).status, 401);
  t.is((await api.call('/metrics', { headers: bearer(KEYS.viewer) })).status, 403);
  t.is((await api.call('/metrics')).status, 403, 'an Owner of an org is no operator');
  t.is((await fetch(`${api.url}/livez`)).status, 200);
});
