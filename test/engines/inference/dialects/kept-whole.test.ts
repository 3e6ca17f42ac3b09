/** What a conversation has of one dialect's upstream is what another one's vendor takes, and what cannot be carried is refused by its name. */
import test from 'ava';
import { anthropic } from '../../../../src/engines/inference/dialects/anthropic/index.js';
import { idOf } from '../../../../src/engines/inference/dialects/anthropic/call-id.js';
import { writeEncrypted } from '../../../../src/engines/inference/dialects/responses/encrypted.js';
import { BrokenStreamError } from '../../../../src/engines/inference/dialects/dialect.js';
import { openai } from '../../../../src/engines/inference/dialects/openai/index.js';
import { translateAnswer, translateRequest } from '../../../../src/engines/inference/dialects/translate.js';
import { USUAL_FORM } from '../../../../src/engines/inference/route.js';
import { ABOUT, chunk, follow } from './reading-clients.js';

const OPTIONS = { ...USUAL_FORM, maxOutputTokens: 4_000, stream: false };
const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const RESPONSES = '/v1/responses';
const SAID = [{ role: 'user', content: 'Hi' }];
const TOOL = { name: 'f', input_schema: { type: 'object' } };

type Operation = typeof CHAT | typeof MESSAGES | typeof RESPONSES;

const refusal = (operation: Operation, body: object): string | undefined => {
  const translated = translateRequest(
    operation,
    body as never,
    operation === MESSAGES ? 'OpenAI' : 'Anthropic',
    OPTIONS,
  );
  return translated.outcome === 'CannotCarry' ? translated.fault.param : undefined;
};

const CALLED = { index: 0, id: 'functions.f:0', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };

test('ids of calls are those that the vendor of the client takes, whole and in a stream', (t) => {
  const whole = { choices: [{ message: { tool_calls: [CALLED] }, finish_reason: 'tool_calls' }] };
  const { content } = translateAnswer('OpenAI', MESSAGES, whole, ABOUT).body as { content: { id: string }[] };
  const id = content[0]?.id ?? '';
  t.regex(id, /^[\w-]+$/);
  const stream = `${chunk({ tool_calls: [CALLED] })}${chunk({}, 'tool_calls')}data: [DONE]\n\n`;
  t.true(follow('OpenAI', MESSAGES, [Buffer.from(stream)]).out.includes(`"id":"${id}"`));
  const back = (of: string): unknown => {
    const messages = [
      ...SAID,
      { role: 'assistant', content: [{ type: 'tool_use', id: of, name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: of }] },
    ];
    const sent = translateRequest(MESSAGES, { max_tokens: 5, messages }, 'OpenAI', OPTIONS);
    const said = (sent.outcome === 'Body' ? sent.body['messages'] : []) as Record<string, unknown>[];
    const [call] = (said[1]?.['tool_calls'] ?? []) as { id: string }[];
    t.is(said[2]?.['tool_call_id'], call?.id);
    return call?.id;
  };
  t.is(back(id), 'functions.f:0', 'its upstream gets the id that it has made');
  t.is(back('toolu_1'), 'toolu_1');
  const long = `functions.${'x'.repeat(100)}:1`;
  t.true(idOf(long).length <= 64 && idOf(long) !== idOf(`${long}0`));
});

test('an upstream of the dialect of chats is not told the thinking that another one has signed', (t) => {
  const said = { role: 'assistant', content: 'A', reasoning_content: 'R' };
  const blocks = [{ type: 'thinking', thinking: 'R', signature: 's' }];
  const read = openai.readRequest(CHAT, {
    model: 'm',
    messages: [...SAID, { ...said, thinking_blocks: blocks }, ...SAID],
  });
  if (read.outcome !== 'Request') throw new Error(read.message);
  t.deepEqual(openai.upstreamBody(read.request, 'x')['messages'], [...SAID, said, ...SAID]);
});

