/**
 * Money of requests to models at a running service: caps and Budgets admit what fits and nothing more, whatever comes at once, and each request
 * is charged what it used.
 */
import type { ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { equalJson } from '../../src/api/equal.js';
import { showUSD, sumUSD, USD } from '../../src/money/usd.js';
import { listAt, objectOf, path, textAt, type Answer, type Client } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { openWatcher } from '../e2e/watcher.js';
import {
  CHAT,
  endpointsIn,
  inDatabase,
  ledgerOf,
  makeEndpoint,
  makeProject,
  makeKey,
  MESSAGES,
  NO_LIMITS,
  openStream,
  said,
  settledCost,
  shareGateway,
  statusesOf,
  told,
  usageOf,
  type Gateway,
} from './support/gateway.js';
import { holdOf, priceOf } from './support/prices.js';
import { chatAnswer, json } from './support/upstreams.js';

const CALLERS = 500;

let gateway: Gateway;
test.before(async () => {
  gateway = await shareGateway();
});
test.after.always(async () => gateway?.close());

/** Answers of an upstream that wait until they are let go. */
function openGate(name: string, used: { readonly input: number; readonly output: number }) {
  let waiting: ServerResponse[] = [];
  let open = false;
  const answer = (response: ServerResponse): void => json(response, 200, chatAnswer('Hi', used));
  gateway.upstreams.on(name, (response) => (open ? answer(response) : waiting.push(response)));
  return {
    waiting: () => waiting.length,
    open(): void {
      open = true;
      for (const response of waiting) answer(response);
      waiting = [];
    },
  };
}

/** What a client that may try again gets in the end. */
async function patient(client: Client, body: object): Promise<Answer> {
  return until('a place is free', async () => {
    const answer = await client.post(CHAT, body);
    return answer.status === 429 ? undefined : answer;
  });
}

/** All that the ledger says of an endpoint to people. */
async function entriesOf(owner: Client, uid: string): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (let after = ''; ;) {
    const { body } = await owner.get(`${path('wallet', '')}/entries?limit=1000${after}`);
    const items = listAt(body, 'items');
    found.push(...items.filter((item) => textAt(item, 'owner') === uid));
    if (items.length < 1_000) return found;
    after = `&continue=${textAt(body, 'continue')}`;
  }
}

function checkNoMoney(t: ExecutionContext, { status, headers, body, text }: Answer, named: RegExp): void {
  t.is(status, 402, text);
  t.is(textAt(body, 'error', 'code'), 'BudgetExceeded', text);
  t.regex(textAt(body, 'error', 'message'), named);
  t.is(headers.get('x-should-retry'), 'false');
  t.is(headers.get('retry-after'), null);
}

// Alone: others would wait for them.
test.serial(
  'of 500 requests at once against a cap exactly those that fit are admitted, nothing is spent beyond it, and what they left can be spent',
  async (t) => {
    const { owner, service } = gateway;
    const fits = 40;
    const body = { model: 'endpoint/capped', messages: said('Hello'), max_tokens: 100 };
    const hold = holdOf(body, 100);
    const cap = hold.times(fits).plus(hold.dividedBy(2, 'Up'));
    const uid = await makeEndpoint(owner, 'capped', { model: 'gated', limits: NO_LIMITS, maxCostUSD: cap.toFixed() });
    const used = { input: 9, output: 30 };
    const gate = openGate('gated', used);
    const asked = Array.from({ length: CALLERS }, () => patient(owner, body));
    const refused: Answer[] = [];
    for (const one of asked) void one.then((answer) => (answer.status === 200 ? undefined : refused.push(answer)));
    await until('each is admitted or refused', () => refused.length + gate.waiting() === CALLERS);
    t.is(gate.waiting(), fits);
    const { spent, held } = await ledgerOf(service, uid);
    t.is(Number(spent), 0);
    t.true(new USD(held).lte(cap), `${held} of ${cap.toFixed()}`);
    gate.open();
    const answers = await Promise.all(asked);
    t.deepEqual(statusesOf(answers), { 200: fits, 402: CALLERS - fits });
    for (const answer of answers.filter(({ status }) => status !== 200))
      checkNoMoney(t, answer, /^spec.maxCostUSD of InferenceEndpoint "capped" refuses the request/);
    const cost = priceOf(used.input, used.output);
    t.is(answers.find(({ status }) => status === 200)?.headers.get('x-svc-cost-usd'), showUSD(cost));
    t.is(await settledCost(service, uid), cost.times(fits).toFixed());

    // One after the other: as long as the largest cost of one is left.
    let admitted = fits;
    let last = await owner.post(CHAT, body);
    for (; last.status === 200; last = await owner.post(CHAT, body)) admitted += 1;
    checkNoMoney(t, last, /maxCostUSD/);
    const spentInAll = new USD(await settledCost(service, uid));
    t.is(spentInAll.toFixed(), cost.times(admitted).toFixed());
    t.true(spentInAll.lte(cap));
    t.true(cap.minus(spentInAll).lt(hold), `${cap.minus(spentInAll).toFixed()} are left of ${cap.toFixed()}`);

    const entries = await entriesOf(owner, uid);
    t.is(sumUSD(entries.map((entry) => textAt(entry, 'amountUSD'))).toFixed(), spentInAll.toFixed());
    await until('the status says what was posted', async () => {
      const { costUSD, requests, errors } = await usageOf(owner, 'capped');
      return costUSD === showUSD(spentInAll) && requests - errors === admitted;
    });
    const claude = await owner.post(MESSAGES, { model: 'endpoint/capped', messages: said('Hello'), max_tokens: 100 });
    t.is(claude.status, 402, 'the other dialect draws on the same money');
  },
);

