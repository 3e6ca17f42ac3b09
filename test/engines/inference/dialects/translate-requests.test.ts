/** Requests between dialects: what both can say comes over as it was. */
import test from 'ava';
import fc from 'fast-check';
import { readMessages } from '../../../../src/engines/inference/dialects/anthropic/read-conversation.js';
import { writeMessages } from '../../../../src/engines/inference/dialects/anthropic/write-conversation.js';
import type { Conversation } from '../../../../src/engines/inference/dialects/conversation.js';
import { readChat } from '../../../../src/engines/inference/dialects/openai/read-conversation.js';
import { writeChat } from '../../../../src/engines/inference/dialects/openai/write-conversation.js';
import { writeEncrypted } from '../../../../src/engines/inference/dialects/responses/encrypted.js';
import { translateRequest, type ChatOperation } from '../../../../src/engines/inference/dialects/translate.js';
import { conversations } from './conversations.js';
import { tries } from '../../../support/extent.js';

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const RESPONSES = '/v1/responses';
const OPTIONS = { maxTokensMember: 'max_tokens', thinking: 'budget', maxOutputTokens: 1_000, stream: false } as const;

/** Places in the body are another matter. */
function plain(conversation: Conversation): unknown {
  return JSON.parse(JSON.stringify(conversation, (key, value: unknown) => (key === 'at' ? undefined : value)));
}

/** A format has a name in one dialect alone, and is always strict in the other. */
function unnamed(conversation: Conversation): Conversation {
  const { format } = conversation;
  return format === undefined
    ? conversation
    : { ...conversation, format: { ...format, name: undefined, strict: true } };
}

test('what both dialects can say is the same after it was written and read in either', (t) => {
  fc.assert(
    fc.property(conversations, (conversation) => {
      const chat = readChat(JSON.parse(JSON.stringify(writeChat(conversation, OPTIONS))) as Record<string, unknown>);
      t.deepEqual(plain(unnamed(chat)), plain(conversation));
      const written = writeMessages(conversation, OPTIONS);
      const message = readMessages(JSON.parse(JSON.stringify(written)) as Record<string, unknown>);
      t.deepEqual(plain(message), plain(conversation));
    }),
    { numRuns: tries(200) },
  );
});

function translated(
  operation: ChatOperation,
  body: object,
  to: 'OpenAI' | 'Anthropic',
  more = {},
): Record<string, unknown> {
  const result = translateRequest(operation, { model: 'm', ...body }, to, { ...OPTIONS, ...more });
  if (result.outcome === 'CannotCarry') throw new Error(result.fault.message);
  return result.body;
}

const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

test("a chat with tools becomes Anthropic's documented form: all results of a turn in one message, before any text", (t) => {
  const call = (id: string, city: string) => ({
    id,
    type: 'function',
    function: { name: 'weather', arguments: JSON.stringify({ city }) },
  });
  const body = translated(
    CHAT,
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Paris and Rome?' },
        { role: 'assistant', content: '', tool_calls: [call('a', 'Paris'), call('b', 'Rome')] },
        { role: 'tool', tool_call_id: 'a', content: '20' },
        { role: 'tool', tool_call_id: 'b', content: '' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'And?' },
            { type: 'text', text: ' ' },
          ],
        },
      ],
      tools: [{ type: 'function', function: { name: 'weather', description: 'Weather', parameters: WEATHER } }],
      tool_choice: 'required',
      ...{
        parallel_tool_calls: false,
        max_completion_tokens: 50,
        temperature: 0.7,
        stop: 'END',
        user: 'me@example.com',
      },
    },
    'Anthropic',
  );
  const { metadata, ...rest } = body;
  t.deepEqual(rest, {
    max_tokens: 50,
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Paris and Rome?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Paris' } },
          { type: 'tool_use', id: 'b', name: 'weather', input: { city: 'Rome' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: '20' }] },
          { type: 'tool_result', tool_use_id: 'b' },
          { type: 'text', text: 'And?' },
        ],
      },
    ],
    tools: [{ name: 'weather', description: 'Weather', input_schema: WEATHER }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    temperature: 0.7,
    stop_sequences: ['END'],
  });
  t.regex((metadata as { user_id: string }).user_id, /^[0-9a-f]{64}$/, 'nobody is told who it is');
});

test("a message with images in results becomes OpenAI's form: results are texts, and a message of the user shows the image", (t) => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
  const body = translated(
    MESSAGES,
    {
      max_tokens: 9,
      system: [
        { type: 'text', text: 'A', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'B' },
      ],
      messages: [
        { role: 'user', content: 'Look' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 't1', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Now?' },
            { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'a picture' }, image] },
            { type: 'tool_result', tool_use_id: 't2', content: 'gone', is_error: true },
          ],
        },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 4_000 },
      metadata: { user_id: 'u' },
    },
    'OpenAI',
    { stream: true },
  );
  t.deepEqual(body, {
    messages: [
      { role: 'system', content: 'A\n\nB' },
      { role: 'user', content: 'Look' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: 't1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 't1', content: 'a picture' },
      { role: 'tool', tool_call_id: 't2', content: 'Error: gone' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Shown by the call t1:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          { type: 'text', text: 'Now?' },
        ],
      },
    ],
    max_tokens: 9,
    tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    ...{ tool_choice: 'auto', parallel_tool_calls: false, reasoning_effort: 'medium', user: 'u' },
    ...{ stream: true, stream_options: { include_usage: true } },
  });
});