test('thinking without a signature goes to no upstream of the own dialect, and where that would need it the turn goes on without', (t) => {
  const unsigned = { type: 'thinking', thinking: 'R', signature: '' };
  const signed = { type: 'thinking', thinking: 'S', signature: 's' };
  const use = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const sent = (messages: unknown[]): Record<string, unknown> => {
    const read = anthropic.readRequest(MESSAGES, {
      ...{ model: 'm', max_tokens: 5_000, messages, thinking: { type: 'enabled', budget_tokens: 2_000 } },
      context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
    });
    if (read.outcome !== 'Request') throw new Error(read.message);
    return JSON.parse(JSON.stringify(anthropic.upstreamBody(read.request, 'x'))) as Record<string, unknown>;
  };
  const later = sent([
    ...SAID,
    { role: 'assistant', content: [unsigned, { type: 'text', text: 'A' }] },
    { role: 'user', content: 'And?' },
  ]);
  t.deepEqual((later['messages'] as unknown[])[1], { role: 'assistant', content: [{ type: 'text', text: 'A' }] });
  t.truthy(later['thinking']);
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] };
  const within = sent([...SAID, { role: 'assistant', content: [unsigned, use] }, result]);
  t.deepEqual((within['messages'] as unknown[])[1], { role: 'assistant', content: [use] });
  t.deepEqual([within['thinking'], within['context_management']], [undefined, undefined]);
  const clears = { edits: [{ type: 'clear_tool_uses_20250919' }] };
  const other = { model: 'm', max_tokens: 5, context_management: clears };
  const read = anthropic.readRequest(MESSAGES, {
    ...other,
    messages: [...SAID, { role: 'assistant', content: [unsigned, use] }, result],
  });
  if (read.outcome !== 'Request') throw new Error(read.message);
  t.deepEqual(
    anthropic.upstreamBody(read.request, 'x')['context_management'],
    clears,
    'it has nothing to do with thinking',
  );
  const kept = sent([...SAID, { role: 'assistant', content: [signed, use] }, result]);
  t.deepEqual((kept['messages'] as unknown[])[1], { role: 'assistant', content: [signed, use] });
  t.truthy(kept['thinking']);
  t.is((sent([...SAID, { role: 'assistant', content: [unsigned] }, ...SAID])['messages'] as unknown[]).length, 2);
});

test('thinking keeps its place among what is said after it, and without a signature it is none', (t) => {
  const item = (thinking: string, signature: string) => ({
    ...{ type: 'reasoning', id: 'r', summary: [] },
    encrypted_content: writeEncrypted({ thinking, signature }),
  });
  const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
  const text = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A' }] };
  const output = { type: 'function_call_output', call_id: 'a', output: 'x' };
  const kinds = (...items: object[]): unknown => {
    const sent = translateRequest(RESPONSES, { input: [...SAID, ...items, output] }, 'Anthropic', OPTIONS);
    const messages = (sent.outcome === 'Body' ? sent.body['messages'] : []) as { content: { type: string }[] }[];
    return messages[1]?.content.map(({ type }) => type);
  };
  t.deepEqual(kinds(item('t1', 's1'), text, item('t2', 's2'), call), ['thinking', 'text', 'thinking', 'tool_use']);
  t.deepEqual(kinds(text, item('t1', 's1'), call), ['thinking', 'text', 'tool_use'], 'its vendor wants it first');
  t.deepEqual(kinds(item('t1', ''), call), ['tool_use']);
  const blocks = [{ type: 'thinking', thinking: 'x', signature: '' }];
  const chat = { messages: [...SAID, { role: 'assistant', content: 'A', thinking_blocks: blocks }, ...SAID] };
  t.false(JSON.stringify(translateRequest(CHAT, chat, 'Anthropic', OPTIONS)).includes('thinking'));
});

test('who asks is told in as many characters as vendors take', (t) => {
  const sent = (user: string): unknown => {
    const body = { max_tokens: 5, messages: SAID, metadata: { user_id: user } };
    const translated = translateRequest(MESSAGES, body, 'OpenAI', OPTIONS);
    return translated.outcome === 'Body' ? translated.body['user'] : undefined;
  };
  t.is(sent('me'), 'me');
  t.regex(String(sent(`user_${'a'.repeat(64)}_account_x`)), /^[0-9a-f]{64}$/);
});

