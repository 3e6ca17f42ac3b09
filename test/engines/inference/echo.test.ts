import test from 'ava';
import { assert, property, string } from 'fast-check';
import { countEchoTokens, openEcho } from '../../../src/engines/inference/echo/open-echo.js';
import { smallestFor } from '../../../src/engines/inference/echo/smallest.js';
import { tokensOf } from '../../../src/engines/inference/echo/tokens.js';
import type { UpstreamOperation } from '../../../src/engines/inference/dialects/dialect.js';
import { UpstreamBrokenError, type Upstream, type UpstreamAnswer } from '../../../src/engines/inference/upstream.js';
import { until } from './upstream-server.js';

const CREATED = 1_764_000_000;
const open = (options: { idleMs?: number; firstByteMs?: number; maxConcurrent?: number } = {}): Upstream =>
  openEcho({ now: () => CREATED * 1000, ...options });

type Answered = Extract<UpstreamAnswer, { outcome: 'Answered' }>;

const staying = (): AbortSignal => new AbortController().signal;

function send(
  operation: UpstreamOperation,
  body: object,
  upstream = open(),
  signal = staying(),
): Promise<UpstreamAnswer> {
  const text = JSON.stringify({ model: 'echo', ...body });
  return upstream.send({
    tenant: 'o-1',
    operation,
    stream: 'stream' in body,
    body: Buffer.from(text),
    headers: {},
    signal,
  });
}

async function answered(operation: UpstreamOperation, body: object, upstream = open()): Promise<Answered> {
  const answer = await send(operation, body, upstream);
  if (answer.outcome !== 'Answered') throw new Error(answer.message);
  return answer;
}

async function textOf({ body }: Answered): Promise<string> {
  let text = '';
  for await (const part of body) text += part.toString();
  return text;
}

/** Of an answer that is JSON; ids are the same for the same request. */
async function ask(operation: UpstreamOperation, body: object): Promise<Record<string, unknown>> {
  return JSON.parse(await textOf(await answered(operation, body))) as Record<string, unknown>;
}

interface Event {
  readonly event: string | undefined;
  readonly data: unknown;
}

/** Frames of a stream, read strictly: `event:` if any, one `data:`, an empty line. */
function eventsOf(text: string): Event[] {
  const blocks = text.split('\n\n');
  if (blocks.pop() !== '') throw new Error('the stream does not end with an empty line');
  return blocks.map((block) => {
    const found = /^(?:event: (\w+)\n)?data: (.*)$/.exec(block);
    if (found === null) throw new Error(`no frame: ${block}`);
    const data = found[2] ?? '';
    return { event: found[1], data: data === '[DONE]' ? data : (JSON.parse(data) as unknown) };
  });
}

const chat = (content: string, more: object = {}): object => ({ messages: [{ role: 'user', content }], ...more });
const messages = (content: string, more: object = {}): object => ({ ...chat(content), max_tokens: 1_000, ...more });

test('Tokens put together again are the text, and every count is of them', (t) => {
  t.deepEqual(tokensOf('Hello, wörld 12345'), ['Hell', 'o', ',', ' ', 'wörl', 'd', ' ', '1234', '5']);
  t.notThrows(() =>
    assert(
      property(string({ unit: 'grapheme' }), (text) => {
        const tokens = tokensOf(text);
        return (
          tokens.join('') === text &&
          tokens.length === countEchoTokens(text) &&
          tokens.every((token) => Buffer.from(token).toString() === token)
        );
      }),
    ),
  );
});

test("A chat completion answers with the last user message, in OpenAI's documented form", async (t) => {
  const body = {
    messages: [
      { role: 'system', content: 'be kind' },
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: [{ type: 'text', text: 'Hello you' }] },
    ],
  };
  const answer = await ask('/v1/chat/completions', body);
  t.regex(String(answer['id']), /^chatcmpl-echo[0-9a-f]{20}$/);
  t.deepEqual(answer, {
    id: answer['id'],
    object: 'chat.completion',
    created: CREATED,
    model: 'echo',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello you', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      ...{ prompt_tokens: 3 + 2 + 2 + 4, completion_tokens: 4, total_tokens: 15 },
      ...{ prompt_tokens_details: { cached_tokens: 0 }, completion_tokens_details: { reasoning_tokens: 0 } },
    },
  });
  t.deepEqual(await ask('/v1/chat/completions', body), answer, 'the same for the same');
});

