/** The vendors' own clients, set up with a base URL and a key and nothing else, against Model `echo` of a running service. */
import type Anthropic from '@anthropic-ai/sdk';
import test from 'ava';
import type OpenAI from 'openai';
import { numberAt } from '../e2e/client.js';
import { anthropicOf, makeEndpoint, openaiOf, said, shareGateway, told, type Gateway } from './support/gateway.js';

const MODEL = 'echo';
const OWN_BASE = '/endpoints/default/clients';
const TEXT = 'Zwölf Boxkämpfer jagen Viktor 🥊';

let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;
test.before(async () => {
  gateway = await shareGateway();
  const { owner } = gateway;
  await makeEndpoint(owner, 'clients', { model: 'svc/echo', limits: { rpm: 1_000, maxConcurrent: 64 } });
  openai = openaiOf(owner, owner.key);
  anthropic = anthropicOf(owner, owner.key);
});
test.after.always(async () => gateway?.close());

for (const [called, base, model] of [
  ['its name', '', 'echo'],
  ['its name behind the catalog', '', 'svc/echo'],
  ['an alias', '', 'svc-echo'],
  ['the name of an InferenceEndpoint', '', 'endpoint/clients'],
  ['its name, at the base URL of an InferenceEndpoint', OWN_BASE, 'echo'],
  ['the InferenceEndpoint, at its base URL', OWN_BASE, 'endpoint/clients'],
] as const) {
  test(`a model called by ${called} answers OpenAI's client, whole and as a stream`, async (t) => {
    const { owner } = gateway;
    const client = openaiOf(owner, owner.key, base);
    const whole = await client.chat.completions.create({ model, messages: said(TEXT) });
    t.is(whole.choices[0]?.message.content, TEXT);
    t.is(whole.choices[0]?.finish_reason, 'stop');
    t.is(whole.usage?.total_tokens, (whole.usage?.prompt_tokens ?? 0) + (whole.usage?.completion_tokens ?? 0));
    const stream = client.chat.completions.stream({ model, messages: said(TEXT) });
    const deltas: string[] = [];
    stream.on('content', (delta) => deltas.push(delta));
    t.is((await stream.finalChatCompletion()).choices[0]?.message.content, TEXT);
    t.true(deltas.length > 1, 'it came in parts');
    t.is(deltas.join(''), TEXT);
  });

  test(`a model called by ${called} answers Anthropic's client, whole and as a stream`, async (t) => {
    const { owner } = gateway;
    const client = anthropicOf(owner, owner.key, base);
    const asked = { model, max_tokens: 100, messages: said(TEXT) };
    const whole = await client.messages.create(asked);
    t.deepEqual(
      whole.content.map((block) => block.type === 'text' && block.text),
      [TEXT],
    );
    t.is(whole.stop_reason, 'end_turn');
    const stream = client.messages.stream(asked);
    const deltas: string[] = [];
    stream.on('text', (delta) => deltas.push(delta));
    const final = await stream.finalMessage();
    t.deepEqual(
      final.content.map((block) => block.type === 'text' && block.text),
      [TEXT],
    );
    t.is(final.usage.input_tokens, whole.usage.input_tokens);
    t.is(final.usage.output_tokens, whole.usage.output_tokens);
    t.is(deltas.join(''), TEXT);
  });
}

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
const CALL = { tool: { name: 'weather', arguments: { city: 'Zürich' } } };

