import { Buffer } from 'node:buffer';
import test, { type ExecutionContext } from 'ava';
import type { UpstreamError } from '../../../src/engines/inference/dialects/dialect.js';
import { openHttpUpstream } from '../../../src/engines/inference/http-upstream.js';
import { routerOf, type RoutedUpstream } from '../../../src/engines/inference/open-router.js';
import type { Forwarded, ForwardCall, InferenceRouter, Way } from '../../../src/engines/inference/router.js';
import { json, until, upstreamServer, type Answering, type UpstreamServer } from './upstream-server.js';

interface Far {
  readonly server: UpstreamServer;
  readonly routed: RoutedUpstream;
  answer: Answering;
}

interface FarOptions {
  readonly priority?: number;
  readonly as?: string;
  readonly maxConcurrent?: number;
  readonly firstByteMs?: number;
  readonly dialect?: 'OpenAI' | 'Anthropic';
}

const GOOD: Answering = (response) => json(response, 200, { ok: true });
const error = (message: string, code?: string): unknown => ({ error: { message, code } });

/** An upstream whose answer a test may change; probes are answered by themselves. */
async function far(t: ExecutionContext, name: string, answer: Answering, options: FarOptions = {}): Promise<Far> {
  const { priority = 0, as, maxConcurrent = 100, firstByteMs = 20_000, dialect = 'OpenAI' } = options;
  const server = await upstreamServer(t, (response, request) =>
    request.method === 'GET' ? json(response, 200, {}) : one.answer(response, request),
  );
  const upstream = openHttpUpstream({
    ...{
      name,
      dialect,
      baseURL: `${server.url}/v1`,
      key: `sk-${name}`,
      headers: {},
      class: 'External',
      mayFetch: true,
      maxConcurrent,
    },
    timeouts: { connectMs: 2_000, firstByteMs, idleMs: 20_000 },
  });
  const one: Far = { server, routed: { upstream, priority, models: [{ name: 'm', as }] }, answer };
  return one;
}

interface Routing {
  readonly router: InferenceRouter;
  readonly notes: string[];
  passes(ms: number): void;
}

function routing(t: ExecutionContext, fars: readonly Far[], probeMs = 3_600_000): Routing {
  let now = 1_000_000;
  const notes: string[] = [];
  const router = routerOf(
    fars.map(({ routed }) => routed),
    {
      loadTokenizer: () => Promise.reject(new Error('none')),
      note: (message) => notes.push(message),
      now: () => now,
      random: () => 0,
      probeMs,
    },
  );
  t.teardown(() => router.close());
  return {
    router,
    notes,
    passes: (ms) => {
      now += ms;
    },
  };
}

function readError(body: unknown): UpstreamError | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined;
  const { error: said } = body as { error: { message: string; code?: string } };
  return { message: said.message, code: said.code };
}

const chat = (encode: Way['encode']): readonly Way[] => [
  { dialect: 'OpenAI', operation: '/v1/chat/completions', encode },
];

const call = (more: Partial<ForwardCall> = {}): ForwardCall => ({
  model: 'm',
  tenant: 'o-1',
  fetches: false,
  stream: false,
  headers: {},
  signal: new AbortController().signal,
  ways: chat((model) => Buffer.from(JSON.stringify({ model }))),
  readError,
  ...more,
});

/** Sends one, reads its answer, and says that it was whole. */
async function ask(router: InferenceRouter, more: Partial<ForwardCall> = {}): Promise<Forwarded> {
  const answer = await router.forward(call(more));
  if (answer.outcome !== 'Answered') return answer;
  for await (const part of answer.body) void part;
  answer.ended('Whole');
  return answer;
}

/** Requests beside probes. */
const asked = ({ server }: Far): number => server.seen.filter(({ method }) => method === 'POST').length;

