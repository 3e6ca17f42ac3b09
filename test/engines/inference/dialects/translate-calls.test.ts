/** Calls of tools between dialects: whole, each by itself, however an upstream sends their pieces. */
import test from 'ava';
import type { AnswerEvent } from '../../../../src/engines/inference/dialects/answer-event.js';
import { writeMessageStream } from '../../../../src/engines/inference/dialects/anthropic/write-answer.js';
import { BrokenStreamError } from '../../../../src/engines/inference/dialects/dialect.js';
import { translateAnswer } from '../../../../src/engines/inference/dialects/translate.js';
import { ABOUT, chunk, follow, free, normal, READERS, sse, STOPS, usageOf } from './reading-clients.js';

const piece = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] });

test('calls of tools whose pieces come in turns are told one after the other', async (t) => {
  const stream = [
    piece(0, { id: 'a', type: 'function', function: { name: 'one', arguments: '' } }),
    piece(1, { id: 'b', type: 'function', function: { name: 'two', arguments: '{"y"' } }),
    piece(0, { function: { arguments: '{"x":' } }),
    piece(1, { function: { arguments: ':2}' } }),
    piece(0, { function: { arguments: '1}' } }),
    piece(2, { function: { name: 'three', arguments: '' } }),
    chunk({}, 'tool_calls'),
    sse({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 } }),
    'data: [DONE]\n\n',
  ].join('');
  for (const to of ['/v1/messages', '/v1/responses'] as const) {
    const { out } = follow('OpenAI', to, [Buffer.from(stream)]);
    t.deepEqual(normal(await READERS[to](out)), {
      ...{ thinking: '', text: '', stop: STOPS[to]['Tool'] },
      calls: [
        { name: 'one', input: { x: 1 } },
        { name: 'two', input: { y: 2 } },
        { name: 'three', input: {} },
      ],
      usage: [5, 9, 0],
    });
  }
});

test('a call without arguments has an empty object in every dialect, or its client would not carry it out', async (t) => {
  const writer = writeMessageStream({ ...ABOUT, id: 'up' }, free);
  const events: readonly AnswerEvent[] = [
    { type: 'ToolCall', id: 'a', name: 'now' },
    { type: 'ToolCall', id: 'b', name: 'look' },
    { type: 'Arguments', json: '{"at":1}' },
    { type: 'ToolCall', id: 'c', name: 'last' },
    { type: 'Finish', finish: 'Tool' },
  ];
  const upstream = writer.begin() + events.map((event) => writer.event(event)).join('');
  const stream = Buffer.from(upstream + writer.end(usageOf(events), 0, false));
  for (const to of ['/v1/chat/completions', '/v1/responses'] as const) {
    const { calls } = await READERS[to](follow('Anthropic', to, [stream]).out);
    t.deepEqual(
      calls.map(({ json }) => json),
      ['{}', '{"at":1}', '{}'],
      to,
    );
  }
});

test('a call that is to be carried out and has arguments that are no JSON object is no answer; one that was cut off has none', (t) => {
  const call = (json: string): object => ({
    index: 0,
    id: 'a',
    type: 'function',
    function: { name: 'look', arguments: json },
  });
  const streamed = (json: string, finish: string): Buffer[] => [
    Buffer.from(`${chunk({ tool_calls: [call(json)] })}${chunk({}, finish)}data: [DONE]\n\n`),
  ];
  const whole = (json: string, finish: string): object => ({
    choices: [{ index: 0, message: { role: 'assistant', tool_calls: [call(json)] }, finish_reason: finish }],
  });
  for (const json of ['{"a":"x', '[1]', '7'])
    for (const to of ['/v1/messages', '/v1/responses'] as const) {
      t.throws(() => follow('OpenAI', to, streamed(json, 'tool_calls')), { instanceOf: BrokenStreamError });
      t.throws(() => translateAnswer('OpenAI', to, whole(json, 'tool_calls'), ABOUT), {
        instanceOf: BrokenStreamError,
      });
    }
  const cut = translateAnswer('OpenAI', '/v1/messages', whole('{"a":"x', 'length'), ABOUT).body;
  t.deepEqual((cut['content'] as { input: unknown }[])[0]?.input, {});
  t.is(follow('OpenAI', '/v1/messages', streamed('{"a":"x', 'length')).follower.state.is, 'Complete');
});

