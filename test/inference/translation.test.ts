/** A model answers every client, whichever dialect its upstream speaks: the official clients against upstreams of the other dialect. */
import test from 'ava';
import { textAt, valueAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import {
  anthropicOf,
  CHAT,
  makeEndpoint,
  MESSAGES,
  NO_LIMITS,
  openaiOf,
  openStream,
  said,
  settledCost,
  shareGateway,
  type Gateway,
} from './support/gateway.js';
import { priceOf } from './support/prices.js';
import {
  chatAnswer,
  chunk,
  DONE,
  event,
  json,
  messageAnswer,
  messageBegin,
  messageEnd,
  streamHead,
  textDelta,
  usageChunk,
  type Seen,
} from './support/upstreams.js';

const RESPONSES = '/v1/responses';
const USED = { input: 7, output: 3 };

let gateway: Gateway;
test.before(async () => {
  gateway = await shareGateway();
});
test.after.always(async () => gateway?.close());

/** As the tests' upstreams are asked. */
interface Asked {
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

function askedOf({ body }: Seen): Asked {
  return body as Asked;
}

const toolCall = (id: string, input: unknown) => ({
  id,
  type: 'function',
  function: { name: 'add', arguments: JSON.stringify(input) },
});

// One after the other: they play the same upstreams.
test.serial(
  "Anthropic's client calls a model whose upstream speaks OpenAI's dialect: whole, streamed, with tools and images",
  async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on('chat-only', (response, seen) => {
      if (askedOf(seen).stream !== true) return json(response, 200, chatAnswer('Hi', USED));
      streamHead(response);
      return response.end(chunk('Hel') + chunk('lo', 'stop') + usageChunk(USED) + DONE);
    });
    const client = anthropicOf(owner, owner.key);
    const asked = { model: 'chat-only', max_tokens: 50, messages: said('Hello') };
    const whole = await client.messages.create({ ...asked, system: 'Be brief.' });
    t.like(whole, { type: 'message', role: 'assistant', model: 'chat-only', stop_reason: 'end_turn' });
    t.deepEqual(whole.content, [{ type: 'text', text: 'Hi' }]);
    t.like(whole.usage, { input_tokens: 7, output_tokens: 3 });
    const sent = upstreams.seen('chat-only').at(-1);
    t.is(sent?.path, '/chat-only/v1/chat/completions');
    t.deepEqual(sent?.body, {
      ...{ model: 'vendor-chat-only', max_tokens: 50 },
      messages: [{ role: 'system', content: 'Be brief.' }, ...said('Hello')],
    });
    t.is(sent?.headers['anthropic-version'], undefined, 'headers of one dialect stay in it');
    const stream = client.messages.stream(asked);
    const types: string[] = [];
    stream.on('streamEvent', ({ type }) => types.push(type));
    const streamed = await stream.finalMessage();
    t.deepEqual(streamed.content, [{ type: 'text', text: 'Hello' }]);
    t.deepEqual(types.slice(0, 2), ['message_start', 'content_block_start']);
    t.deepEqual(types.slice(-3), ['content_block_stop', 'message_delta', 'message_stop']);
    const source = { type: 'base64', media_type: 'image/png', data: 'AA==' } as const;
    await client.messages.create({ ...asked, messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
    t.deepEqual(valueAt(upstreams.seen('chat-only').at(-1)?.body, 'messages'), [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
    ]);
  },
);

test.serial(
  "OpenAI's client calls a model whose upstream speaks Anthropic's dialect: whole, streamed, with usage",
  async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on('claude-only', (response, seen) => {
      if (askedOf(seen).stream !== true) return json(response, 200, messageAnswer('Hi', USED));
      streamHead(response);
      return response.end(messageBegin(7) + textDelta('Hel') + textDelta('lo') + messageEnd(3));
    });
    const client = openaiOf(owner, owner.key);
    const asked = { model: 'claude-only', messages: said('Hello') };
    const whole = await client.chat.completions.create(asked);
    t.is(whole.choices[0]?.message.content, 'Hi');
    t.like(whole.usage, { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 });
    const sent = upstreams.seen('claude-only').at(-1);
    t.is(sent?.path, '/claude-only/v1/messages');
    t.is(sent?.headers['anthropic-version'], '2023-06-01');
    // What the vendor demands, as much as the model gives.
    t.is(valueAt(sent?.body, 'max_tokens'), 1_000);
    const stream = client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } });
    const final = await stream.finalChatCompletion();
    t.is(final.choices[0]?.message.content, 'Hello');
    t.is(final.choices[0]?.finish_reason, 'stop');
    t.like(final.usage, { prompt_tokens: 7, completion_tokens: 3 });
  },
);