test('The next route answers when one gives 5xx, 429, a redirect, 404, a refused key, or no answer at all', async (t) => {
  const failures: Record<string, Answering> = {
    500: (response) => json(response, 500, error('no')),
    529: (response) => json(response, 529, error('no')),
    429: (response) => json(response, 429, error('slow')),
    307: (response) => response.writeHead(307, { location: '/elsewhere' }).end(),
    404: (response) => json(response, 404, error('no such model')),
    401: (response) => json(response, 401, error('bad key sk-a')),
    402: (response) => json(response, 402, error('pay')),
    403: (response) => json(response, 403, error('no')),
    'closed connection': (response) => response.destroy(),
    'time-out': () => undefined,
    'no credit': (response) => json(response, 400, error('Your credit balance is too low to access the API.')),
  };
  for (const [name, failing] of Object.entries(failures)) {
    const first = await far(t, 'a', failing, { as: 'a-m', firstByteMs: name === 'time-out' ? 1_500 : 20_000 });
    const second = await far(t, 'b', GOOD, { priority: 1 });
    const { router, notes } = routing(t, [first, second]);
    const answer = await ask(router);
    t.like(answer, { outcome: 'Answered', status: 200, upstream: 'b', class: 'External', retries: 1 }, name);
    t.is(first.server.seen.find(({ method }) => method === 'POST')?.body, '{"model":"a-m"}');
    t.is(second.server.seen.find(({ method }) => method === 'POST')?.body, '{"model":"m"}');
    t.is(notes.length, 1, name);
    t.false(notes.join().includes('sk-'), notes.join());
    await until('all places are free', () => router.upstreams().every(({ inFlight }) => inFlight === 0));
  }
});

test('What an upstream has against the request itself is told at once, and another one is not asked', async (t) => {
  for (const status of [400, 413, 422]) {
    const first = await far(t, 'a', (response) => json(response, status, error('temperature: too hot', 'bad')));
    const second = await far(t, 'b', GOOD, { priority: 1 });
    const { router } = routing(t, [first, second]);
    t.deepEqual(await ask(router), {
      outcome: 'Refused',
      status,
      error: { message: 'temperature: too hot', code: 'bad' },
      class: 'External',
    });
    first.answer = (response) => response.writeHead(status).end('<html>');
    t.like(await ask(router), {
      outcome: 'Refused',
      status,
      error: { message: `The model's upstream refused the request with status ${status} and no reason.` },
    });
    t.is(asked(second), 0);
  }
});

test("An upstream that repeats the operator's key in what it refuses shows it to no client", async (t) => {
  const one = await far(t, 'secret-word', (response) => json(response, 400, error('no such key: sk-secret-word!')));
  const { router } = routing(t, [one]);
  const answer = await ask(router);
  t.is(answer.outcome === 'Refused' && answer.error.message, 'no such key: …!');
});

test("A client's 400, 404, 413 and 422 never cool a route", async (t) => {
  const one = await far(t, 'a', GOOD);
  const { router } = routing(t, [one]);
  for (const status of [400, 404, 413, 422]) {
    one.answer = (response) => json(response, status, error('no'));
    for (let at = 0; at < 12; at += 1) await ask(router);
  }
  one.answer = GOOD;
  t.is((await ask(router)).outcome, 'Answered');
  t.is(asked(one), 49);
});

test('A route that failed three times is not asked until its time is over, then by one request alone', async (t) => {
  const one = await far(t, 'a', (response) => json(response, 500, {}));
  const { router, passes } = routing(t, [one]);
  for (let at = 0; at < 3; at += 1)
    t.like(await ask(router), { outcome: 'Failed', reason: 'Unavailable', retryAfterSeconds: at < 2 ? 1 : 5 });
  t.like(await ask(router), { outcome: 'Failed', reason: 'Unavailable', retryAfterSeconds: 5 });
  t.is(asked(one), 3);
  passes(5_000);
  const held: (() => void)[] = [];
  one.answer = (response) => held.push(() => json(response, 200, {}));
  const trial = ask(router);
  await until('the trial has come', () => held.length === 1);
  t.like(await ask(router), { outcome: 'Failed', reason: 'Unavailable' });
  held[0]?.();
  t.is((await trial).outcome, 'Answered');
  one.answer = GOOD;
  t.is((await ask(router)).outcome, 'Answered');
});

test('429 rests a route for its Retry-After, which the client is told, and it is Overloaded', async (t) => {
  const one = await far(t, 'a', (response) => json(response, 429, {}, { 'retry-after': '17' }));
  const { router, passes } = routing(t, [one]);
  t.like(await ask(router), { outcome: 'Failed', reason: 'Overloaded', retryAfterSeconds: 17 });
  passes(1_000);
  t.like(await ask(router), { outcome: 'Failed', reason: 'Overloaded', retryAfterSeconds: 16 });
  t.is(asked(one), 1);
  one.answer = (response) => json(response, 429, {});
  passes(16_000);
  t.like(await ask(router), { reason: 'Overloaded', retryAfterSeconds: 5 });
});

