/** Streams in the form that each vendor's documentation shows, and what clients of the other dialects get of them, event by event. */
import test from 'ava';
import type { DialectName } from '../../../../src/engines/inference/dialects/dialect.js';
import { type ChatOperation, followTranslated } from '../../../../src/engines/inference/dialects/translate.js';
import { openSseDecoder, SSE_BOUNDS, type SseFrame } from '../../../../src/engines/inference/sse.js';

const ABOUT = {
  ...{ id: 'req-1', model: 'named', created: 1_764_000_000, wantsUsage: true, asked: {} },
  estimate: { inputTokens: 11, mostOutputTokens: 1_000 },
};

function framesOf(text: string): SseFrame[] {
  const frames: SseFrame[] = [];
  const decoder = openSseDecoder(SSE_BOUNDS, (frame) => frames.push(frame));
  decoder.push(Buffer.from(text));
  decoder.end();
  return frames;
}

/** Data of the events that the client gets; what is no JSON, as it is. */
function told(from: DialectName, to: ChatOperation, stream: string): readonly unknown[] {
  const follower = followTranslated(from, to, ABOUT, () => '0.25');
  const out = framesOf(stream).map((frame) => follower.frame(frame).out ?? '');
  if (follower.state.is !== 'Complete') throw new Error(`it ended as ${follower.state.is}`);
  return framesOf(out.join('')).map(({ data }): unknown => (data.startsWith('{') ? JSON.parse(data) : data));
}

const event = (data: { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const chunk = (choice: object | undefined, more: object = {}): string => {
  const common = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    system_fingerprint: 'fp',
  };
  return `data: ${JSON.stringify({ ...common, choices: choice === undefined ? [] : [{ index: 0, logprobs: null, ...choice }], ...more })}\n\n`;
};

/** A message that thinks, says something, and calls two tools at once. */
const MESSAGE = [
  {
    type: 'message_start',
    message: {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null },
      stop_sequence: null,
      usage: { input_tokens: 472, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 2 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Two towns' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'EqQB' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'I look' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: ' at both.' } },
  { type: 'content_block_stop', index: 1 },
  {
    type: 'content_block_start',
    index: 2,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
  },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"at": "Os' } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: 'lo"}' } },
  { type: 'content_block_stop', index: 2 },
  {
    type: 'content_block_start',
    index: 3,
    content_block: { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
  },
  { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '{"at": "Ulm"}' } },
  { type: 'content_block_stop', index: 3 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 89 } },
  { type: 'message_stop' },
]
  .map(event)
  .join('');

const call = (index: number, id: string | undefined, args: string): object => ({
  delta: {
    tool_calls: [
      {
        index,
        ...(id === undefined
          ? { function: { arguments: args } }
          : { id, type: 'function', function: { name: 'look', arguments: args } }),
      },
    ],
  },
  finish_reason: null,
});

/** The same as a chat completion. */
const CHAT = [
  chunk({ delta: { role: 'assistant', content: '', refusal: null }, finish_reason: null }),
  chunk({ delta: { content: 'I look' }, finish_reason: null }),
  chunk({ delta: { content: ' at both.' }, finish_reason: null }),
  chunk(call(0, 'call_1', '')),
  chunk(call(0, undefined, '{"at": "Os')),
  chunk(call(0, undefined, 'lo"}')),
  chunk(call(1, 'call_2', '')),
  chunk(call(1, undefined, '{"at": "Ulm"}')),
  chunk({ delta: {}, finish_reason: 'tool_calls' }),
  chunk(undefined, {
    usage: {
      ...{ prompt_tokens: 592, completion_tokens: 89, total_tokens: 681 },
      prompt_tokens_details: { cached_tokens: 100, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 10, accepted_prediction_tokens: 0 },
    },
  }),
  'data: [DONE]\n\n',
].join('');

const look = (index: number, id: string): object => ({
  index,
  id,
  type: 'function',
  function: { name: 'look', arguments: '' },
});
const more = (index: number, json: string): object => ({ index, function: { arguments: json } });

test("a stream of Anthropic's is told to a client of chats in its documented form", (t) => {
  const common = { id: 'chatcmpl-req-1', object: 'chat.completion.chunk', created: 1_764_000_000, model: 'named' };
  const of = (delta: object, finish: string | null = null): object => ({
    ...common,
    ...{ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null },
  });
  t.deepEqual(told('Anthropic', '/v1/chat/completions', MESSAGE), [
    of({ role: 'assistant', content: '' }),
    of({ reasoning_content: 'Two towns' }),
    of({ content: 'I look' }),
    of({ content: ' at both.' }),
    of({ tool_calls: [look(0, 'toolu_1')] }),
    of({ tool_calls: [more(0, '{"at": "Os')] }),
    of({ tool_calls: [more(0, 'lo"}')] }),
    of({ tool_calls: [look(1, 'toolu_2')] }),
    of({ tool_calls: [more(1, '{"at": "Ulm"}')] }),
    of({ thinking_blocks: [{ type: 'thinking', thinking: 'Two towns', signature: 'EqQB' }] }),
    of({}, 'tool_calls'),
    {
      ...common,
      choices: [],
      usage: {
        ...{ prompt_tokens: 592, completion_tokens: 89, total_tokens: 681 },
        prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 20 },
        completion_tokens_details: { reasoning_tokens: 0 },
        'x-svc-cost-usd': '0.25',
      },
    },
    '[DONE]',
  ]);
});