test.serial(
  'a response is served by upstreams of both dialects, whole and as the events that the client checks',
  async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on('chat-only', (response, seen) => {
      if (askedOf(seen).stream !== true) return json(response, 200, chatAnswer('Hi', USED));
      streamHead(response);
      return response.end(chunk('Hel') + chunk('lo', 'stop') + usageChunk(USED) + DONE);
    });
    upstreams.on('claude-only', (response, seen) => {
      if (askedOf(seen).stream !== true) return json(response, 200, messageAnswer('Hi', USED));
      streamHead(response);
      return response.end(messageBegin(7) + textDelta('Hel') + textDelta('lo') + messageEnd(3));
    });
    const client = openaiOf(owner, owner.key);
    for (const model of ['chat-only', 'claude-only', 'echo']) {
      const whole = await client.responses.create({ model, input: 'Hi', max_output_tokens: 50 });
      t.is(whole.output_text, 'Hi', model);
      t.like(whole, { object: 'response', status: 'completed', store: false, error: null });
      t.true((whole.usage?.total_tokens ?? 0) > 0);
      const stream = client.responses.stream({
        model,
        input: 'Hello',
        max_output_tokens: 50,
        instructions: 'Be brief.',
      });
      const types: string[] = [];
      stream.on('event', ({ type }) => types.push(type));
      const final = await stream.finalResponse();
      t.is(final.output_text, 'Hello', model);
      t.is(final.instructions, 'Be brief.');
      t.is(types[0], 'response.created');
      t.is(types.at(-1), 'response.completed');
    }
  },
);

test.serial('a request is charged the same, whichever dialect it is asked in', async (t) => {
  const { owner, service, upstreams } = gateway;
  upstreams.on('chat-only', (response) => json(response, 200, chatAnswer('Hi', USED)));
  const bodies: readonly (readonly [string, object])[] = [
    [CHAT, { messages: said('Hello') }],
    [MESSAGES, { messages: said('Hello') }],
    [RESPONSES, { input: 'Hello', max_output_tokens: 20 }],
  ];
  for (const [index, [route, body]] of bodies.entries()) {
    const name = `cost-${index}`;
    const uid = await makeEndpoint(owner, name, { model: 'chat-only', limits: NO_LIMITS });
    const most = route === RESPONSES ? {} : { max_tokens: 20 };
    const answer = await owner.post(route, { model: `endpoint/${name}`, ...most, ...body });
    t.is(answer.status, 200, answer.text);
    t.is(await settledCost(service, uid), priceOf(7, 3).toFixed(), route);
  }
});

