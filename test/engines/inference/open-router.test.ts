import test from 'ava';
import { openInferenceRouter } from '../../../src/engines/inference/open-router.js';
import type { ForwardCall, Forwarded, InferenceRouter, Way } from '../../../src/engines/inference/router.js';
import { parseUpstreams } from '../../../src/engines/inference/upstreams-file.js';
import { FREE_BOOK } from '../../../src/money/price-book.js';
import { json, upstreamServer } from './upstream-server.js';

const CATALOG = { models: new Set(['echo', 'small']), book: { ...FREE_BOOK, models: { echo: {}, small: {} } } };

async function open(text: string, keys: ReadonlyMap<string, string> = new Map()): Promise<InferenceRouter> {
  const parsed = parseUpstreams(text, CATALOG);
  if (parsed.outcome !== 'Read') throw new Error(parsed.lines.join('\n'));
  return openInferenceRouter(parsed.file, keys, {
    loadTokenizer: (name) => Promise.resolve((words) => (name === 'o200k_base' ? words.length : 0)),
    note: () => undefined,
  });
}

const encodeOf =
  (content: string): Way['encode'] =>
  (as) =>
    Buffer.from(JSON.stringify({ model: as, max_tokens: 100, messages: [{ role: 'user', content }] }));

const call = (model: string, content: string, more: Partial<ForwardCall> = {}): ForwardCall => ({
  ...{
    tenant: 'o-1',
    fetches: false,
    model,
    stream: false,
    headers: {},
  },
  signal: new AbortController().signal,
  ways: [{ dialect: 'OpenAI', operation: '/v1/chat/completions', encode: encodeOf(content) }],
  readError: () => ({ message: 'told' }),
  ...more,
});

async function read(answer: Forwarded): Promise<unknown> {
  if (answer.outcome !== 'Answered') throw new Error(answer.outcome);
  const parts: Buffer[] = [];
  for await (const part of answer.body) parts.push(part);
  answer.ended('Whole');
  return JSON.parse(Buffer.concat(parts).toString());
}

test('Without upstreams of its own the service answers Model echo in both dialects, and says how it counts', async (t) => {
  const router = await open('upstreams: []');
  t.teardown(() => router.close());
  t.deepEqual([...router.models], ['echo']);
  const routes = router.routesOf('echo');
  t.deepEqual([...(routes?.dialects ?? [])].toSorted(), ['Anthropic', 'OpenAI']);
  const words = 'Hello, wörld: how are you?';
  const count = routes?.countTokens?.(words);
  t.like(await read(await router.forward(call('echo', words))), { model: 'echo', usage: { prompt_tokens: count } });
  const messages = { dialect: 'Anthropic', operation: '/v1/messages', encode: encodeOf(words) } as const;
  t.like(await read(await router.forward(call('echo', words, { ways: [messages] }))), {
    usage: { input_tokens: count },
  });
  t.like(await router.forward(call('echo', words)), { class: 'Embedded', upstream: 'echo', retries: 0 });
});

test('What a client lets the embedded upstream fail with keeps nobody else from it', async (t) => {
  const router = await open('upstreams: []');
  t.teardown(() => router.close());
  for (const status of [500, 503, 429, 401, 302]) {
    for (let at = 0; at < 5; at += 1) {
      t.is((await router.forward(call('echo', `@echo {"fail": ${status}}`))).outcome, 'Failed');
    }
  }
  t.like(await router.forward(call('echo', '@echo {"fail": 400}')), {
    outcome: 'Refused',
    status: 400,
    error: { message: 'told' },
  });
  t.like(router.standing(), [{ model: 'echo', available: true }]);
  t.is((await router.forward(call('echo', 'hi'))).outcome, 'Answered');
});

test('A model of the file is asked for by its own name, with the key of its upstream and the tokenizer that is named', async (t) => {
  const server = await upstreamServer(t, (response) => json(response, 200, { ok: true }));
  const text = `
echo: false
upstreams:
  - name: near
    dialect: OpenAI
    baseURL: ${server.url}/v1
    key: { env: NEAR }
    class: Near
    models: [{ name: small, as: small-2026, tokenizer: o200k_base }]
`;
  const router = await open(text, new Map([['near', 'sk-near']]));
  t.teardown(() => router.close());
  t.deepEqual([...router.models], ['small']);
  t.is(router.routesOf('small')?.countTokens?.('four'), 4);
  const answer = await router.forward(call('small', 'hi'));
  t.like(answer, { outcome: 'Answered', class: 'Near', upstream: 'near' });
  t.deepEqual(await read(answer), { ok: true });
  const request = server.seen.find(({ method }) => method === 'POST');
  t.like(JSON.parse(request?.body ?? ''), { model: 'small-2026' });
  t.is(request?.headers.authorization, 'Bearer sk-near');
});