test('arguments within a request have the bounds of a body, and are the text of an object', (t) => {
  const chat = (json: unknown): object => ({
    messages: [
      ...SAID,
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: json } }] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ],
  });
  const response = (json: unknown): object => ({
    input: [
      ...SAID,
      { type: 'function_call', call_id: 'a', name: 'f', arguments: json },
      { type: 'function_call_output', call_id: 'a', output: 'x' },
    ],
  });
  const deep = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  for (const json of [deep(5_000), deep(300_000), deep(128), `{"a":[${'[],'.repeat(250_000)}1]}`, '[1]', '"text"', 7]) {
    t.is(refusal(CHAT, chat(json)), 'messages[1].tool_calls[0].function.arguments', String(json).slice(0, 20));
    t.is(refusal(RESPONSES, response(json)), 'input[1].arguments');
  }
  for (const json of [deep(100), '', '{"a":"[[[[', '{"a":"\\"[{"}', { a: 1 }, undefined])
    t.is(refusal(CHAT, chat(json)), undefined);
  const sent = translateRequest(CHAT, chat({ a: 1 }) as never, 'Anthropic', OPTIONS);
  t.true(JSON.stringify(sent).includes('"input":{"a":1}'), 'an object is understood');
});

test('what has no meaning in the other dialect is refused by its name, not changed or left out', (t) => {
  const called = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const result = (failed: unknown) => [{ type: 'tool_result', tool_use_id: 'a', is_error: failed }];
  const history = (failed: unknown) => [
    ...SAID,
    { role: 'assistant', content: [called] },
    { role: 'user', content: result(failed) },
  ];
  const message = (more: object): object => ({ max_tokens: 5, messages: SAID, ...more });
  const fn = { type: 'function', function: { name: 'f' } };
  for (const [operation, body, param] of [
    [MESSAGES, message({ stop_sequences: 'END' }), 'stop_sequences'],
    [MESSAGES, message({ stop_sequences: ['END', 1] }), 'stop_sequences'],
    [MESSAGES, message({ tools: [{ name: 'f', input_schema: 'x' }] }), 'tools[0].input_schema'],
    [MESSAGES, message({ messages: history('true') }), 'messages[2].content[0].is_error'],
    [MESSAGES, message({ tool_choice: { type: 'any' } }), 'tool_choice'],
    [MESSAGES, message({ tool_choice: { type: 'tool', name: 'g' }, tools: [TOOL] }), 'tool_choice'],
    [
      MESSAGES,
      message({ messages: [...SAID, { role: 'assistant', content: [{ ...called, input: 'x' }] }] }),
      'messages[1].content[0].input',
    ],
    [MESSAGES, message({ stop_sequences: ['a', ''] }), 'stop_sequences'],
    [MESSAGES, message({ output_config: { effort: 'ultra' } }), 'output_config.effort'],
    [MESSAGES, message({ output_config: 'x' }), 'output_config'],
    [MESSAGES, message({ thinking: 'enabled' }), 'thinking'],
    [MESSAGES, message({ thinking: { type: 'enabled', budget_tokens: '5' } }), 'thinking.budget_tokens'],
    [MESSAGES, message({ tools: [{ ...TOOL, description: 5 }] }), 'tools[0].description'],
    [MESSAGES, message({ tools: [{ ...TOOL, strict: 'x' }] }), 'tools[0].strict'],
    [MESSAGES, message({ metadata: { user_id: 5 } }), 'metadata.user_id'],
    [
      MESSAGES,
      message({ tools: [TOOL], tool_choice: { type: 'auto', disable_parallel_tool_use: 'true' } }),
      'tool_choice.disable_parallel_tool_use',
    ],
    [
      MESSAGES,
      message({ context_management: { edits: [{ type: 'clear_everything' }] } }),
      'context_management.edits[0]',
    ],
    [CHAT, JSON.parse('{"messages":[{"role":"user","content":"Hi"}],"__proto__":1}') as object, '__proto__'],
    [CHAT, JSON.parse('{"messages":[{"role":"user","content":"Hi"}],"constructor":{}}') as object, 'constructor'],
    [CHAT, { messages: SAID, parallel_tool_calls: 'false' }, 'parallel_tool_calls'],
    [CHAT, { messages: SAID, user: 5 }, 'user'],
    [RESPONSES, { input: 'Hi', parallel_tool_calls: 'false' }, 'parallel_tool_calls'],
    [RESPONSES, { input: 'Hi', reasoning: 'x' }, 'reasoning'],
    [RESPONSES, { input: 'Hi', text: 'x' }, 'text'],
    [CHAT, { messages: SAID, temperature: 1.5 }, 'temperature'],
    [CHAT, { messages: SAID, tool_choice: 'required' }, 'tool_choice'],
    [CHAT, { messages: SAID, tools: [fn], tool_choice: { type: 'function', function: { name: 'g' } } }, 'tool_choice'],
    [
      CHAT,
      { messages: SAID, tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] },
      'tools[0].function.parameters',
    ],
    [CHAT, { messages: [...SAID, { role: 'assistant', tool_calls: {} }] }, 'messages[1].tool_calls'],
    [RESPONSES, { input: 'Hi', temperature: 1.7 }, 'temperature'],
    [RESPONSES, { input: 'Hi', tool_choice: 'required' }, 'tool_choice'],
  ] as const)
    t.is(refusal(operation, body), param, `${operation} ${param}`);
  t.is(refusal(CHAT, { messages: SAID, tool_choice: 'auto', temperature: 1 }), undefined);
});

