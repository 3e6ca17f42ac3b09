import test from 'ava';
import type { Operation } from '../../../../src/engines/inference/dialects/dialect.js';
import { openai } from '../../../../src/engines/inference/dialects/openai/index.js';
import { refusalOf, requestOf } from './support.js';

const CHAT = '/v1/chat/completions';
const HELLO = [{ role: 'user', content: 'Hello!' }];
const chat = (members: object = {}) => requestOf(openai, CHAT, { model: 'm', messages: HELLO, ...members });

/** Bodies as the vendor documents them. */
test('a chat is read as its documentation shows it', (t) => {
  const body = {
    model: 'gpt-5.4',
    messages: [
      { role: 'developer', content: 'You are a helpful assistant.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is in this image?' },
          { type: 'image_url', image_url: { url: 'https://example.com/boardwalk.jpg', detail: 'high' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '22 degrees' },
    ],
    tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } }],
    tool_choice: 'auto',
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } },
    reasoning_effort: 'low',
    max_completion_tokens: 300,
    n: 2,
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
    a_member_of_tomorrow: { kept: true },
  };
  const request = requestOf(openai, CHAT, body);
  t.like(request, {
    operation: CHAT,
    model: 'gpt-5.4',
    stream: true,
    wantsUsage: true,
    maxOutputTokens: 300,
    answers: 2,
    images: 2,
    imageCharacters: 'data:image/png;base64,iVBORw0KGgo='.length,
    longCache: false,
  });
  t.deepEqual(
    [...request.features],
    [
      ['Images', 'messages[1].content[1]'],
      ['Tools', 'tools'],
      ['JSONSchema', 'response_format'],
      ['Reasoning', 'reasoning_effort'],
    ],
  );
  const texts = [...request.texts()].join('\n');
  for (const text of [
    'helpful assistant',
    'What is in this image?',
    '"arguments":"{}"',
    '22 degrees',
    'get_weather',
    'json_schema',
  ]) {
    t.true(texts.includes(text), text);
  }
  t.false(texts.includes('iVBOR'), 'images are no text');
  t.is(request.body, body, 'the body goes on as it was sent');
});

test('an upstream gets its own name of the model and is asked for usage; nothing else of the body changes', (t) => {
  const members = { stream: true, stream_options: { include_obfuscation: false }, seed: 7 };
  const encoded = (given: object): unknown =>
    JSON.parse(JSON.stringify(openai.upstreamBody(chat(given), 'org/upstream:latest')));
  const whole = { model: 'org/upstream:latest', messages: HELLO };
  t.deepEqual(encoded({ stream: false, x: 'é' }), { ...whole, stream: false, x: 'é' });
  t.deepEqual(encoded(members), {
    ...whole,
    ...members,
    stream_options: { include_obfuscation: false, include_usage: true },
  });
  t.deepEqual(encoded({ stream: true }), { ...whole, stream: true, stream_options: { include_usage: true } });
  t.false(chat(members).wantsUsage, 'the client has not asked');
});

test('completions and embeddings take texts, lists of them, and tokens', (t) => {
  const completion = (prompt: unknown, members: object = {}) =>
    requestOf(openai, '/v1/completions', { model: 'm', prompt, ...members });
  t.is(completion('Say this is a test', { max_tokens: 7 }).maxOutputTokens, 7);
  t.is(completion('a').answers, 1);
  t.is(completion(['a', 'b', 'c'], { n: 2 }).answers, 6, 'each prompt is answered');
  t.is(completion(['a', 'b'], { best_of: 5, n: 2 }).answers, 10, 'all candidates are paid');
  t.is(completion([1, 2, 3]).answers, 1, 'tokens of one prompt');
  t.is(completion([[1, 2], [3]]).answers, 2);
  const embedding = (input: unknown) => requestOf(openai, '/v1/embeddings', { model: 'm', input });
  t.like(embedding('The food was delicious'), { answers: 0, maxOutputTokens: undefined, stream: false });
  t.deepEqual([...embedding(['one', 'two']).texts()], ['one', 'two']);
  t.deepEqual([...embedding([91, 92]).texts()], ['[91,92]']);
  t.is(embedding(Array.from({ length: 2_048 }, () => 'x')).answers, 0);
  t.is(embedding(Array.from({ length: 2_048 }, () => 'x')).inputs, 2_048, 'each has a context of its own');
  t.is(embedding([91, 92]).inputs, 1);
  t.is(completion(['a', 'b', 'c'], { n: 2 }).inputs, 3);
  t.is(chat({}).inputs, 1);
});