test('thinking goes back to its vendor with its signature, without one to nobody, and is left out within a turn that lost it', (t) => {
  const asked = (blocks: object) => ({
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        ...blocks,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '1' },
    ],
    ...{ max_tokens: 4_000, reasoning_effort: 'low' },
  });
  const signed = translated(
    CHAT,
    asked({ thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }] }),
    'Anthropic',
  );
  t.deepEqual(signed['thinking'], { type: 'enabled', budget_tokens: 1_024 });
  const [, assistant] = signed['messages'] as { content: unknown[] }[];
  t.deepEqual(assistant?.content, [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'tool_use', id: 'a', name: 'f', input: {} },
  ]);
  const lost = translated(CHAT, asked({ reasoning_content: 'hm' }), 'Anthropic');
  t.is(lost['thinking'], undefined);
  t.false(JSON.stringify(lost).includes('hm'));
  const adaptive = { thinking: 'adaptive' } as const;
  const told = translated(
    CHAT,
    { messages: [{ role: 'user', content: 'Hi' }], reasoning_effort: 'high' },
    'Anthropic',
    adaptive,
  );
  t.like(told, { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } });
  const item = {
    type: 'reasoning',
    id: 'rs',
    summary: [],
    encrypted_content: writeEncrypted({ thinking: 'hm', signature: 's' }),
  };
  const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'a', output: '1' };
  const input = ['Hi'].map((content) => ({ role: 'user', content }));
  const stateless = { input: [...input, item, call, output], max_output_tokens: 4_000, reasoning: { effort: 'low' } };
  const back = translated(RESPONSES, stateless, 'Anthropic');
  t.deepEqual((back['messages'] as { content: unknown[] }[])[1]?.content, assistant?.content);
  t.false(JSON.stringify(translated(RESPONSES, stateless, 'OpenAI')).includes('hm'));
});

test('a response is asked of either dialect, with its instructions, items, tools and format', (t) => {
  const asked = {
    instructions: 'Be brief.',
    input: [
      { role: 'developer', content: 'In French.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Weather?' },
          { type: 'input_image', image_url: 'https://x.example/a.png' },
        ],
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I ask.', annotations: [] }] },
      { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'function_call_output', call_id: 'c', output: 'warm' },
    ],
    tools: [{ type: 'function', name: 'weather', description: null, parameters: WEATHER, strict: true }],
    tool_choice: { type: 'function', name: 'weather' },
    text: { format: { type: 'json_schema', name: 'answer', schema: WEATHER, strict: true } },
    ...{ max_output_tokens: 77, store: false, include: ['reasoning.encrypted_content'], truncation: 'disabled' },
  };
  t.deepEqual(translated(RESPONSES, asked, 'OpenAI', { maxTokensMember: 'max_completion_tokens' }), {
    messages: [
      { role: 'system', content: 'Be brief.\n\nIn French.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Weather?' },
          { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
        ],
      },
      {
        role: 'assistant',
        content: 'I ask.',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'warm' },
    ],
    max_completion_tokens: 77,
    tools: [{ type: 'function', function: { name: 'weather', parameters: WEATHER, strict: true } }],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: WEATHER, strict: true } },
  });
  t.like(translated(RESPONSES, asked, 'Anthropic'), {
    ...{ max_tokens: 77, tool_choice: { type: 'tool', name: 'weather' } },
    output_config: { format: { type: 'json_schema', schema: WEATHER } },
  });
  t.deepEqual(translated(RESPONSES, { input: 'Hi' }, 'OpenAI'), {
    messages: [{ role: 'user', content: 'Hi' }],
  });
});

test('of the tools of a chat those that are allowed go over', (t) => {
  const tools = ['a', 'b'].map((name) => ({ type: 'function', function: { name, parameters: WEATHER } }));
  const allowed = { mode: 'required', tools: [{ type: 'function', function: { name: 'b' } }] };
  const body = translated(
    CHAT,
    {
      messages: [{ role: 'user', content: 'Hi' }],
      tools,
      tool_choice: { type: 'allowed_tools', allowed_tools: allowed },
    },
    'Anthropic',
  );
  t.deepEqual(
    (body['tools'] as { name: string }[]).map(({ name }) => name),
    ['b'],
  );
  t.deepEqual(body['tool_choice'], { type: 'any' });
});

test('effort goes over without thinking too, and ids of calls that the other dialect would not take stay the same on both sides', (t) => {
  const hi = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 500 };
  const { reasoning_effort: effort } = translated(MESSAGES, { ...hi, output_config: { effort: 'low' } }, 'OpenAI');
  t.is(effort, 'low');
  const call = { id: 'c|:weird id', type: 'function', function: { name: 'a', arguments: '{}' } };
  const { messages } = translated(
    CHAT,
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'x' },
      ],
      tools: [{ type: 'function', function: { name: 'a' } }],
    },
    'Anthropic',
  ) as { messages: { content: { id?: string; tool_use_id?: string }[] }[] };
  const made = messages[1]?.content[0]?.id ?? '';
  t.regex(made, /^[\w-]+$/);
  t.is(messages[2]?.content[0]?.tool_use_id, made);
});
