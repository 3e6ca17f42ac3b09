import test, { type ExecutionContext } from 'ava';
import { openHttpUpstream, type HttpUpstreamSpec } from '../../../src/engines/inference/http-upstream.js';
import {
  UpstreamBrokenError,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
} from '../../../src/engines/inference/upstream.js';
import { json, until, upstreamServer, type Answering, type UpstreamServer } from './upstream-server.js';

/** Of a caller that stays. */
const staying = (): AbortSignal => new AbortController().signal;
const TIMEOUTS = { connectMs: 2_000, firstByteMs: 20_000, idleMs: 20_000 };

type Options = Partial<Omit<HttpUpstreamSpec, 'timeouts'>> & {
  readonly timeouts?: Partial<HttpUpstreamSpec['timeouts']>;
};

async function serve(
  t: ExecutionContext,
  answer: Answering,
  { timeouts, ...options }: Options = {},
): Promise<{ server: UpstreamServer; upstream: Upstream }> {
  const server = await upstreamServer(t, answer);
  const upstream = openHttpUpstream({
    ...{
      name: 'far',
      dialect: 'OpenAI',
      key: undefined,
      headers: {},
      class: 'External',
      mayFetch: true,
      maxConcurrent: 8,
    },
    baseURL: `${server.url}/v1`,
    ...options,
    timeouts: { ...TIMEOUTS, ...timeouts },
  });
  t.teardown(() => upstream.close());
  return { server, upstream };
}

const call = (more: Partial<UpstreamCall> = {}): UpstreamCall => ({
  tenant: 'o-1',
  operation: '/v1/chat/completions',
  stream: false,
  body: Buffer.from('{"model":"m"}'),
  headers: {},
  signal: staying(),
  ...more,
});

type Answered = Extract<UpstreamAnswer, { outcome: 'Answered' }>;

async function answered(upstream: Upstream, more: Partial<UpstreamCall> = {}): Promise<Answered> {
  const answer = await upstream.send(call(more));
  if (answer.outcome !== 'Answered') throw new Error(answer.message);
  return answer;
}

async function textOf({ body }: Answered): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** What the reader of a body is told at its end. */
async function breakOf({ body }: Answered): Promise<UpstreamBrokenError | undefined> {
  try {
    for await (const part of body) void part;
    return undefined;
  } catch (error) {
    if (error instanceof UpstreamBrokenError) return error;
    throw error;
  }
}

test("An OpenAI upstream gets the operator's key and fixed headers, and nothing of the client", async (t) => {
  const { server, upstream } = await serve(
    t,
    (response) => json(response, 200, { ok: true }, { 'x-request-id': 'r1', 'set-cookie': 'a=b' }),
    {
      key: 'sk-operator',
      headers: { 'openai-project': 'proj' },
    },
  );
  const headers = {
    'anthropic-beta': 'b',
    'anthropic-version': 'v',
    authorization: 'Bearer client',
    cookie: 'c',
    'x-api-key': 'client',
  };
  const answer = await answered(upstream, { headers });
  t.is(answer.status, 200);
  t.deepEqual(answer.headers, { 'content-type': 'application/json', 'x-request-id': 'r1' });
  t.is(await textOf(answer), '{"ok":true}');
  const [request] = server.seen;
  t.is(request?.path, '/v1/chat/completions');
  t.is(request?.body, '{"model":"m"}');
  t.deepEqual(request?.headers, {
    host: server.url.slice('http://'.length),
    connection: 'keep-alive',
    'user-agent': 'troupe',
    'accept-encoding': 'identity',
    'openai-project': 'proj',
    authorization: 'Bearer sk-operator',
    'content-type': 'application/json',
    accept: 'application/json',
    'content-length': '13',
  });
});