test('A streamed chat completion is a role, deltas, a finish, usage without choices if asked for, and [DONE]', async (t) => {
  const body = chat('Hello you', { stream: true, stream_options: { include_usage: true } });
  const answer = await answered('/v1/chat/completions', body);
  t.is(answer.headers['content-type'], 'text/event-stream');
  const events = eventsOf(await textOf(answer));
  const common = { ...(events[0]?.data as object) };
  const chunk = (delta: object, finish_reason: string | null): Event => ({
    event: undefined,
    data: { ...common, choices: [{ index: 0, delta, logprobs: null, finish_reason }], usage: null },
  });
  t.like(common, { object: 'chat.completion.chunk', created: CREATED, model: 'echo' });
  t.deepEqual(events.slice(0, 3), [
    chunk({ role: 'assistant', content: '' }, null),
    chunk({ content: 'Hello you' }, null),
    chunk({}, 'stop'),
  ]);
  t.like(events[3]?.data, { choices: [], usage: { prompt_tokens: 4, completion_tokens: 4, total_tokens: 8 } });
  t.deepEqual(events[4], { event: undefined, data: '[DONE]' });
  t.is(events.length, 5);

  const silent = eventsOf(await textOf(await answered('/v1/chat/completions', chat('Hello you', { stream: true }))));
  t.is(silent.length, 4);
  t.true(silent.every(({ data }) => data === '[DONE]' || !Object.hasOwn(data as object, 'usage')));
});

test("A message answers with the last user message, in Anthropic's documented form", async (t) => {
  const answer = await ask('/v1/messages', messages('Hello you', { system: [{ type: 'text', text: 'be kind' }] }));
  t.regex(String(answer['id']), /^msg_/);
  t.deepEqual(answer, {
    id: answer['id'],
    type: 'message',
    role: 'assistant',
    model: 'echo',
    content: [{ type: 'text', text: 'Hello you' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 7, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 4 },
  });
  t.deepEqual(await ask('/v1/messages/count_tokens', chat('Hello you')), { input_tokens: 4 });
});

test('A streamed message has every event of the documented order, with usage at both ends', async (t) => {
  const events = eventsOf(await textOf(await answered('/v1/messages', messages('Hello you', { stream: true }))));
  t.true(events.every(({ event, data }) => event === (data as { type: string }).type));
  t.deepEqual(
    events.map(({ event }) => event),
    [
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ],
  );
  t.like(events[0]?.data, {
    message: {
      type: 'message',
      role: 'assistant',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 4, output_tokens: 1 },
    },
  });
  t.deepEqual(events[2]?.data, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
  t.deepEqual(events[3]?.data, {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: 'Hello you' },
  });
  t.deepEqual(events[5]?.data, {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 4 },
  });
});

test('A completion answers each prompt, as often as asked', async (t) => {
  const answer = await ask('/v1/completions', { prompt: ['ab', 'c'], n: 2 });
  t.like(answer, { object: 'text_completion', usage: { prompt_tokens: 2, completion_tokens: 4 } });
  t.deepEqual(
    (answer['choices'] as { text: string; index: number; finish_reason: string }[]).map(
      ({ text, index, finish_reason }) => [index, text, finish_reason],
    ),
    [
      [0, 'ab', 'stop'],
      [1, 'ab', 'stop'],
      [2, 'c', 'stop'],
      [3, 'c', 'stop'],
    ],
  );
  const events = eventsOf(await textOf(await answered('/v1/completions', { prompt: 'ab', stream: true })));
  t.deepEqual(
    events.map(({ data }) => (data === '[DONE]' ? data : (data as { choices: [{ text: string }] }).choices[0].text)),
    ['ab', '', '[DONE]'],
  );
});

test('Embeddings are the same unit vector for the same text, as numbers or as base64 of the same numbers', async (t) => {
  const input = ['one', 'two'];
  const floats = await ask('/v1/embeddings', { input, encoding_format: 'float' });
  t.like(floats, { object: 'list', usage: { prompt_tokens: 2, total_tokens: 2 } });
  const [one, two] = (floats['data'] as { embedding: number[] }[]).map(({ embedding }) => embedding);
  t.is(one?.length, 64);
  t.true(Math.abs(Math.hypot(...(one ?? [])) - 1) < 1e-6);
  t.notDeepEqual(one, two);
  const coded = (await ask('/v1/embeddings', { input: 'one', encoding_format: 'base64' }))['data'] as [
    { embedding: string },
  ];
  const bytes = Buffer.from(coded[0].embedding, 'base64');
  t.deepEqual(
    Array.from({ length: 64 }, (_, at) => bytes.readFloatLE(at * 4)),
    one,
  );
});