test('At most three routes are tried, and one that is full does not count', async (t) => {
  const bad: Answering = (response) => json(response, 503, {});
  const full = await far(t, 'full', () => undefined, { maxConcurrent: 1 });
  const fars = [
    full,
    ...(await Promise.all(['b', 'c', 'd', 'e'].map((name, at) => far(t, name, bad, { priority: at + 1 })))),
  ];
  const { router } = routing(t, fars);
  const leaving = new AbortController();
  const holding = router.forward(call({ signal: leaving.signal }));
  await until('it is full', () => asked(full) === 1);
  t.like(await ask(router), { outcome: 'Failed', reason: 'Overloaded', retryAfterSeconds: 1 });
  t.deepEqual(fars.map(asked), [1, 1, 1, 1, 0]);
  leaving.abort();
  t.like(await holding, { outcome: 'Failed', reason: 'Aborted' });
});

test('When every route ran out of time, the client is told so', async (t) => {
  const fars = await Promise.all(['a', 'b'].map((name) => far(t, name, () => undefined, { firstByteMs: 100 })));
  const { router, notes } = routing(t, fars);
  t.like(await ask(router), { outcome: 'Failed', reason: 'TimedOut', retryAfterSeconds: 1 });
  t.deepEqual(
    notes.toSorted(),
    ['a', 'b'].map((name) => `upstream ${name}: no answer began within 100 ms`),
  );
});

test('A client that leaves ends the tries, reaches the upstream, and cools nothing', async (t) => {
  const first = await far(t, 'a', () => undefined);
  const second = await far(t, 'b', GOOD, { priority: 1 });
  const { router } = routing(t, [first, second]);
  for (let at = 0; at < 5; at += 1) {
    const leaving = new AbortController();
    const pending = router.forward(call({ signal: leaving.signal }));
    await until('it has come', () => asked(first) === at + 1);
    leaving.abort();
    t.deepEqual(await pending, { outcome: 'Failed', reason: 'Aborted', retryAfterSeconds: undefined });
    await until(
      'the upstream sees it',
      () => first.server.seen.every(({ closed, method }) => closed || method === 'GET'),
      1_000,
    );
  }
  t.is(asked(second), 0);
  first.answer = GOOD;
  t.like(await ask(router), { upstream: 'a' });
  t.like(await router.forward(call({ signal: AbortSignal.abort() })), { reason: 'Aborted' });
});

test('A body that is written in turns of the event loop is sent as one, to each route with its own name; a client that leaves meanwhile ends the tries', async (t) => {
  const first = await far(t, 'a', (response) => json(response, 500, {}), { as: 'a-m' });
  const second = await far(t, 'b', GOOD, { priority: 1 });
  const { router } = routing(t, [first, second]);
  const leaving = new AbortController();
  const ways = chat(async (model) => {
    await new Promise((resolve) => setImmediate(resolve));
    return Buffer.from(JSON.stringify({ model, by: 'turns' }));
  });
  t.like(await ask(router, { ways }), { upstream: 'b' });
  const bodies = [first, second].map(({ server }) => server.seen.find(({ method }) => method === 'POST')?.body);
  t.deepEqual(bodies, ['{"model":"a-m","by":"turns"}', '{"model":"m","by":"turns"}']);
  const pending = router.forward(call({ ways, signal: leaving.signal }));
  leaving.abort();
  t.deepEqual(await pending, { outcome: 'Failed', reason: 'Aborted', retryAfterSeconds: undefined });
  t.is(asked(first) + asked(second), 2);
});

test('Ways are tried in their order, and a route to which a request cannot be said is passed over', async (t) => {
  const anthropic = await far(t, 'a', GOOD, { dialect: 'Anthropic' });
  const openai = await far(t, 'b', GOOD);
  const { router } = routing(t, [anthropic, openai]);
  const way = (dialect: Way['dialect'], body: string | undefined): Way => ({
    dialect,
    operation: dialect === 'OpenAI' ? '/v1/chat/completions' : '/v1/messages',
    encode: () => (body === undefined ? undefined : Buffer.from(body)),
  });
  const first = await ask(router, { ways: [way('Anthropic', '{"a":1}'), way('OpenAI', '{"b":1}')] });
  t.like(first, { upstream: 'a', dialect: 'Anthropic', operation: '/v1/messages' });
  const second = await ask(router, { ways: [way('Anthropic', undefined), way('OpenAI', '{"b":1}')] });
  t.like(second, { upstream: 'b', dialect: 'OpenAI', operation: '/v1/chat/completions' });
  t.is(asked(anthropic) + asked(openai), 2);
});