test('what is left out may as well be null, and choices that change no price pass', (t) => {
  const nothing = { stream: null, stream_options: null, n: null, max_tokens: null, tools: null, modalities: null };
  t.like(chat({ ...nothing, store: false, service_tier: 'auto', modalities: ['text'], audio: null }), {
    stream: false,
    answers: 1,
    maxOutputTokens: undefined,
  });
  t.is(chat({ max_tokens: 5, max_completion_tokens: 5 }).maxOutputTokens, 5);
  const none = { tools: [], tool_choice: 'none', response_format: { type: 'text' }, reasoning_effort: 'none' };
  t.is(chat(none).features.size, 0);
  t.deepEqual([...chat({ functions: [{ name: 'f' }] }).features], [['Tools', 'functions']]);
  t.deepEqual([...chat({ tools: [{ type: 'custom', custom: { name: 'sql' } }] }).features], [['Tools', 'tools']]);
});

test('what could cost more, go elsewhere, or reach what others have stored is refused, by the name of the field', (t) => {
  const part = (content: object) => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, content] }] });
  const cases: readonly (readonly [
    operation: Operation,
    members: object,
    param: string | undefined,
    message: RegExp,
  ])[] = [
    [CHAT, { model: '' }, 'model', /string of 1 to 200 characters/],
    [CHAT, { model: 'm'.repeat(201) }, 'model', /1 to 200/],
    [CHAT, { model: 7 }, 'model', /string/],
    [CHAT, { stream: 'yes' }, 'stream', /true or false/],
    [CHAT, { stream_options: 'usage' }, 'stream_options', /object/],
    [CHAT, { messages: [] }, 'messages', /at least one message/],
    [CHAT, { messages: 'Hello' }, 'messages', /list/],
    [CHAT, { max_tokens: 0 }, 'max_tokens', /whole number between 1 and/],
    [CHAT, { max_completion_tokens: 1.5 }, 'max_completion_tokens', /whole number/],
    [CHAT, { max_completion_tokens: 1e300 }, 'max_completion_tokens', /whole number/],
    [CHAT, { max_completion_tokens: 5, max_tokens: 6 }, 'max_tokens', /agree with max_completion_tokens/],
    [CHAT, { n: 129 }, 'n', /between 1 and 128/],
    [CHAT, { n: '2' }, 'n', /whole number/],
    [CHAT, { best_of: 0 }, 'best_of', /whole number/],
    [CHAT, { max_tokens: 1, n_predict: 8_000 }, 'n_predict', /set max_tokens or n/],
    [CHAT, { max_tokens: 1, 'max-tokens': 8_000 }, 'max-tokens', /set max_tokens or n/],
    [CHAT, { max_tokens: 1, 'max_token\u017f': 8_000 }, 'max_token\u017f', /small letters/],
    [CHAT, { Stream: true }, 'Stream', /small letters/],
    [CHAT, { messages: [{ role: 'user', Content: 'a' }] }, 'messages[0].Content', /small letters/],
    [
      CHAT,
      part({ type: 'image_url', image_url: { url: 'data:,', URL: 'http://x' } }),
      'messages[0].content[1].URL',
      /small/,
    ],
    [CHAT, part({ type: 'image', source: { url: 'http://x' } }), 'messages[0].content[1]', /not known what they hold/],
    [CHAT, { options: { num_predict: 8_000 } }, 'options', /set max_tokens or n/],
    [CHAT, { use_beam_search: true }, 'use_beam_search', /set max_tokens or n/],
    [CHAT, { api_base: 'http://x' }, 'api_base', /where it goes is set by the service/],
    [CHAT, { base_url: 'http://x' }, 'base_url', /Remove it/],
    [CHAT, { baseurl: 'http://x' }, 'baseurl', /Remove it/],
    [CHAT, { baseURL: 'http://x' }, 'baseURL', /small letters/],
    [CHAT, { api_key: 'k' }, 'api_key', /Remove it/],
    [CHAT, { extra_headers: {} }, 'extra_headers', /Remove it/],
    [CHAT, { fallbacks: ['dearer'] }, 'fallbacks', /Remove it/],
    [CHAT, { models: ['dearer'] }, 'models', /Remove it/],
    [CHAT, { aws_secret_access_key: 'k' }, 'aws_secret_access_key', /Remove it/],
    [CHAT, { store: true }, 'store', /prompts are not stored/],
    [CHAT, { service_tier: 'priority' }, 'service_tier', /"auto" or "default"/],
    [CHAT, { service_tier: 'flex' }, 'service_tier', /one price/],
    [CHAT, { web_search_options: {} }, 'web_search_options', /no price/],
    [CHAT, { search_parameters: {} }, 'search_parameters', /no price/],
    [CHAT, { data_sources: [] }, 'data_sources', /no price/],
    [CHAT, { enable_code_interpreter: true }, 'enable_code_interpreter', /no price/],
    [CHAT, { conversation: 'conv_1' }, 'conversation', /nothing is kept/],
    [CHAT, { previous_response_id: 'resp_1' }, 'previous_response_id', /nothing is kept/],
    [CHAT, { lora_path: 'x' }, 'lora_path', /set by the service/],
    [CHAT, { input: 'also' }, 'input', /takes messages/],
    ['/v1/embeddings', { input: 'a', messages: [{ role: 'user', content: 'b' }] }, 'messages', /takes input/],
    [CHAT, { tools: { type: 'web_search' } }, 'tools', /list/],
    [CHAT, { tools: ['web_search'] }, 'tools[0]', /object/],
    [CHAT, { tools: [{ googleSearch: {} }] }, 'tools[0].type', /no price/],
    [
      CHAT,
      { tools: [{ type: 'function', function: { name: 'f' }, web_search: {} }] },
      'tools[0].web_search',
      /no member/,
    ],
    [CHAT, { messages: [{ role: 'user', content: { type: 'image_url' } }] }, 'messages[0].content', /list of parts/],
    [CHAT, { modalities: ['text', 'audio'] }, 'modalities', /only text/],
    [CHAT, { audio: { voice: 'alloy', format: 'wav' } }, 'audio', /only text/],
    [CHAT, { tools: [{ type: 'function' }, { type: 'web_search' }] }, 'tools[1].type', /no price/],
    [CHAT, part({ type: 'input_audio', input_audio: { data: '' } }), 'messages[0].content[1]', /no price for audio/],
    [CHAT, part({ video_url: { url: 'x' } }), 'messages[0].content[1]', /no price/],
    [CHAT, part({ type: 'file', file: { file_id: 'file-1' } }), 'messages[0].content[1]', /stored file/],
    ['/v1/completions', {}, 'prompt', /string/],
    ['/v1/completions', { prompt: [] }, 'prompt', /not empty/],
    ['/v1/completions', { prompt: ['a', 1] }, 'prompt', /strings in it/],
    ['/v1/embeddings', { input: Array.from({ length: 2_049 }, () => 'x') }, 'input', /at most 2048/],
    ['/v1/embeddings', { input: { text: 'a' } }, 'input', /list of strings/],
    ['/v1/embeddings', { input: 'a', stream: true }, 'stream', /not streamed/],
  ];
  for (const [operation, members, param, message] of cases) {
    const body = { model: 'm', ...(operation === CHAT ? { messages: HELLO } : {}), ...members };
    const refusal = refusalOf(openai, operation, body);
    const label = JSON.stringify(members).slice(0, 80);
    t.is(refusal?.param, param, label);
    t.regex(refusal?.message ?? '', message, label);
    t.true(param === undefined || refusal?.message.startsWith(param), `${label}: the message names the field`);
  }
  for (const body of [null, [], 'a', 1, true])
    t.regex(refusalOf(openai, CHAT, body)?.message ?? '', /must be a JSON object/);
  const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
  t.regex(refusalOf(openai, CHAT, { model: 'm', messages: HELLO, deep })?.message ?? '', /deeper than 128/);
});

test('text cannot be hidden from the count behind an image, in a role, or in a member that nobody here knows', (t) => {
  const secret = 'count me '.repeat(10);
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
  for (const members of [
    { messages: [{ role: 'user', content: [{ ...image, text: secret }] }] },
    { messages: [{ role: 'user', content: [{ ...image, image_url: { url: 'data:,', detail: secret } }] }] },
    { messages: [{ role: secret, content: 'a' }] },
    { messages: [{ role: 'user', content: 'a', name: secret }] },
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', other: [secret] }] }] },
    { documents: [{ text: secret }] },
    { system: [{ type: 'text', text: secret }] },
  ]) {
    const texts = [...chat(members).texts()];
    t.true(
      texts.some((text) => text.includes(secret)),
      JSON.stringify(members).slice(0, 80),
    );
  }
});

test('a document counts as many images, since its bytes say nothing of its tokens', (t) => {
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } };
  t.like(chat({ messages: [{ role: 'user', content: [file] }] }), { images: 200, imageCharacters: 32 });
});