test('Embeddings of more values than are made at once are refused, with what to send instead', async (t) => {
  const input = Array.from({ length: 2_048 }, () => 'a');
  const refused = JSON.stringify(await ask('/v1/embeddings', { input, dimensions: 1_024 }));
  t.regex(refused, /inputs times dimensions \(at least 8\) may be at most 8192; send fewer inputs/);
});

test('An answer is cut at the most tokens and at stop sequences, with the reason of its dialect', async (t) => {
  const openai = async (body: object): Promise<unknown> => {
    const [choice] = (await ask('/v1/chat/completions', body))['choices'] as [
      { message: { content: string }; finish_reason: string },
    ];
    return [choice.message.content, choice.finish_reason];
  };
  t.deepEqual(await openai(chat('Hello you', { max_tokens: 3 })), ['Hello ', 'length']);
  t.deepEqual(await openai(chat('Hello you', { max_completion_tokens: 4 })), ['Hello you', 'stop']);
  t.deepEqual(await openai(chat('Hello you', { stop: ['you', 'lo'] })), ['Hel', 'stop']);
  t.like(await ask('/v1/messages', messages('Hello you', { max_tokens: 1 })), {
    stop_reason: 'max_tokens',
    usage: { output_tokens: 1 },
  });
  t.like(await ask('/v1/messages', messages('Hello you', { stop_sequences: [' y'] })), {
    stop_reason: 'stop_sequence',
    stop_sequence: ' y',
    content: [{ text: 'Hello' }],
  });
  t.like(await ask('/v1/chat/completions', chat('@echo {"tokens":20000}')), { usage: { completion_tokens: 8192 } });
  t.like(await ask('/v1/chat/completions', chat('@echo {"tokens":20000}', { max_tokens: 50_000 })), {
    usage: { completion_tokens: 20_000 },
  });
});

test('A directive makes the answer, and its line is no part of it', async (t) => {
  const content = async (text: string, more: object = {}): Promise<unknown> =>
    ((await ask('/v1/chat/completions', chat(text, more)))['choices'] as [{ message: { content: string } }])[0].message
      .content;
  t.is(await content('before\n@echo {"rate": 9}\nafter'), 'before\nafter');
  t.is(await content('@echo {"text": "pong"}'), 'pong');
  t.is(await content('@echo {"tokens": 3}'), 'echo echo');
  t.is(await content('@echo {"json": {"a": [1]}}'), '{"a":[1]}');
  t.is(await content('@echo hello'), '@echo hello', 'without an object it is a text like any other');
  const system = {
    messages: [
      { role: 'system', content: '@echo {"text":"s"}' },
      { role: 'user', content: 'hi' },
    ],
  };
  t.like(await ask('/v1/chat/completions', system), { choices: [{ message: { content: 's' } }] });
  t.like(await ask('/v1/messages', messages('hi', { system: '@echo {"text":"s"}' })), { content: [{ text: 's' }] });
});