test('Streams that break after their head cool a route, as their reader reports it', async (t) => {
  const one = await far(t, 'a', (response) => response.writeHead(200).write('data: 1\n\n', () => response.destroy()));
  const { router } = routing(t, [one]);
  for (let at = 0; at < 3; at += 1) {
    const answer = await router.forward(call({ stream: true }));
    if (answer.outcome !== 'Answered') return t.fail(answer.outcome);
    await t.throwsAsync(async () => {
      for await (const part of answer.body) void part;
    });
    answer.ended('Broken');
    answer.ended('Broken');
  }
  t.like(await ask(router), { outcome: 'Failed', reason: 'Unavailable', retryAfterSeconds: 5 });
  t.is(asked(one), 3);
});

test('A refusal whose body never ends is given up after 2 s and told without a reason', async (t) => {
  const one = await far(t, 'a', (response) => response.writeHead(400).write('{"error"'));
  const { router } = routing(t, [one]);
  const began = Date.now();
  t.like(await ask(router), { outcome: 'Refused', status: 400 });
  t.true(Date.now() - began < 10_000, 'long before the time for silence is over');
  await until('its place is free', () => router.upstreams()[0]?.inFlight === 0);
});

test('Probes find an upstream that is gone and one that has come back, and ask no other', async (t) => {
  const one = await far(t, 'a', GOOD);
  const { router } = routing(t, [one], 10);
  await until('it has been probed', () => one.server.seen.length === 1);
  t.deepEqual(router.standing(), [{ model: 'm', available: true, message: 'Its upstream serves it.' }]);
  await one.server.leave();
  for (let at = 0; at < 3; at += 1) t.like(await ask(router), { outcome: 'Failed', reason: 'Unavailable' });
  t.is(router.standing()[0]?.available, false);
  await one.server.comeBack();
  await until('a probe brings it back', () => router.standing()[0]?.available === true);
  t.is((await ask(router)).outcome, 'Answered');
  const probes = one.server.seen.length;
  const end = Date.now() + 100;
  await until('time for ten probes is over', () => Date.now() > end);
  t.is(one.server.seen.length, probes);
});

test('A request that makes its upstream close the connection, or say nothing, rests the route for its tenant alone', async (t) => {
  const one = await far(t, 'a', (response, request) =>
    request.body.includes('bad') ? response.destroy() : GOOD(response, request),
  );
  const { router } = routing(t, [one]);
  const bad = { ways: chat(() => Buffer.from('{"bad":1}')) };
  for (let at = 0; at < 4; at += 1) t.is((await ask(router, bad)).outcome, 'Failed');
  t.is(asked(one), 3, 'it rests for that tenant');
  t.is((await ask(router)).outcome, 'Failed');
  t.is((await ask(router, { tenant: 'o-2' })).outcome, 'Answered');
  t.true(router.standing()[0]?.available);
});

test('A model whose only upstream does not answer probes is unavailable, names no host, and is tried all the same', async (t) => {
  const upstream = openHttpUpstream({
    ...{
      name: 'gone',
      dialect: 'OpenAI',
      baseURL: 'http://127.0.0.1:1/v1',
      key: undefined,
      headers: {},
      class: 'External',
      mayFetch: true,
    },
    ...{ maxConcurrent: 1, timeouts: { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000 } },
  });
  const { router, notes } = routing(t, [{ routed: { upstream, models: [{ name: 'm' }] } } as unknown as Far]);
  await until('it is known', () => router.standing()[0]?.available === false);
  t.is(router.standing()[0]?.message, 'Its upstream does not answer; it is tried again by itself.');
  t.deepEqual(router.upstreams(), [{ name: 'gone', inFlight: 0, up: false }]);
  t.like(await ask(router), { outcome: 'Failed', reason: 'Unavailable' });
  t.deepEqual(notes, ['upstream gone: could not be reached (ECONNREFUSED)']);
});

test('A model has the routes of its own dialect alone', async (t) => {
  const one = await far(t, 'a', GOOD);
  const { router } = routing(t, [one]);
  t.deepEqual([...router.models], ['m']);
  t.deepEqual([...(router.routesOf('m')?.dialects ?? [])], ['OpenAI']);
  t.is(router.routesOf('other'), undefined);
  const encode = (): Buffer => Buffer.from('{}');
  t.like(await ask(router, { ways: [{ dialect: 'Anthropic', operation: '/v1/messages', encode }] }), {
    outcome: 'Failed',
    reason: 'Unavailable',
    retryAfterSeconds: undefined,
  });
  t.like(await ask(router, { model: 'other' }), { outcome: 'Failed', reason: 'Unavailable' });
  t.is(asked(one), 0);
});