test.serial(
  'of 500 requests at once against a Budget over their project exactly those that fit are admitted, and the Budget is named to the others',
  async (t) => {
    const { owner, service } = gateway;
    const key = await makeProject(owner, 'budgeted');
    const fits = 60;
    const body = { model: 'gated-too', messages: said('Hello'), max_tokens: 100 };
    const hold = holdOf(body, 100);
    const limit = hold.times(fits).plus(hold.dividedBy(2, 'Up'));
    const spec = { limitUSD: limit.toFixed(), scope: { project: 'budgeted' } };
    const made = await owner.post(path('budgets', ''), objectOf('Budget', 'of-models', spec));
    t.is(made.status, 201, made.text);
    const used = { input: 3, output: 10 };
    const gate = openGate('gated-too', used);
    const asked = Array.from({ length: CALLERS }, () => owner.ask('POST', CHAT, { body, key }));
    let refused = 0;
    for (const one of asked) void one.then(({ status }) => (refused += status === 200 ? 0 : 1));
    await until('each is admitted or refused', () => refused + gate.waiting() === CALLERS);
    t.is(gate.waiting(), fits);
    gate.open();
    const answers = await Promise.all(asked);
    t.deepEqual(statusesOf(answers), { 200: fits, 402: CALLERS - fits });
    for (const answer of answers.filter(({ status }) => status !== 200))
      checkNoMoney(t, answer, /^Budget "of-models" refuses/);
    const cost = priceOf(used.input, used.output);
    const counter = `budget/${textAt(made.body, 'metadata', 'uid')}/%`;
    const spentOf = async (): Promise<string> => {
      const [row] = await inDatabase<{ spent: string; held: string }>(
        service,
        'SELECT sum(spent_usd)::text AS spent, sum(held_usd)::text AS held FROM counters WHERE counter LIKE $1',
        [counter],
      );
      return Number(row?.held) === 0 ? new USD(row?.spent ?? '0').toFixed() : 'not settled';
    };
    const due = cost.times(fits).toFixed();
    await until('all is settled', async () => (await spentOf()) === due);
    t.is((await owner.ask('POST', CHAT, { body, key })).status, 200, 'what they did not use is there again');
    await owner.merge(`${path('budgets', '')}/of-models`, { spec: { limitUSD: due } });
    // What was held ahead before may still be used.
    const refusedOnce = (to: string, request: object): Promise<Answer> =>
      until('the lower limit refuses', async () => {
        const answer = await owner.ask('POST', to, { body: request, key });
        return answer.status === 200 ? undefined : answer;
      });
    checkNoMoney(t, await refusedOnce(CHAT, body), /Budget "of-models"/);
    const claude = { model: 'echo', messages: said('Hello'), max_tokens: 8_000 };
    const refusedClaude = await refusedOnce(MESSAGES, claude);
    checkNoMoney(t, refusedClaude, /Budget "of-models"/);
    t.is(textAt(refusedClaude.body, 'error', 'type'), 'billing_error');
  },
);

test('a request that fails costs nothing, and is counted as an error', async (t) => {
  const { owner, service, upstreams } = gateway;
  const uid = await makeEndpoint(owner, 'failed', { model: 'refunded', limits: NO_LIMITS });
  const body = { model: 'endpoint/failed', messages: said('Hello'), max_tokens: 100 };
  upstreams.on('refunded', (response) => json(response, 400, { error: { message: 'no' } }));
  t.is((await owner.post(CHAT, body)).status, 400);
  upstreams.on('refunded', (response) => json(response, 500, { error: { message: 'no' } }));
  t.is((await owner.post(CHAT, body)).status, 503);
  upstreams.on('refunded', (response) => json(response, 200, { error: { message: 'no' } }));
  t.is((await owner.post(CHAT, body)).status, 503, 'an error with status 200');
  upstreams.on('refunded', (response) => json(response, 200, chatAnswer('Hi', { input: 5, output: 5 })));
  t.is((await owner.post(CHAT, body)).status, 200);
  t.is(await settledCost(service, uid), priceOf(5, 5).toFixed());
  const expected = { requests: 4, errors: 3, inputTokens: 5, outputTokens: 5, openHolds: 0, costUSD: '0.000015' };
  await until('the status says so', async () => {
    return equalJson(await usageOf(owner, 'failed'), expected);
  });
});