test('calls of one index, or of none, are told apart by their ids and names, and what is said between pieces of a call comes behind it', async (t) => {
  const call = (json: string, more: object, name?: string): string =>
    chunk({ tool_calls: [{ ...more, function: { arguments: json, ...(name === undefined ? {} : { name }) } }] });
  const end = `${chunk({}, 'tool_calls')}data: [DONE]\n\n`;
  const read = (...pieces: readonly string[]) =>
    READERS['/v1/messages'](follow('OpenAI', '/v1/messages', [Buffer.from(pieces.join('') + end)]).out);
  const two = [
    { name: 'look', json: '{"a":1}' },
    { name: 'look', json: '{"a":2}' },
  ];
  const one = { index: 0 };
  t.deepEqual(
    (await read(call('{"a":1}', { ...one, id: 'x' }, 'look'), call('{"a":2}', { ...one, id: 'y' }, 'look'))).calls,
    two,
  );
  t.deepEqual((await read(call('{"a":1}', {}, 'look'), call('{"a":2}', {}, 'look'))).calls, two);
  // Some repeat the id, or the name, with each piece.
  const again = await read(call('{"a"', { ...one, id: 'x' }, 'look'), call(':1}', { ...one, id: 'x' }, 'look'));
  t.deepEqual(again.calls, [two[0]]);
  const between = await read(call('{"a":', { ...one, id: 'x' }, 'look'), chunk({ content: 'mid' }), call('1}', one));
  t.deepEqual(between.calls, [two[0]]);
  t.is(between.text, 'mid');
  t.throws(
    () =>
      follow('OpenAI', '/v1/messages', [
        Buffer.from(
          call('{"a":1}', { index: 0, id: 'x' }, 'look') + call('{}', { index: 1, id: 'y' }, 'look') + call('}', one),
        ),
      ]),
    { instanceOf: BrokenStreamError },
  );
});

test('a call or a text within which a response ends is shown as incomplete, so that no client carries it out', (t) => {
  const call = piece(0, { id: 'a', type: 'function', function: { name: 'look', arguments: '{"x":' } });
  const statuses = (out: string): readonly string[] =>
    [...out.matchAll(/"type":"(?:function_call|message)"[^{}]*?"status":"(\w+)"/g)].map(([, status = '']) => status);
  const cut = follow('OpenAI', '/v1/responses', [Buffer.from(`${call}${chunk({}, 'length')}data: [DONE]\n\n`)]).out;
  t.deepEqual(statuses(cut), ['in_progress', 'incomplete', 'incomplete']);
  const whole = { choices: [{ message: { role: 'assistant', content: 'half' }, finish_reason: 'length' }] };
  const [message] = translateAnswer('OpenAI', '/v1/responses', whole, ABOUT).body['output'] as { status: string }[];
  t.is(message?.status, 'incomplete');
});

test('pieces of blocks that are not told one after the other are no answer: they would be taken for those of another call', (t) => {
  const event = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const begin = (index: number, name: string): string =>
    event('content_block_start', { index, content_block: { type: 'tool_use', id: `t${index}`, name, input: {} } });
  const delta = (index: number, json: string): string =>
    event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: json } });
  const start = event('message_start', { message: { usage: { input_tokens: 1, output_tokens: 1 } } });
  for (const to of ['/v1/chat/completions', '/v1/responses'] as const)
    t.throws(
      () => follow('Anthropic', to, [Buffer.from(start + begin(0, 'read') + begin(1, 'delete') + delta(0, '{"a":1}'))]),
      { instanceOf: BrokenStreamError },
    );
});

test('an answer without a message is none', (t) => {
  for (const answer of [{}, { choices: [] }, { choices: [null] }, { choices: [{ message: null }] }])
    t.throws(() => translateAnswer('OpenAI', '/v1/messages', answer, ABOUT), { instanceOf: BrokenStreamError });
  t.throws(() => translateAnswer('Anthropic', '/v1/responses', {}, ABOUT), { instanceOf: BrokenStreamError });
});