test('A tool is called in the form of the dialect, and not again once its result is there', async (t) => {
  const text = '@echo {"tool": {"name": "weather", "arguments": {"city": "Bern"}}}';
  const tool = { name: 'weather', arguments: '{"city":"Bern"}' };
  const whole = (await ask('/v1/chat/completions', chat(text)))['choices'] as [Record<string, unknown>];
  t.like(whole[0], { finish_reason: 'tool_calls', message: { role: 'assistant', content: null } });
  t.like((whole[0]['message'] as { tool_calls: object[] }).tool_calls[0], { type: 'function', function: tool });

  const chunks = eventsOf(await textOf(await answered('/v1/chat/completions', chat(text, { stream: true }))));
  const deltas = chunks.flatMap(({ data }) =>
    data === '[DONE]'
      ? []
      : ((
          data as {
            choices: { delta: { tool_calls?: { index: number; function: { name?: string; arguments: string } }[] } }[];
          }
        ).choices[0]?.delta.tool_calls ?? []),
  );
  t.true(deltas.every(({ index }) => index === 0));
  t.is(deltas[0]?.function.name, 'weather');
  t.is(deltas.map(({ function: { arguments: part } }) => part).join(''), tool.arguments);

  t.like(await ask('/v1/messages', messages(text)), {
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', name: 'weather', input: { city: 'Bern' } }],
  });
  const events = eventsOf(await textOf(await answered('/v1/messages', messages(text, { stream: true }))));
  t.like(events[2]?.data, { index: 0, content_block: { type: 'tool_use', name: 'weather', input: {} } });
  const parts = events.flatMap(({ data }) => (data as { delta?: { partial_json?: string } }).delta?.partial_json ?? []);
  t.is(parts.join(''), tool.arguments);

  const result = {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'x', content: [{ type: 'text', text: 'sunny' }] }],
  };
  t.like(await ask('/v1/messages', { ...messages(text), system: text, messages: [result] }), {
    stop_reason: 'end_turn',
    content: [{ text: 'sunny' }],
  });
  const turns = [
    { role: 'system', content: text },
    { role: 'tool', tool_call_id: 'x', content: 'sunny' },
  ];
  t.like(await ask('/v1/chat/completions', { messages: turns }), {
    choices: [{ message: { content: 'sunny' }, finish_reason: 'stop' }],
  });
});

test('An answer held to a JSON Schema is the smallest that fits', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 2 },
      age: { type: 'integer', minimum: 18 },
      tags: { type: 'array', items: { enum: ['x'] }, minItems: 1 },
      child: { anyOf: [{ $ref: '#/$defs/leaf' }, { type: 'null' }] },
      none: { type: 'string' },
    },
    required: ['name', 'age', 'tags', 'child'],
    $defs: { leaf: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } },
  };
  const value = { name: 'aa', age: 18, tags: ['x'], child: { ok: false } };
  t.deepEqual(smallestFor(schema), value);
  const loop = {
    $ref: '#/$defs/a',
    $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] } },
  };
  t.notThrows(() => JSON.stringify(smallestFor(loop)), 'one that fits nothing ends');
  const asked = { response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } };
  t.like(await ask('/v1/chat/completions', chat('hi', asked)), {
    choices: [{ message: { content: JSON.stringify(value) } }],
  });
  t.like(await ask('/v1/messages', messages('hi', { output_config: { format: { type: 'json_schema', schema } } })), {
    content: [{ text: JSON.stringify(value) }],
  });
});

test('Failures, usage and errors with status 200 come as a directive says', async (t) => {
  const failed = await answered('/v1/chat/completions', chat('@echo {"fail": 429, "retryAfter": 3}'));
  t.is(failed.status, 429);
  t.is(failed.headers['retry-after'], '3');
  t.like(JSON.parse(await textOf(failed)), { error: { type: 'rate_limit_error', param: null, code: null } });
  const overloaded = await answered('/v1/messages', messages('@echo {"fail": 529}', { stream: true }));
  t.like(JSON.parse(await textOf(overloaded)), { type: 'error', error: { type: 'overloaded_error' } });
  t.like(await ask('/v1/chat/completions', chat('@echo {"error200": true}')), { error: { type: 'server_error' } });
  const frames = eventsOf(
    await textOf(await answered('/v1/messages', messages('@echo {"error200": true}', { stream: true }))),
  );
  t.like(frames, [{ event: 'error', data: { type: 'error', error: { type: 'api_error' } } }]);

  t.deepEqual((await ask('/v1/chat/completions', chat('@echo {"usage": {"prompt_tokens": -1}}')))['usage'], {
    prompt_tokens: -1,
  });
  t.is((await ask('/v1/messages', messages('@echo {"usage": "much"}')))['usage'], 'much');
  t.false('usage' in (await ask('/v1/chat/completions', chat('@echo {"usage": null}'))));
  const stream = await textOf(await answered('/v1/messages', messages('@echo {"usage": null}', { stream: true })));
  t.false(stream.includes('usage'));
});