test('each request of a known caller counts in usage24h of its endpoint, refused ones as errors, and its figures are those that were posted', async (t) => {
  const { owner, service } = gateway;
  const other = await makeKey(owner, 'uncounted', { scopes: ['inference:invoke'] });
  const listed = await makeKey(owner, 'counted', { scopes: ['inference:invoke'] });
  const spec = { model: 'echo', allowedKeys: ['counted'], limits: { rpm: 1_000, maxConcurrent: 200 } };
  const uid = await makeEndpoint(owner, 'usage', spec);
  const base = '/endpoints/default/usage';
  const body = (more: object = {}): object => ({ model: 'echo', messages: said('Hello'), max_tokens: 20, ...more });
  const ask = (to: string, options: object): Promise<Answer> =>
    owner.ask('POST', `${base}${to}`, { key: listed, ...options });
  let [input, output] = [0, 0];
  for (let i = 0; i < 20; i += 1) {
    const answer = await ask(CHAT, { body: body({ messages: told({ tokens: i % 7 }, 'text') }) });
    t.is(answer.status, 200, answer.text);
    const { usage } = answer.body as { usage: { prompt_tokens: number; completion_tokens: number } };
    input += usage.prompt_tokens;
    output += usage.completion_tokens;
  }
  const statuses: number[] = [];
  const refuse = async (to: string, options: object): Promise<number> => statuses.push((await ask(to, options)).status);
  await refuse(CHAT, { body: body({ max_tokens: 1_000_000 }) });
  await refuse(CHAT, { body: body(), key: other });
  await refuse(CHAT, { body: body({ model: 'passing' }) });
  await refuse(MESSAGES, { body: body({ max_tokens: undefined }) });
  await refuse(CHAT, { raw: 'no JSON' });
  await refuse(CHAT, { raw: '{}', contentType: 'text/plain' });
  await refuse(CHAT, { body: body({ messages: told({ fail: 500 }) }) });
  await owner.merge(`${endpointsIn('default')}/usage`, { spec: { state: 'Stopped' } });
  await refuse(CHAT, { body: body() });
  t.deepEqual(statuses, [400, 403, 400, 400, 400, 415, 503, 503]);
  // One that nobody knows is nobody's.
  t.is((await ask(CHAT, { body: body(), key: 'wrong-0123456789' })).status, 401);

  const stored = async () => {
    const [row] = await inDatabase<Record<string, string>>(
      service,
      `SELECT sum(requests)::text AS requests, sum(errors)::text AS errors, sum(input_tokens)::text AS input,
        sum(output_tokens)::text AS output, sum(cost_usd)::text AS cost FROM inference_use WHERE uid = $1`,
      [uid],
    );
    return row ?? {};
  };
  const usage = await until('all is posted and shown', async () => {
    const seen = await usageOf(owner, 'usage');
    const row = await stored();
    return seen.openHolds === 0 && seen.requests >= 28 && row['requests'] === String(seen.requests) ? seen : undefined;
  }).catch(() => usageOf(owner, 'usage'));
  const row = await stored();
  t.like(usage, { requests: 28, errors: 8, inputTokens: input, outputTokens: output });
  t.deepEqual(
    [row['requests'], row['errors'], row['input'], row['output']],
    ['28', '8', String(input), String(output)],
  );
  const spent = await settledCost(service, uid);
  t.is(new USD(row['cost'] ?? '').toFixed(), spent);
  t.is(usage.costUSD, showUSD(new USD(spent)));
  const entries = await entriesOf(owner, uid);
  t.is(sumUSD(entries.map((entry) => textAt(entry, 'amountUSD'))).toFixed(), spent);
});

test('who watches InferenceEndpoints sees their use move while requests come', async (t) => {
  const { owner } = gateway;
  await makeEndpoint(owner, 'watched', { model: 'echo', limits: NO_LIMITS });
  const watcher = await openWatcher(() => owner, endpointsIn('default'));
  t.teardown(() => watcher.stop());
  const shown = (): readonly { requests: number; openHolds: number }[] =>
    watcher.seen
      .filter(({ name }) => name === 'watched')
      .map(
        ({ object }) => (object as { status: { usage24h: { requests: number; openHolds: number } } }).status.usage24h,
      );
  const slow = { model: 'endpoint/watched', max_tokens: 1_000, messages: told({ tokens: 1_000, rate: 50 }) };
  const stream = await openStream(owner, CHAT, slow);
  let asked = 0;
  await until('its use was seen to move three times', async () => {
    asked += 1;
    await owner.post(CHAT, { ...slow, messages: said('Hello') });
    return new Set(shown().map(({ requests }) => requests)).size > 3;
  });
  t.true(
    shown().some(({ openHolds }) => openHolds > 0),
    'and what runs',
  );
  stream.leave();
  await until('the last figures are shown', () => {
    const last = shown().at(-1);
    return last?.requests === asked + 1 && last.openHolds === 0;
  });
  const counts = shown().map(({ requests }) => requests);
  t.deepEqual(
    counts,
    counts.toSorted((a, b) => a - b),
    'it never goes back',
  );
  t.is(watcher.failure(), undefined);
});