test("OpenAI's client gets a tool call it can parse, whole and as a stream, and sends its result back", async (t) => {
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: PARAMETERS } }];
  const asked = { model: MODEL, messages: told(CALL, 'How is it?'), tools };
  const [choice] = (await openai.chat.completions.create(asked)).choices;
  t.is(choice?.finish_reason, 'tool_calls');
  const [call] = choice?.message.tool_calls ?? [];
  if (choice === undefined || call?.type !== 'function') return t.fail('it has called no function');
  t.is(call.function.name, 'weather');
  t.deepEqual(JSON.parse(call.function.arguments), { city: 'Zürich' });
  const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
  const [again] = streamed.choices[0]?.message.tool_calls ?? [];
  t.deepEqual(JSON.parse(again?.function.arguments ?? ''), { city: 'Zürich' });
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    ...asked.messages,
    choice.message,
    { role: 'tool', tool_call_id: call.id, content: 'rain' },
  ];
  const last = await openai.chat.completions.create({ ...asked, messages });
  t.is(last.choices[0]?.message.content, 'rain');
});

test("Anthropic's client gets a tool call it can parse, whole and as a stream, and sends its result back", async (t) => {
  const tools = [{ name: 'weather', input_schema: { ...PARAMETERS, required: ['city'] } }];
  const asked = { model: MODEL, max_tokens: 100, messages: told(CALL, 'How is it?'), tools };
  const whole = await anthropic.messages.create(asked);
  t.is(whole.stop_reason, 'tool_use');
  const call = whole.content.find((block) => block.type === 'tool_use');
  t.like(call, { name: 'weather', input: { city: 'Zürich' } });
  const streamed = await anthropic.messages.stream(asked).finalMessage();
  t.like(
    streamed.content.find((block) => block.type === 'tool_use'),
    { name: 'weather', input: { city: 'Zürich' } },
  );
  const result = { type: 'tool_result' as const, tool_use_id: call?.id ?? '', content: 'rain' };
  const last = await anthropic.messages.create({
    ...asked,
    messages: [...asked.messages, { role: 'assistant', content: whole.content }, { role: 'user', content: [result] }],
  });
  t.like(last.content[0], { text: 'rain' });
});

test('an answer that is held to a JSON Schema fits it', async (t) => {
  const answer = await openai.chat.completions.parse({
    model: MODEL,
    messages: said('A city?'),
    response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: PARAMETERS } },
  });
  t.deepEqual(answer.choices[0]?.message.parsed, { city: '' });
});

test('an answer ends before a stop sequence, and at its largest number of tokens, and says which', async (t) => {
  const stopped = await openai.chat.completions.create({ model: MODEL, messages: said('one two three'), stop: 'two' });
  t.is(stopped.choices[0]?.message.content, 'one ');
  t.is(stopped.choices[0]?.finish_reason, 'stop');
  const short = await openai.chat.completions.create({ model: MODEL, messages: said('one two three'), max_tokens: 2 });
  t.is(short.choices[0]?.finish_reason, 'length');
  t.is(short.usage?.completion_tokens, 2);
  const asked = { model: MODEL, messages: said('one two three') };
  const message = await anthropic.messages.create({ ...asked, max_tokens: 50, stop_sequences: ['two'] });
  t.like(message, { stop_reason: 'stop_sequence', stop_sequence: 'two' });
  t.is((await anthropic.messages.create({ ...asked, max_tokens: 2 })).stop_reason, 'max_tokens');
});

test('several answers to one request come in one body, and are all paid for', async (t) => {
  const one = await openai.chat.completions.create({ model: MODEL, messages: said('again') });
  const three = await openai.chat.completions.create({ model: MODEL, messages: said('again'), n: 3 });
  t.deepEqual(
    three.choices.map(({ message }) => message.content),
    ['again', 'again', 'again'],
  );
  t.is(three.usage?.completion_tokens, 3 * (one.usage?.completion_tokens ?? 0));
});

test('a client that asks for usage in its stream gets it, with what the request cost; another one gets none', async (t) => {
  const asked = { model: MODEL, messages: said('usage'), stream: true as const };
  let without: unknown[] = [];
  for await (const part of await openai.chat.completions.create(asked)) without = [...without, part.usage ?? null];
  t.true(without.every((usage) => usage === null));
  let last: unknown;
  const stream = await openai.chat.completions.create({ ...asked, stream_options: { include_usage: true } });
  for await (const part of stream) last = part;
  t.true(numberAt(last, 'usage', 'total_tokens') > 0, JSON.stringify(last));
  t.true(numberAt(last, 'usage', 'x-svc-cost-usd') > 0, JSON.stringify(last));
});