test('An Anthropic upstream gets its key as x-api-key, and of the client the version and betas alone', async (t) => {
  const { server, upstream } = await serve(t, (response) => json(response, 200, {}), {
    dialect: 'Anthropic',
    key: 'sk-ant',
  });
  const operation = '/v1/messages';
  await textOf(await answered(upstream, { operation, stream: true }));
  await textOf(
    await answered(upstream, {
      operation,
      headers: { 'anthropic-version': '2024-01-01', 'anthropic-beta': 'a-1,b-2', cookie: 'c' },
    }),
  );
  await textOf(
    await answered(upstream, { operation, headers: { 'anthropic-version': 'x\u00e9', 'anthropic-beta': 'a\u0001' } }),
  );
  const [first, second, third] = server.seen.map(({ headers }) => headers);
  t.like(first, { 'x-api-key': 'sk-ant', 'anthropic-version': '2023-06-01', accept: 'text/event-stream' });
  t.is(first?.authorization, undefined);
  t.like(second, { 'anthropic-version': '2024-01-01', 'anthropic-beta': 'a-1,b-2' });
  t.is(second?.cookie, undefined);
  t.is(third?.['anthropic-version'], '2023-06-01', 'what no header can hold is left out');
  t.is(third?.['anthropic-beta'], undefined);
});

test('Paths are below the base URL, whose /v1 is not doubled', async (t) => {
  const server = await upstreamServer(t, (response) => json(response, 200, {}));
  const paths = async (dialect: 'OpenAI' | 'Anthropic', base: string): Promise<void> => {
    const upstream = openHttpUpstream({
      ...{
        name: 'a',
        dialect,
        key: undefined,
        headers: {},
        class: 'External',
        mayFetch: true,
        maxConcurrent: 1,
        timeouts: TIMEOUTS,
      },
      baseURL: `${server.url}${base}`,
    });
    await textOf(
      await answered(upstream, { operation: dialect === 'OpenAI' ? '/v1/embeddings' : '/v1/messages/count_tokens' }),
    );
    await upstream.close();
  };
  await paths('OpenAI', '/v1');
  await paths('OpenAI', '/deep/v2/');
  await paths('Anthropic', '');
  await paths('Anthropic', '/v1');
  await paths('Anthropic', '/proxy');
  t.deepEqual(
    server.seen.map(({ path }) => path),
    [
      '/v1/embeddings',
      '/deep/v2/embeddings',
      '/v1/messages/count_tokens',
      '/v1/messages/count_tokens',
      '/proxy/v1/messages/count_tokens',
    ],
  );
});

test('Requests one after the other share a connection', async (t) => {
  const { server, upstream } = await serve(t, (response) => json(response, 200, { ok: true }));
  for (let at = 0; at < 20; at += 1) await textOf(await answered(upstream));
  t.is(server.seen.length, 20);
  t.true(server.connections() <= 2, 'the next one may come before the connection of the last is free');
  t.is(upstream.inFlight, 0);
});

test('A request beyond maxConcurrent is Busy at once, and its place is free when another has ended', async (t) => {
  const waiting: (() => void)[] = [];
  const { server, upstream } = await serve(t, (response) => void waiting.push(() => json(response, 200, {})), {
    maxConcurrent: 2,
  });
  const first = [upstream.send(call()), upstream.send(call())];
  t.is(upstream.inFlight, 2);
  const third = await upstream.send(call());
  t.like(third, { outcome: 'Failed', reason: 'Busy' });
  await until('both are there', () => waiting.length === 2);
  for (const go of waiting) go();
  for (const answer of await Promise.all(first)) t.is(answer.outcome === 'Answered' && (await textOf(answer)), '{}');
  t.is(upstream.inFlight, 0);
  const fourth = upstream.send(call());
  await until('it is there', () => waiting.length === 3);
  waiting[2]?.();
  t.is((await fourth).outcome, 'Answered');
  t.is(server.seen.length, 3);
});

test('One organisation leaves an eighth of the places of an upstream to others', async (t) => {
  const waiting: (() => void)[] = [];
  const { upstream } = await serve(t, (response) => void waiting.push(() => json(response, 200, {})), {
    maxConcurrent: 8,
  });
  const first = Array.from({ length: 7 }, () => upstream.send(call()));
  t.like(await upstream.send(call()), { outcome: 'Failed', reason: 'Busy' });
  const other = upstream.send(call({ tenant: 'o-2' }));
  await until('all are there', () => waiting.length === 8);
  for (const go of waiting) go();
  for (const answer of await Promise.all([...first, other]))
    t.is(answer.outcome === 'Answered' && (await textOf(answer)), '{}');
});