test.serial(
  'what the upstream of another dialect cannot be told is refused before it is asked, in the dialect of the client',
  async (t) => {
    const { owner, upstreams } = gateway;
    const before = upstreams.seen('claude-only').length;
    const large = 'x'.repeat(200_000);
    for (const content of ['Hello', large]) {
      const seeded = await owner.post(CHAT, { model: 'claude-only', messages: said(content), seed: 1 });
      t.is(seeded.status, 400, seeded.text);
      t.is(textAt(seeded.body, 'error', 'param'), 'seed');
      t.regex(textAt(seeded.body, 'error', 'message'), /^seed must be left out/);
    }
    t.false(
      upstreams
        .seen('claude-only')
        .slice(before)
        .some(({ text }) => text.includes('seed')),
    );
    const top = await owner.post(MESSAGES, { model: 'chat-only', max_tokens: 5, messages: said('Hello'), top_k: 3 });
    t.is(top.status, 400, top.text);
    t.is(textAt(top.body, 'type'), 'error');
    t.is(textAt(top.body, 'error', 'param'), 'top_k');
    for (const [member, value] of [
      ['previous_response_id', 'resp_1'],
      ['conversation', 'c'],
      ['store', true],
      ['background', true],
    ] as const) {
      const refused = await owner.post(RESPONSES, { model: 'echo', input: 'Hi', [member]: value });
      t.is(refused.status, 400, refused.text);
      t.is(textAt(refused.body, 'error', 'param'), member);
    }
    t.is((await owner.get(`${RESPONSES}/resp_1`)).status, 404);
  },
);

test.serial('a large conversation and a large answer are translated as small ones are', async (t) => {
  const { owner, upstreams } = gateway;
  const long = 'ä'.repeat(300_000);
  upstreams.on('claude-only', (response) => json(response, 200, messageAnswer(long, USED)));
  const answer = await owner.post(CHAT, { model: 'claude-only', messages: said(long) });
  t.is(answer.status, 200, answer.text.slice(0, 300));
  t.is(textAt(answer.body, 'choices', '0', 'message', 'content'), long);
  t.deepEqual(valueAt(upstreams.seen('claude-only').at(-1)?.body, 'messages'), [
    { role: 'user', content: [{ type: 'text', text: long }] },
  ]);
});