test('a completion answers each of its prompts, whole and as a stream', async (t) => {
  const whole = await openai.completions.create({ model: MODEL, prompt: ['one', 'two'] });
  t.deepEqual(
    whole.choices.map(({ text, index }) => `${index} ${text}`),
    ['0 one', '1 two'],
  );
  let text = '';
  const stream = await openai.completions.create({ model: MODEL, prompt: 'one two', stream: true });
  for await (const part of stream) text += part.choices[0]?.text ?? '';
  t.is(text, 'one two');
});

test('embeddings are the same numbers, whether the client has them encoded or not', async (t) => {
  const input = ['one', 'two'];
  const encoded = await openai.embeddings.create({ model: MODEL, input });
  const plain = await openai.embeddings.create({ model: MODEL, input, encoding_format: 'float' });
  t.is(encoded.data.length, 2);
  for (const [at, { embedding }] of encoded.data.entries()) {
    t.is(embedding.length, 64);
    for (const [place, value] of embedding.entries())
      t.true(Math.abs(value - (plain.data[at]?.embedding[place] ?? Number.NaN)) < 1e-6);
  }
  t.notDeepEqual(encoded.data[0]?.embedding, encoded.data[1]?.embedding);
  t.true(encoded.usage.prompt_tokens > 0);
});

test("OpenAI's client lists the models, those that answer alone, and reads one by any of its names", async (t) => {
  const all = (await openai.models.list()).data;
  const echo = all.find(({ id }) => id === 'echo');
  t.like(echo, { object: 'model', owned_by: 'echo', available: true });
  t.true(Number.isInteger(echo?.created));
  const answering = await openai.models.list({ query: { available: 'true' } });
  t.true(answering.data.some(({ id }) => id === 'echo'));
  t.true(answering.data.every((model) => Reflect.get(model, 'available') === true));
  for (const name of ['echo', 'svc/echo', 'svc-echo']) t.is((await openai.models.retrieve(name)).id, 'echo');
  const { owner } = gateway;
  const own = await openaiOf(owner, owner.key, OWN_BASE).models.list();
  t.deepEqual(
    own.data.map(({ id }) => id),
    ['echo'],
    'an InferenceEndpoint serves one',
  );
  await t.throwsAsync(openai.models.retrieve('none'), { message: /404/ });
});

test("Anthropic's client lists the models and reads one, in its own shape", async (t) => {
  const ids: string[] = [];
  for await (const { id, type } of anthropic.models.list()) ids.push(`${type} ${id}`);
  t.true(ids.includes('model echo'));
  const paged: string[] = [];
  for await (const { id, type } of anthropic.models.list({ limit: 7 })) paged.push(`${type} ${id}`);
  t.deepEqual(paged, ids, 'pages are followed to the end, and hold each once');
  t.true(new Set(ids).size > 20);
  const echo = await anthropic.models.retrieve('echo');
  t.like(echo, { id: 'echo', type: 'model', display_name: 'Echo' });
  t.false(Number.isNaN(Date.parse(echo.created_at)));
});

test('tokens of a message are counted for nothing, and are those that its answer reports', async (t) => {
  const { owner } = gateway;
  const messages = said('How many are these?');
  const counted = await anthropic.messages.countTokens({ model: MODEL, messages });
  const answer = await anthropic.messages.create({ model: MODEL, max_tokens: 10, messages });
  t.is(counted.input_tokens, answer.usage.input_tokens);
  const plain = await owner.post('/v1/messages/count_tokens?beta=true', { model: MODEL, messages });
  t.is(plain.status, 200, plain.text);
  t.is(plain.headers.get('x-svc-cost-usd'), '0.00');
});