test('An upstream that never begins its answer is TimedOut, and its connection is closed', async (t) => {
  const { server, upstream } = await serve(t, () => undefined, { timeouts: { firstByteMs: 1_500 } });
  const answer = await upstream.send(call());
  t.like(answer, { outcome: 'Failed', reason: 'TimedOut', message: 'upstream far: no answer began within 1500 ms' });
  await until('the connection is closed', () => server.seen[0]?.closed === true);
  await until('the place is free', () => upstream.inFlight === 0);
});

test('A stream that falls silent throws TimedOut after what came before, and its connection is closed', async (t) => {
  const { server, upstream } = await serve(t, (response) => void response.writeHead(200).write('data: 1\n\n'), {
    timeouts: { idleMs: 60 },
  });
  const answer = await answered(upstream, { stream: true });
  const parts: string[] = [];
  const error = await t.throwsAsync(
    async () => {
      for await (const part of answer.body) parts.push(part.toString());
    },
    { instanceOf: UpstreamBrokenError },
  );
  t.deepEqual(parts, ['data: 1\n\n']);
  t.is(error?.reason, 'TimedOut');
  await until('the connection is closed', () => server.seen[0]?.closed === true);
  await until('the place is free', () => upstream.inFlight === 0);
});

test('A stream that trickles outlives the time for silence', async (t) => {
  const { upstream } = await serve(
    t,
    (response) => {
      response.writeHead(200);
      let left = 12;
      const timer = setInterval(() => {
        left -= 1;
        if (left > 0) response.write('.');
        else {
          clearInterval(timer);
          response.end('!');
        }
      }, 120);
    },
    { timeouts: { idleMs: 1_000 } },
  );
  t.is(await textOf(await answered(upstream)), `${'.'.repeat(11)}!`);
});

test('A connection that breaks in the middle of an answer throws Broken, not a short answer', async (t) => {
  const { upstream } = await serve(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n', () => response.destroy());
  });
  t.is((await breakOf(await answered(upstream)))?.reason, 'Broken');
  t.is(upstream.inFlight, 0);
});

test('An upstream that is not there is Unreachable, one that closes the connection is Broken, and the message names neither host nor key', async (t) => {
  const { server, upstream } = await serve(t, (response) => response.destroy(), { key: 'sk-secret' });
  const closed = await upstream.send(call());
  t.like(closed, {
    outcome: 'Failed',
    reason: 'Broken',
    message: 'upstream far: the connection was closed before an answer began',
  });
  const gone = openHttpUpstream({
    ...{
      name: 'gone',
      dialect: 'OpenAI',
      key: 'sk-secret',
      headers: {},
      class: 'External',
      mayFetch: true,
      maxConcurrent: 1,
      timeouts: TIMEOUTS,
    },
    baseURL: 'http://127.0.0.1:1/v1',
  });
  t.teardown(() => gone.close());
  t.deepEqual(await gone.send(call()), {
    outcome: 'Failed',
    reason: 'Unreachable',
    message: 'upstream gone: could not be reached (ECONNREFUSED)',
  });
  t.is(gone.inFlight, 0);
  t.false(await gone.probe?.(staying()));
  t.true(server.seen.length > 0);
});

test('Aborting before the head and in the middle of a stream reaches the upstream at once', async (t) => {
  const { server, upstream } = await serve(t, (response, { body }) => {
    if (body === 'stream') response.writeHead(200).write('data: 1\n\n');
  });
  const before = new AbortController();
  const pending = upstream.send(call({ signal: before.signal }));
  await until('it has come', () => server.seen.length === 1);
  before.abort();
  t.like(await pending, { outcome: 'Failed', reason: 'Aborted' });
  await until('the upstream sees it', () => server.seen[0]?.closed === true, 1_000);

  const middle = new AbortController();
  const answer = await answered(upstream, { signal: middle.signal, body: Buffer.from('stream') });
  const reading = breakOf(answer);
  middle.abort();
  t.is((await reading)?.reason, 'Broken');
  await until('the upstream sees it', () => server.seen[1]?.closed === true, 1_000);

  const left = await answered(upstream, { body: Buffer.from('stream') });
  left.discard();
  await until('the upstream sees it', () => server.seen[2]?.closed === true, 1_000);
  t.is(await textOf(left), '', 'what is discarded has ended');
  await until('all places are free', () => upstream.inFlight === 0);
});

