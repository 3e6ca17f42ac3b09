/** Large requests to models over HTTP: what reaches an upstream and how they are refused is as of small ones. */
import test, { type ExecutionContext } from 'ava';
import type { Forwarded, ForwardCall } from '../../../src/engines/inference/router.js';
import type { DialectName } from '../../../src/engines/inference/dialects/dialect.js';
import { USUAL_FORM } from '../../../src/engines/inference/route.js';
import { ADMITTED, targetOn } from './support.js';
import { openTestApi, type TestApi } from '../support/test-api.js';

const MIB = 2 ** 20;
const CHAT = '/v1/chat/completions';

async function answer({ ways }: ForwardCall): Promise<Forwarded> {
  async function* body(): AsyncGenerator<Buffer> {
    const choices = '"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]';
    const content = '"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"';
    yield Buffer.from(`{${choices},${content},"usage":{"prompt_tokens":1,"completion_tokens":1}}`);
  }
  const { dialect, operation } = wayOf(ways);
  const about = {
    dialect,
    operation,
    upstream: 'one',
    class: 'External',
    retries: 0,
    ended: () => undefined,
    conceal: String,
  };
  return { outcome: 'Answered', status: 200, headers: {}, body: body(), discard: () => undefined, ...about };
}

function wayOf([way]: ForwardCall['ways']): ForwardCall['ways'][number] {
  if (way === undefined) throw new Error('the request can be said to no upstream');
  return way;
}

async function encoded({ ways }: ForwardCall, name: string): Promise<Buffer> {
  const body = await wayOf(ways).encode(name, USUAL_FORM);
  if (!Buffer.isBuffer(body)) throw new Error('the request cannot be said');
  return body;
}

/** `sent`: what upstreams got, each time two of them. */
async function openModels(
  t: ExecutionContext,
  dialects: readonly DialectName[] = ['OpenAI', 'Anthropic'],
): Promise<{ api: TestApi; sent: Buffer[] }> {
  const sent: Buffer[] = [];
  const api = await openTestApi(t, {
    inference: {
      ...{
        models: () => [],
        find: () => targetOn(...dialects),
        refused: () => undefined,
        follow: () => () => undefined,
        spool: () => Promise.reject(new Error('nothing is spooled here')),
      },
      admit: () => ADMITTED,
      async forward(call) {
        for (const name of ['first', 'second/one']) sent.push(await encoded(call, name));
        return answer(call);
      },
    },
  });
  return { api, sent };
}

const post = (api: TestApi, path: string, body: string | Buffer): Promise<Response> =>
  api.call(path, { method: 'POST', body: new Uint8Array(Buffer.from(body)) });

test('each upstream that is tried gets all of a large body, with its own name for the model', async (t) => {
  const { api, sent } = await openModels(t);
  for (const [path, more] of [
    [CHAT, {}],
    ['/v1/messages', { max_tokens: 5 }],
  ] as const) {
    for (const size of [10, MIB / 2, 12 * MIB]) {
      const body = { ...more, model: 'm', messages: [{ role: 'user', content: 'ä'.repeat(size) }], last: true };
      const response = await post(api, path, JSON.stringify(body));
      t.is(response.status, 200, await response.text());
      const expected = ['first', 'second/one'].map((model) => JSON.stringify({ ...body, model }));
      const got = sent.splice(0).map(String);
      t.true(got.length === 2 && got.every((one, at) => one === expected[at]), `${path} of ${size}`);
    }
  }
});

test('a large body is said to an upstream of another dialect as a small one is, whatever was changed for its own', async (t) => {
  const models = { OpenAI: await openModels(t, ['OpenAI']), Anthropic: await openModels(t, ['Anthropic']) };
  const unsigned = { type: 'thinking', thinking: 'R', signature: '' };
  const use = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] };
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
  const blocks = [{ type: 'thinking', thinking: 'R', signature: 's' }];
  const bodies = (pad: string): readonly (readonly [string, object])[] => [
    ['/v1/responses', { stream: true, input: pad, reasoning: { effort: 'low' } }],
    [
      '/v1/messages',
      {
        ...{ max_tokens: 50, system: pad, thinking: { type: 'enabled', budget_tokens: 20_000 } },
        messages: [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: [unsigned, use] }, result],
      },
    ],
    [
      CHAT,
      {
        ...{ max_tokens: 5_000, reasoning_effort: 'low', stream: true },
        messages: [
          { role: 'user', content: pad },
          { role: 'assistant', thinking_blocks: blocks, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'a', content: 'x' },
        ],
      },
    ],
  ];
  const pad = 'w'.repeat(70_000);
  for (const [at, [path, body]] of bodies('w').entries()) {
    const { api, sent } = models[path === CHAT ? 'Anthropic' : 'OpenAI'];
    t.is((await post(api, path, JSON.stringify({ model: 'm', ...body }))).status, 200, path);
    const small = sent.splice(0).map(String);
    const [, large] = bodies(pad)[at] ?? [path, body];
    t.is((await post(api, path, JSON.stringify({ model: 'm', ...large }))).status, 200, path);
    t.deepEqual(
      sent.splice(0).map((one) => String(one).replace(pad, 'w')),
      small,
      path,
    );
    t.true(small[0]?.includes(path === CHAT ? '"signature":"s"' : '"reasoning_effort"'), small[0]);
  }
});

test('a large body that is not JSON, not UTF-8, or refused by a member is answered as a small one is', async (t) => {
  const { api, sent } = await openModels(t);
  const wrong = (pad: string): Buffer[] => [
    Buffer.from(`{"model":"m","pad":"${pad}"`),
    Buffer.concat([Buffer.from(`{"model":"m","pad":"${pad}`), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
    Buffer.from(`["${pad}"]`),
    Buffer.from(JSON.stringify({ model: 'm', max_tokens: 1, messages: [{}], base_url: 'x', pad })),
    Buffer.from(JSON.stringify({ model: 'm', max_tokens: 1, messages: [], pad })),
    Buffer.from(
      `{"model":"m","max_tokens":1,"messages":[{}],"pad":"${pad}","deep":${'['.repeat(200)}${']'.repeat(200)}}`,
    ),
  ];
  const told = async (path: string, body: Buffer): Promise<object> => {
    const response = await post(api, path, body);
    const text = (await response.text()).replaceAll(/"request_?[iI]d":"[^"]*"/g, '');
    return { status: response.status, retry: response.headers.get('x-should-retry'), text };
  };
  const large = wrong('x'.repeat(MIB));
  for (const path of [CHAT, '/v1/messages'])
    for (const [at, small] of wrong('x').entries()) {
      const expected = await told(path, small);
      t.like(expected, { status: 400 });
      t.deepEqual(await told(path, large[at] ?? small), expected);
    }
  t.is(sent.length, 0);
});