test("a stream of OpenAI's is told to a client of messages in its documented form", (t) => {
  const start = (index: number, block: object): object => ({
    type: 'content_block_start',
    index,
    content_block: block,
  });
  const delta = (index: number, type: string, value: object): object => ({
    ...{ type: 'content_block_delta', index },
    delta: { type, ...value },
  });
  const json = (index: number, text: string): object => delta(index, 'input_json_delta', { partial_json: text });
  const stop = (index: number): object => ({ type: 'content_block_stop', index });
  t.deepEqual(told('OpenAI', '/v1/messages', CHAT), [
    {
      type: 'message_start',
      message: {
        ...{ id: 'msg_req-1', type: 'message', role: 'assistant', model: 'named', content: [], stop_reason: null },
        stop_sequence: null,
        // Ours, since this dialect tells its own at the end.
        usage: { input_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
      },
    },
    start(0, { type: 'text', text: '' }),
    delta(0, 'text_delta', { text: 'I look' }),
    delta(0, 'text_delta', { text: ' at both.' }),
    stop(0),
    start(1, { type: 'tool_use', id: 'call_1', name: 'look', input: {} }),
    json(1, '{"at": "Os'),
    json(1, 'lo"}'),
    stop(1),
    start(2, { type: 'tool_use', id: 'call_2', name: 'look', input: {} }),
    json(2, '{"at": "Ulm"}'),
    stop(2),
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: {
        ...{ input_tokens: 492, cache_creation_input_tokens: 0, cache_read_input_tokens: 100, output_tokens: 89 },
        'x-svc-cost-usd': '0.25',
      },
    },
    { type: 'message_stop' },
  ]);
});

for (const [from, stream, ids] of [
  ['Anthropic', MESSAGE, ['toolu_1', 'toolu_2']],
  ['OpenAI', CHAT, ['call_1', 'call_2']],
] as const) {
  test(`a stream of ${from}'s is told to a client of responses in the documented order`, (t) => {
    const events = told(from, '/v1/responses', stream) as readonly Record<string, unknown>[];
    t.deepEqual(
      events.map((one) => one['sequence_number']),
      events.map((_, at) => at),
    );
    const thinking = [
      ...['output_item.added', 'reasoning_summary_part.added', 'reasoning_summary_text.delta'],
      ...['reasoning_summary_text.done', 'reasoning_summary_part.done', 'output_item.done'],
    ];
    const text = [
      ...['output_item.added', 'content_part.added', 'output_text.delta', 'output_text.delta', 'output_text.done'],
      ...['content_part.done', 'output_item.done'],
    ];
    const called = (deltas: number): string[] => [
      'output_item.added',
      ...Array.from({ length: deltas }, () => 'function_call_arguments.delta'),
      ...['function_call_arguments.done', 'output_item.done'],
    ];
    t.deepEqual(
      events.map(({ type }) => String(type).replace('response.', '')),
      [
        ...['created', 'in_progress', ...(from === 'Anthropic' ? thinking : []), ...text, ...called(2), ...called(1)],
        'completed',
      ],
    );
    const last = events.at(-1)?.['response'] as { readonly output: readonly object[]; readonly usage: object };
    const [say, ...calls] = from === 'Anthropic' ? last.output.slice(1) : last.output;
    t.like(say, { type: 'message', role: 'assistant', status: 'completed' });
    t.like(say, { content: [{ type: 'output_text', text: 'I look at both.', annotations: [] }] });
    const ended = { type: 'function_call', status: 'completed', name: 'look' };
    t.like(calls[0], { ...ended, call_id: ids[0], arguments: '{"at": "Oslo"}' });
    t.like(calls[1], { ...ended, call_id: ids[1], arguments: '{"at": "Ulm"}' });
    t.like(last.usage, { input_tokens: 592, input_tokens_details: { cached_tokens: 100 }, output_tokens: 89 });
    // What is done has what was told before.
    const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    t.deepEqual(done, last.output);
  });
}