test('a response that fails before its first word begins all the same, so that its client learns why', (t) => {
  const { follower } = follow('OpenAI', RESPONSES, []);
  const error = { code: 'Unavailable', status: 503, message: 'its answer broke off', requestId: 'r' } as const;
  const out = follower.fail?.(error) ?? '';
  const types = [...out.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
  t.deepEqual(types, ['response.created', 'response.in_progress', 'response.failed']);
  t.is(follow('OpenAI', MESSAGES, []).follower.fail?.(error), undefined);
});

test('answers of a faulty upstream are read as they were meant, or are none', (t) => {
  const chat = (message: object, finish: string): object => ({ choices: [{ message, finish_reason: finish }] });
  const stop = (answer: object, from: 'OpenAI' | 'Anthropic', to: Operation): unknown => {
    const { body } = translateAnswer(from, to, answer, ABOUT);
    const [choice] = (body['choices'] ?? []) as { finish_reason: string }[];
    return body['stop_reason'] ?? choice?.finish_reason;
  };
  const use = { type: 'tool_use', id: 'a', name: 'f', input: '{"a":1}' };
  const claude = (content: object[], reason: string): object => ({ content, stop_reason: reason });
  const told = translateAnswer('Anthropic', CHAT, claude([use], 'end_turn'), ABOUT).body;
  t.true(JSON.stringify(told).includes('"arguments":"{\\"a\\":1}"'), 'arguments as a text');
  t.is(stop(claude([use], 'end_turn'), 'Anthropic', CHAT), 'tool_calls');
  t.is(stop(claude([{ type: 'text', text: 'x' }], 'tool_use'), 'Anthropic', CHAT), 'stop');
  t.is(stop(chat({ content: 'x' }, 'tool_calls'), 'OpenAI', MESSAGES), 'end_turn');
  for (const broken of [
    chat({ function_call: { name: 'f', arguments: '{}' } }, 'function_call'),
    chat({ tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'f', input: 'x' } }] }, 'tool_calls'),
  ])
    t.throws(() => translateAnswer('OpenAI', MESSAGES, broken, ABOUT), { instanceOf: BrokenStreamError });
  t.throws(() => translateAnswer('Anthropic', CHAT, claude([{ ...use, input: 'x' }], 'tool_use'), ABOUT), {
    instanceOf: BrokenStreamError,
  });
  const deep = { ...CALLED, function: { name: 'f', arguments: `{"a":${'['.repeat(125)}${']'.repeat(125)}}` } };
  for (const answer of [chat({ tool_calls: [deep] }, 'tool_calls'), chat({ tool_calls: [deep] }, 'length')])
    t.throws(
      () => translateAnswer('OpenAI', MESSAGES, answer, ABOUT),
      { message: /too deep/ },
      'it could not be sent back',
    );
  t.is(stop(chat({ content: 'x' }, 'constructor'), 'OpenAI', MESSAGES), 'end_turn');
  t.is(stop(claude([{ type: 'text', text: 'x' }], '__proto__'), 'Anthropic', CHAT), 'stop');
  for (const input of [null, undefined, {}, '']) {
    const { body } = translateAnswer('Anthropic', CHAT, claude([{ ...use, input }], 'tool_use'), ABOUT);
    t.true(JSON.stringify(body).includes('"arguments":"{}"'), JSON.stringify(input));
  }
  const two = chat({ tool_calls: [CALLED, { ...CALLED, index: 1 }] }, 'tool_calls');
  const { content } = translateAnswer('OpenAI', MESSAGES, two, ABOUT).body as { content: { id: string }[] };
  t.is(new Set(content.map(({ id }) => id)).size, 2, 'calls of one id could not be told apart');
  const odd = `data: ${JSON.stringify({ choices: [{ index: 0, message: { content: 'whole' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
  t.true(follow('OpenAI', MESSAGES, [Buffer.from(odd)]).out.includes('whole'));
});