test('A request that is given up while it connects is never sent', async (t) => {
  const { server, upstream } = await serve(t, (response) => json(response, 200, {}));
  const leaving = new AbortController();
  const pending = upstream.send(call({ signal: leaving.signal }));
  leaving.abort();
  t.like(await pending, { reason: 'Aborted' });
  t.is(await textOf(await answered(upstream)), '{}');
  await until('its place is free', () => upstream.inFlight === 0);
  t.is(server.seen.length, 1);
});

test('Redirects are not followed', async (t) => {
  const elsewhere = await upstreamServer(t, (response) => json(response, 200, {}));
  const { upstream } = await serve(
    t,
    (response) => response.writeHead(307, { location: `${elsewhere.url}/v1/chat/completions` }).end(),
    { key: 'sk' },
  );
  t.is((await answered(upstream)).status, 307);
  t.is(elsewhere.seen.length, 0);
});

test('Of the body of a refusal 64 KiB are read, and the connection of a longer one is closed', async (t) => {
  const { server, upstream } = await serve(
    t,
    (response) => void response.writeHead(500).write(Buffer.alloc(300_000, 'x')),
  );
  t.is((await textOf(await answered(upstream))).length, 64 * 1024);
  await until('the connection is closed', () => server.seen[0]?.closed === true);
});

test('A slow reader holds the upstream back, is no silence of the upstream, and misses nothing', async (t) => {
  const whole = 64 * 2 ** 20;
  let written = 0;
  const { upstream } = await serve(
    t,
    (response) => {
      response.writeHead(200);
      const more = (): void => {
        while (written < whole) {
          written += 2 ** 16;
          if (!response.write(Buffer.alloc(2 ** 16))) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
    },
    { timeouts: { idleMs: 1_000 } },
  );
  const answer = await answered(upstream);
  let read = 0;
  let first = true;
  for await (const part of answer.body) {
    read += part.length;
    if (!first) continue;
    first = false;
    let before = written;
    let since = Date.now();
    const still = (): boolean => {
      if (before !== written) since = Date.now();
      before = written;
      return Date.now() - since > 1_200;
    };
    await until('the upstream writes no more, for longer than it may be silent', still, 20_000);
    t.true(written < whole / 3, `${written} bytes were written to a reader that does not read`);
  }
  t.is(read, whole);
});

test('A compressed answer, which was not asked for, is no answer', async (t) => {
  const { upstream } = await serve(t, (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'));
  t.like(await upstream.send(call()), { outcome: 'Failed', reason: 'Broken' });
});

test('A probe asks for the models, and takes any answer but a refused key and a server error for a sign of life', async (t) => {
  let status = 200;
  const { server, upstream } = await serve(t, (response) => json(response, status, {}), { key: 'sk' });
  for (const [answer, alive] of [
    [200, true],
    [404, true],
    [403, true],
    [401, false],
    [503, false],
  ] as const) {
    status = answer;
    t.is(await upstream.probe?.(staying()), alive, String(answer));
  }
  t.like(server.seen[0], { method: 'GET', path: '/v1/models', body: '' });
  t.is(server.seen[0]?.headers.authorization, 'Bearer sk');
  t.is(upstream.inFlight, 0);
});

test('Closing ends what is under way', async (t) => {
  const { server, upstream } = await serve(t, () => undefined);
  const pending = upstream.send(call());
  await until('it has come', () => server.seen.length === 1);
  await upstream.close();
  t.like(await pending, { outcome: 'Failed', reason: 'Broken' });
  t.like(await upstream.send(call()), { outcome: 'Failed', reason: 'Unreachable' });
  t.is(upstream.inFlight, 0);
});