test('What cannot be answered is 400 in the form of the dialect, with the field', async (t) => {
  const refused = async (operation: UpstreamOperation, body: object, message: RegExp, status = 400): Promise<void> => {
    const answer = await answered(operation, body);
    const told = JSON.parse(await textOf(answer)) as { error: { message: string } };
    t.is(answer.status, status);
    t.regex(told.error.message, message);
  };
  await refused('/v1/chat/completions', chat('@echo {"speed": 1}'), /has no member speed; it takes text, tokens, rate/);
  await refused('/v1/chat/completions', chat('@echo {"tokens": 100001}'), /tokens: /);
  await refused('/v1/chat/completions', chat('@echo {tokens'), /is not valid JSON/);
  await refused('/v1/chat/completions', {}, /^messages must have/);
  await refused(
    '/v1/chat/completions',
    chat('x'.repeat(4_000), { n: 128, max_tokens: 4_000 }),
    /at most 100000 tokens/,
  );
  await refused('/v1/chat/completions', chat('x', { n: 0 }), /^n must be/);
  await refused('/v1/messages', messages('x'.repeat(256 * 1024)), /^Model echo reads at most 262144 bytes/, 413);
  await refused('/v1/messages', chat('x'), /^max_tokens: Field required/);
  await refused('/v1/completions', { prompt: 7 }, /^prompt must be/);
  const broken = await open().send({
    tenant: 'o-1',
    operation: '/v1/messages',
    stream: false,
    body: Buffer.from('{'),
    headers: {},
    signal: staying(),
  });
  t.is(broken.outcome === 'Answered' && broken.status, 400);
});

async function brokenAt(answer: Answered): Promise<{ readonly text: string; readonly reason: string | undefined }> {
  let text = '';
  try {
    for await (const part of answer.body) text += part.toString();
    return { text, reason: undefined };
  } catch (error) {
    return { text, reason: error instanceof UpstreamBrokenError ? error.reason : String(error) };
  }
}

test('A stream stalls or breaks after just so many tokens', async (t) => {
  const echo = open({ idleMs: 30 });
  const broken = await brokenAt(
    await answered('/v1/chat/completions', chat('@echo {"tokens": 9, "breakAfter": 4}', { stream: true }), echo),
  );
  t.is(broken.reason, 'Broken');
  t.is(broken.text.match(/"content":"(echo| )"/g)?.length, 4);
  const stalled = await brokenAt(
    await answered('/v1/messages', messages('@echo {"tokens": 9, "stallAfter": 2}', { stream: true }), echo),
  );
  t.is(stalled.reason, 'TimedOut');
  t.is(stalled.text.match(/text_delta/g)?.length, 2);
  const whole = await brokenAt(await answered('/v1/messages', messages('@echo {"tokens": 9, "breakAfter": 2}'), echo));
  t.is(whole.reason, 'Broken');
  t.throws(() => JSON.parse(whole.text));
  t.is(echo.inFlight, 0);
});

test('A rate spreads the tokens over time, and a delay comes before the answer', async (t) => {
  const began = Date.now();
  const answer = await answered(
    '/v1/chat/completions',
    chat('@echo {"tokens": 11, "rate": 50, "delay": 100}', { stream: true }),
  );
  t.true(Date.now() - began >= 95);
  const at = Date.now();
  const parts: string[] = [];
  for await (const part of answer.body) parts.push(part.toString());
  t.true(Date.now() - at >= 190, `${Date.now() - at} ms for ten pauses of 20 ms`);
  t.true(parts.length > 3);
  t.like(await send('/v1/chat/completions', chat('@echo {"delay": 60000}'), open({ firstByteMs: 20 })), {
    outcome: 'Failed',
    reason: 'TimedOut',
  });
});

test('A caller that leaves ends a delay, a stall and a slow stream at once, and its place is free', async (t) => {
  const echo = open({ maxConcurrent: 1 });
  for (const directive of ['{"delay": 60000}', '{"stallAfter": 1}', '{"tokens": 9, "rate": 0.01}']) {
    const leaving = new AbortController();
    const pending = send('/v1/chat/completions', chat(`@echo ${directive}`, { stream: true }), echo, leaving.signal);
    t.like(await send('/v1/chat/completions', chat('x'), echo), { outcome: 'Failed', reason: 'Busy' });
    setImmediate(() => leaving.abort());
    const began = Date.now();
    const answer = await pending;
    if (answer.outcome === 'Answered') t.is((await brokenAt(answer)).reason, 'Broken');
    else t.is(answer.reason, 'Aborted');
    t.true(Date.now() - began < 10_000);
    await until('its place is free', () => echo.inFlight === 0, 1_000);
  }
  const left = await answered('/v1/chat/completions', chat('x'), echo);
  left.discard();
  t.is(echo.inFlight, 0);
});
