/** What cannot be said in another dialect is refused by the name and place that the client used, and what changes no answer is left out. */
import test from 'ava';
import { translateRequest, type ChatOperation } from '../../../../src/engines/inference/dialects/translate.js';

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const RESPONSES = '/v1/responses';
const OPTIONS = { maxTokensMember: 'max_tokens', thinking: 'budget', maxOutputTokens: 1_000, stream: false } as const;

function translated(operation: ChatOperation, body: object, to: 'OpenAI' | 'Anthropic'): Record<string, unknown> {
  const result = translateRequest(operation, { model: 'm', ...body }, to, OPTIONS);
  if (result.outcome !== 'Body') throw new Error(result.fault.message);
  return result.body;
}

test('what cannot be carried over is refused by the name that the client has used', (t) => {
  const hi = { messages: [{ role: 'user', content: 'Hi' }] };
  const part = (content: object) => ({ messages: [{ role: 'user', content: [content] }] });
  const tool = (more: object) => ({ type: 'function', function: { name: 'a', ...more } });
  const PAPER = { type: 'base64', media_type: 'application/pdf', data: 'AA==' };
  const user = (block: object) => ({ max_tokens: 5, messages: [{ role: 'user', content: [block] }] });
  const cases: readonly (readonly [ChatOperation, 'OpenAI' | 'Anthropic', object, string])[] = [
    [CHAT, 'Anthropic', { ...hi, n: 2 }, 'n'],
    [CHAT, 'Anthropic', { ...hi, seed: 1 }, 'seed'],
    [CHAT, 'Anthropic', { ...hi, logprobs: true }, 'logprobs'],
    [CHAT, 'Anthropic', { ...hi, presence_penalty: 0.5 }, 'presence_penalty'],
    [CHAT, 'Anthropic', { ...hi, logit_bias: { 5: 1 } }, 'logit_bias'],
    [CHAT, 'Anthropic', { ...hi, something_new: 1 }, 'something_new'],
    [CHAT, 'Anthropic', { ...hi, response_format: { type: 'json_object' } }, 'response_format'],
    [CHAT, 'Anthropic', { ...hi, tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools[0].type'],
    [CHAT, 'Anthropic', { ...hi, max_tokens: 500, reasoning_effort: 'low' }, 'reasoning_effort'],
    [CHAT, 'Anthropic', { ...hi, reasoning_effort: 'low', max_tokens: 5_000, temperature: 0.2 }, 'temperature'],
    [
      CHAT,
      'Anthropic',
      {
        ...hi,
        reasoning_effort: 'low',
        tool_choice: 'required',
        tools: [{ type: 'function', function: { name: 'a' } }],
      },
      'reasoning_effort',
    ],
    [
      CHAT,
      'Anthropic',
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b' },
        ],
      },
      'messages',
    ],
    [CHAT, 'Anthropic', { messages: [{ role: 'user', content: ' ' }] }, 'messages'],
    [CHAT, 'Anthropic', { messages: [{ role: 'user', content: 'a', name: 'bob' }] }, 'messages[0].name'],
    [
      CHAT,
      'Anthropic',
      part({ type: 'image_url', image_url: { url: 'data:image/bmp;base64,AA==' } }),
      'messages[0].content[0]',
    ],
    [CHAT, 'Anthropic', part({ type: 'image_url', image_url: { url: 'ftp://x' } }), 'messages[0].content[0]'],
    [MESSAGES, 'OpenAI', { max_tokens: 5, ...hi, top_k: 3 }, 'top_k'],
    [
      MESSAGES,
      'OpenAI',
      { max_tokens: 5, messages: [...hi.messages, { role: 'assistant', content: '{' }] },
      'messages',
    ],
    [MESSAGES, 'OpenAI', { max_tokens: 5, ...hi, tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools[0].type'],
    [MESSAGES, 'OpenAI', user({ type: 'search_result', content: [] }), 'messages[0].content[0]'],
    [
      MESSAGES,
      'OpenAI',
      user({ type: 'document', source: { type: 'url', url: 'https://x/a.pdf' } }),
      'messages[0].content[0]',
    ],
    [
      MESSAGES,
      'OpenAI',
      user({ type: 'document', citations: { enabled: true }, source: { type: 'text', data: 'a' } }),
      'messages[0].content[0].citations',
    ],
    [CHAT, 'Anthropic', { ...hi, tools: [tool({ examples: [1] })] }, 'tools[0].function.examples'],
    [CHAT, 'Anthropic', { messages: [{ role: 'user', content: 'a', audio: { id: 'a' } }] }, 'messages[0].audio'],
    [CHAT, 'Anthropic', part({ type: 'text', text: 'a', weight: 2 }), 'messages[0].content[0].weight'],
    [
      CHAT,
      'Anthropic',
      part({ type: 'file', file: { file_url: 'https://x' } }),
      'messages[0].content[0].file.file_url',
    ],
    [
      MESSAGES,
      'OpenAI',
      user({ type: 'document', context: 'of 1999', source: PAPER }),
      'messages[0].content[0].context',
    ],
    [
      MESSAGES,
      'OpenAI',
      { max_tokens: 5, ...hi, tools: [{ name: 'a', defer_loading: true }] },
      'tools[0].defer_loading',
    ],
    [
      MESSAGES,
      'OpenAI',
      { max_tokens: 5, ...hi, tools: [{ name: 'a', input_examples: [{}] }] },
      'tools[0].input_examples',
    ],
    [MESSAGES, 'OpenAI', { max_tokens: 5, ...hi, output_config: { task_budget: {} } }, 'output_config.task_budget'],
    [RESPONSES, 'OpenAI', { input: [{ type: 'web_search_call' }] }, 'input[0].type'],
    [RESPONSES, 'OpenAI', { input: [{ role: 'user', content: 'a', weight: 2 }] }, 'input[0].weight'],
    [
      RESPONSES,
      'OpenAI',
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 'a', mood: 1 }] }] },
      'input[0].content[0].mood',
    ],
    [RESPONSES, 'OpenAI', { input: 'Hi', tools: [{ type: 'function', name: 'a', cached: 1 }] }, 'tools[0].cached'],
    [RESPONSES, 'OpenAI', { input: 'Hi', reasoning: { effort: 'low', mode: 'x' } }, 'reasoning.mode'],
    [RESPONSES, 'OpenAI', { input: 'Hi', top_logprobs: 3 }, 'top_logprobs'],
    [RESPONSES, 'Anthropic', { input: 'Hi', text: { verbosity: 'high' } }, 'text.verbosity'],
    [RESPONSES, 'Anthropic', { input: [{ role: 'assistant', content: 'a' }] }, 'input'],
  ];
  for (const [operation, to, body, param] of cases) {
    const result = translateRequest(operation, { model: 'm', ...body }, to, OPTIONS);
    const label = JSON.stringify(body).slice(0, 100);
    t.is(result.outcome === 'CannotCarry' ? result.fault.param : 'carried', param, label);
    t.true(result.outcome === 'CannotCarry' && result.fault.message.startsWith(param), label);
  }
  // Hints, and what says nothing.
  const hints = {
    n: 1,
    logprobs: false,
    presence_penalty: 0,
    store: false,
    prompt_cache_key: 'k',
    metadata: {},
    top_p: null,
  };
  t.deepEqual(translated(CHAT, { ...hi, ...hints }, 'Anthropic'), {
    max_tokens: 1_000,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
  const edits = { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } };
  t.deepEqual(translated(MESSAGES, { max_tokens: 5, ...hi, ...edits }, 'OpenAI'), { ...hi, max_tokens: 5 });
});