test.serial(
  'a stream that its upstream breaks off ends with an error in the dialect of the client, never cleanly',
  async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on('chat-only', (response) => {
      streamHead(response);
      response.write(chunk('Hi'), () => response.destroy());
    });
    upstreams.on('claude-only', (response) => {
      streamHead(response);
      response.write(messageBegin(2) + textDelta('Hi'), () => response.destroy());
    });
    const cases = [
      [MESSAGES, 'chat-only', { messages: said('a'), max_tokens: 5 }, /event: error\ndata: \{"type":"error"/],
      [CHAT, 'claude-only', { messages: said('a') }, /data: \{"error":\{/],
      [RESPONSES, 'claude-only', { input: 'a' }, /event: response\.failed\n/],
    ] as const;
    for (const [route, model, body, ends] of cases) {
      const stream = await openStream(owner, route, { model, ...body });
      await stream.ended;
      t.regex(stream.text(), ends, route);
      t.regex(stream.text(), /Hi/);
      t.false(/\[DONE\]|message_stop|response\.completed/.test(stream.text()));
    }
  },
);

test.serial(
  'tokens are counted for models without an upstream that counts, and the answer says that it is an estimate',
  async (t) => {
    const { owner, upstreams } = gateway;
    const body = { model: 'chat-only', messages: said('word '.repeat(300)), system: 'Be brief.' };
    const counted = await owner.post('/v1/messages/count_tokens?beta=true', body);
    t.is(counted.status, 200, counted.text);
    const tokens = valueAt(counted.body, 'input_tokens') as number;
    t.true(tokens > 300 && tokens < 1_000, `${tokens}`);
    t.is(valueAt(counted.body, 'x-svc-estimated'), true);
    t.is(counted.headers.get('x-svc-estimated'), 'true');
    t.is(counted.headers.get('x-svc-cost-usd'), '0.00');
    const tools = [{ name: 'add', description: 'Adds.', input_schema: { type: 'object' } }];
    const more = await owner.post('/v1/messages/count_tokens', { ...body, tools });
    t.true((valueAt(more.body, 'input_tokens') as number) > tokens, 'tools count');
    // Not every server of the dialect counts.
    upstreams.on('agent-claude', (response) => json(response, 404, { error: 'not found' }));
    const here = await owner.post('/v1/messages/count_tokens', { ...body, model: 'agent-claude' });
    t.is(here.status, 200, here.text);
    t.true((valueAt(here.body, 'input_tokens') as number) > 300);
    t.is(here.headers.get('x-svc-estimated'), 'true');
  },
);

/** Ten turns: the upstream asks for a sum until it has seen ten results. */
const TURNS = 10;

test.serial(
  "an agent loop of OpenAI's client runs ten turns with tools on an upstream of Anthropic's dialect",
  async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on('agent-claude', (response, seen) => {
      const results = askedOf(seen).messages.filter(({ content }) =>
        JSON.stringify(content).includes('tool_result'),
      ).length;
      streamHead(response);
      if (results >= TURNS) return response.end(messageBegin(7) + textDelta('Done') + messageEnd(3));
      const block = { type: 'tool_use', id: `toolu_${results}`, name: 'add', input: {} };
      const delta = { type: 'input_json_delta', partial_json: JSON.stringify({ a: results, b: 1 }) };
      return response.end(
        event('message_start', {
          message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 7, output_tokens: 1 } },
        }) +
          event('content_block_start', { index: 0, content_block: block }) +
          event('content_block_delta', { index: 0, delta }) +
          event('content_block_stop', { index: 0 }) +
          event('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } }) +
          event('message_stop'),
      );
    });
    const called: unknown[] = [];
    const add = {
      type: 'function',
      function: {
        name: 'add',
        description: 'Adds two numbers.',
        parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
        parse: JSON.parse,
        function({ a, b }: { a: number; b: number }): string {
          called.push([a, b]);
          return String(a + b);
        },
      },
    } as const;
    const runner = openaiOf(owner, owner.key).chat.completions.runTools(
      { model: 'agent-claude', stream: true, messages: said('Count to ten.'), tools: [add] },
      { maxChatCompletions: TURNS + 2 },
    );
    t.is(await runner.finalContent(), 'Done');
    t.deepEqual(
      called,
      Array.from({ length: TURNS }, (_, a) => [a, 1]),
    );
  },
);

test.serial(
  "an agent loop of Anthropic's client runs ten turns with tools on an upstream of OpenAI's dialect",
  async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on('agent-chat', (response, seen) => {
      const results = askedOf(seen).messages.filter(({ role }) => role === 'tool').length;
      if (results >= TURNS) return json(response, 200, chatAnswer('Done', USED));
      const message = {
        role: 'assistant',
        content: null,
        tool_calls: [toolCall(`call_${results}`, { a: results, b: 1 })],
      };
      const answer = {
        id: 'c',
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      };
      return json(response, 200, { ...answer, usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } });
    });
    const sums: string[] = [];
    // It tries to have the conversation kept at the vendor first, and sends all of it when that is refused.
    const answer = await anthropicOf(owner, owner.key).beta.messages.toolRunner({
      ...{ model: 'agent-chat', max_tokens: 50, messages: said('Count to ten.'), max_iterations: TURNS + 1 },
      tools: [
        {
          ...{ type: 'custom', name: 'add', input_schema: { type: 'object' } },
          parse: (given: unknown) => given as { a: number; b: number },
          run({ a, b }: { a: number; b: number }) {
            sums.push(String(a + b));
            return String(a + b);
          },
        },
      ],
    });
    t.deepEqual(
      answer.content.map((block) => (block.type === 'text' ? block.text : block.type)),
      ['Done'],
    );
    t.deepEqual(
      sums,
      Array.from({ length: TURNS }, (_, a) => String(a + 1)),
    );
    await until('the upstream has seen them all', () => upstreams.seen('agent-chat').length === TURNS + 1);
  },
);
