/** InferenceEndpoints as their owners write them: over HTTP, with what stands of them in the ledger. */
import test from 'ava';
import { Client as Database } from 'pg';
import { objectOf, path, textAt, type Client } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { CHAT, said, shareGateway, type Gateway } from './support/gateway.js';

const ENDPOINTS = path('inferenceendpoints', 'default');

let gateway: Gateway;
let service: Running;
let owner: Client;
test.before(async () => {
  gateway = await shareGateway();
  ({ service, owner } = gateway);
});
test.after.always(async () => gateway?.close());

/** `maxCostUSD` of an object in the ledger. */
async function capOf(uid: string): Promise<string | undefined> {
  const database = new Database(service.databaseUrl);
  await database.connect();
  try {
    const { rows } = await database.query<{ cap: string }>(
      'SELECT limit_usd::float8::text AS cap FROM caps WHERE uid = $1',
      [uid],
    );
    return rows[0]?.cap;
  } finally {
    await database.end();
  }
}

test('one is created, its cap is in the ledger and rises, and it goes with its cap', async (t) => {
  const spec = { model: 'svc/echo', maxCostUSD: '1.00' };
  const made = await owner.post(ENDPOINTS, objectOf('InferenceEndpoint', 'life', spec));
  t.is(made.status, 201, made.text);
  const uid = textAt(made.body, 'metadata', 'uid');
  t.like((made.body as { status: object }).status, {
    ...{ phase: 'Running', observedGeneration: 1 },
    usage24h: { costUSD: '0.00', errors: 0, inputTokens: 0, openHolds: 0, outputTokens: 0, requests: 0 },
  });
  t.is(await capOf(uid), '1');
  const to = `${ENDPOINTS}/life`;
  const lower = await owner.merge(to, { spec: { maxCostUSD: '0.50' } });
  t.is(lower.status, 422, lower.text);
  const raised = await owner.merge(to, { spec: { maxCostUSD: '2.50', state: 'Stopped' } });
  t.is(raised.status, 200, raised.text);
  t.like((raised.body as { status: object }).status, { phase: 'Stopped', reason: 'Stopped', observedGeneration: 2 });
  t.is(await capOf(uid), '2.5');
  t.is((await owner.remove(to)).status, 200);
  t.is((await owner.get(to)).status, 404);
  t.is(await capOf(uid), undefined);
});

test('a model that is not in the catalog is refused by its field', async (t) => {
  const none = await owner.post(ENDPOINTS, objectOf('InferenceEndpoint', 'none', { model: 'none' }));
  t.is(none.status, 422, none.text);
  t.regex(none.text, /spec\.model/);
  const alias = await owner.post(ENDPOINTS, objectOf('InferenceEndpoint', 'alias', { model: 'svc-echo' }));
  t.is(alias.status, 201, alias.text);
});

test('who makes one on a model that will not be served, or will not for ever, is warned', async (t) => {
  const make = (name: string, model: string) => owner.post(ENDPOINTS, objectOf('InferenceEndpoint', name, { model }));
  const retired = await make('on-retired', 'retired');
  t.is(retired.status, 201, retired.text);
  t.regex(retired.headers.get('warning') ?? '', /spec\.model: the model is served no more since 2025-01-01T00:00:00Z/);
  const retiring = await make('on-retiring', 'retiring');
  t.regex(retiring.headers.get('warning') ?? '', /spec\.model: the model will be served no more from 2099-01-01/);
  t.is((await make('on-echo', 'echo')).headers.get('warning'), null);
  const answer = await owner.post(CHAT, { model: 'retired', messages: said('Hello'), max_tokens: 5 });
  t.is(answer.status, 404, answer.text);
  t.regex(textAt(answer.body, 'error', 'message'), /is served no more since 2025-01-01/);
});