test('what answers carry beside what they say may come back, and the name of a tool beside its result', (t) => {
  const chat = [
    { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] },
    {
      ...{ role: 'assistant', content: 'So', refusal: null, annotations: [], audio: null, function_call: null },
      ...{ reasoning_content: 'hm', reasoning: 'hm', reasoning_details: [{}], parsed: null },
      tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'a', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', name: 'a', content: 'done' },
  ];
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'So', citations: null },
        { type: 'tool_use', id: 'c1', name: 'a', input: {}, caller: { type: 'direct' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'done', is_error: false }] },
  ];
  const input = [
    { role: 'user', content: 'Hi' },
    {
      ...{ type: 'message', id: 'm', status: 'completed', role: 'assistant', phase: 'commentary' },
      content: [{ type: 'output_text', text: 'So', annotations: [], logprobs: [] }],
    },
    { type: 'function_call', id: 'f', status: 'completed', call_id: 'c1', name: 'a', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'done' },
  ];
  const tool = { name: 'a', input_schema: {}, defer_loading: false, allowed_callers: ['direct'] };
  const told = [
    translated(CHAT, { messages: chat }, 'Anthropic'),
    translated(RESPONSES, { input }, 'Anthropic'),
    translated(MESSAGES, { max_tokens: 5, messages, tools: [tool] }, 'OpenAI'),
  ];
  t.deepEqual(
    told.map(({ messages: said }) => (said as unknown[]).length),
    [3, 3, 3],
  );
});
