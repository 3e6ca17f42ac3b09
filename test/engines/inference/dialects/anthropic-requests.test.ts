import test from 'ava';
import { anthropic } from '../../../../src/engines/inference/dialects/anthropic/index.js';
import { refusalOf, requestOf } from './support.js';

const MESSAGES = '/v1/messages';
const COUNT = '/v1/messages/count_tokens';
const base = { model: 'm', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello, Claude' }] };
const message = (members: object = {}) => requestOf(anthropic, MESSAGES, { ...base, ...members });
const content = (...blocks: object[]) => ({ messages: [{ role: 'user', content: blocks }] });

const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/4AAQSkZJRg==' } };

test('a message is read as its documentation shows it', (t) => {
  const body = {
    model: 'claude-sonnet-4-5',
    max_tokens: 16000,
    stream: true,
    thinking: { type: 'enabled', budget_tokens: 10000 },
    system: [{ type: 'text', text: 'You are an AI assistant.', cache_control: { type: 'ephemeral' } }],
    tools: [{ name: 'get_weather', description: 'The weather', input_schema: { type: 'object', properties: {} } }],
    tool_choice: { type: 'auto' },
    output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    messages: [
      { role: 'user', content: [IMAGE, { type: 'text', text: 'Describe this image.' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { location: 'Paris' } }],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [
              { type: 'text', text: '15 degrees' },
              { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            ],
          },
        ],
      },
    ],
    metadata: { user_id: '13803d75-b4b5-4c3e-b2a2-6f21399b021b' },
  };
  const request = requestOf(anthropic, MESSAGES, body);
  t.like(request, {
    model: 'claude-sonnet-4-5',
    stream: true,
    wantsUsage: true,
    maxOutputTokens: 16000,
    answers: 1,
    images: 2,
    imageCharacters: 16,
    longCache: false,
  });
  t.deepEqual(
    [...request.features],
    [
      ['Images', 'messages[0].content[0]'],
      ['Tools', 'tools'],
      ['JSONSchema', 'output_config.format'],
      ['Reasoning', 'thinking'],
    ],
  );
  const texts = [...request.texts()].join('\n');
  for (const text of [
    'AI assistant',
    'The weather',
    'Describe this',
    '{"location":"Paris"}',
    '15 degrees',
    'json_schema',
  ]) {
    t.true(texts.includes(text), text);
  }
  t.false(texts.includes('/9j/'), 'images are no text');
  const encoded = JSON.parse(JSON.stringify(anthropic.upstreamBody(request, 'upstream'))) as object;
  t.deepEqual(encoded, { ...body, model: 'upstream' }, 'nothing but the name changes');
});

test('a count of tokens generates nothing, needs no max_tokens, and costs nothing', (t) => {
  const { max_tokens: _, ...body } = base;
  t.like(requestOf(anthropic, COUNT, body), { answers: 0, maxOutputTokens: undefined, stream: false });
  t.like(requestOf(anthropic, COUNT, base), { answers: 0, maxOutputTokens: undefined });
  t.is(refusalOf(anthropic, COUNT, { ...base, stream: true })?.param, 'stream');
  t.deepEqual(Object.values(anthropic.readUsage(COUNT, { input_tokens: 2095 }) ?? { none: 1 }), [0, 0, 0, 0, 0]);
});

test('images are found inside tool results and documents, and a document of pages counts as many', (t) => {
  const result = { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a' }, IMAGE] };
  t.deepEqual([...message(content(result)).features], [['Images', 'messages[0].content[0].content[1]']]);
  const inside = { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'page' }, IMAGE] } };
  t.like(message(content(inside)), { images: 1, imageCharacters: 16 });
  t.like(
    message(content({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } })),
    { images: 200, imageCharacters: 4 },
  );
  const text = {
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: 'all of it' },
    title: 'Report',
  };
  t.is(message(content(text)).images, 0);
  const texts = [...message(content(text)).texts()].join();
  t.true(texts.includes('all of it') && texts.includes('Report'));
  t.deepEqual(
    [...message(content(inside)).texts()].filter((one) => one.includes('/9j/')),
    [],
  );
});

test('cache writes of an hour are seen wherever they are asked for', (t) => {
  const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  for (const members of [
    hour,
    { system: [{ type: 'text', text: 'a', ...hour }] },
    { tools: [{ name: 'f', input_schema: {}, ...hour }] },
    content({ type: 'text', text: 'a', ...hour }),
    content({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a', ...hour }] }),
  ]) {
    t.true(message(members).longCache, JSON.stringify(members));
  }
  t.false(message({ cache_control: { type: 'ephemeral', ttl: '5m' } }).longCache);
  t.false(message({ system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }] }).longCache);
});

test('tools that the client carries out pass', (t) => {
  for (const type of [
    'custom',
    'bash_20250124',
    'text_editor_20250728',
    'computer_20251124',
    'memory_20250818',
    undefined,
    null,
  ]) {
    t.deepEqual([...message({ tools: [{ type, name: 'f' }] }).features], [['Tools', 'tools']], String(type));
  }
  t.is(message({ tools: [], tool_choice: { type: 'none' }, thinking: { type: 'disabled' } }).features.size, 0);
  t.deepEqual(
    [...message({ output_format: { type: 'json_schema' }, thinking: { type: 'adaptive' } }).features.keys()],
    ['JSONSchema', 'Reasoning'],
  );
});

test('what could cost more, go elsewhere, or reach what others have stored is refused, by the name of the field', (t) => {
  const cases: readonly (readonly [members: object, param: string, message: RegExp])[] = [
    [{ max_tokens: undefined }, 'max_tokens', /must be given/],
    [{ max_tokens: 0 }, 'max_tokens', /whole number/],
    [{ max_tokens: '5' }, 'max_tokens', /whole number/],
    [{ messages: [] }, 'messages', /at least one/],
    [{ stream: 1 }, 'stream', /true or false/],
    [{ tools: [{ Type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].Type', /small letters/],
    [{ tools: [{}] }, 'tools[0].type', /no price/],
    [{ tools: [{ name: 'f' }, { type: 'web_search_20250305', name: 'web_search' }] }, 'tools[1].type', /no price/],
    [{ tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }, 'tools[0].type', /no price/],
    [{ tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }, 'tools[0].type', /no price/],
    [{ tools: [{ type: 'bash_code_execution', name: 'x' }] }, 'tools[0].type', /no price/],
    [{ mcp_servers: [{ url: 'http://x' }] }, 'mcp_servers', /left out/],
    [{ thread: { type: 'create' } }, 'thread', /whole conversation/],
    [{ thread: { type: 'continue', previous_message_id: 'msg_1' } }, 'thread', /left out/],
    [
      {
        messages: [
          { role: 'user', content: 'Hi' },
          {
            role: 'system',
            content: [{ type: 'tool_addition', tool: { definition: { type: 'web_search_20260318' } } }],
          },
        ],
      },
      'messages[1].content[0].type',
      /named in tools/,
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'mcp_tool_listing' }] }] },
      'messages[0].content[0].type',
      /no block/,
    ],
    [{ container: 'container_1' }, 'container', /left out/],
    [{ speed: 'fast' }, 'speed', /one price/],
    [{ inference_geo: 'us' }, 'inference_geo', /one price/],
    [{ service_tier: 'priority' }, 'service_tier', /one price/],
    [{ fallbacks: [{ model: 'dearer' }] }, 'fallbacks', /Remove it/],
    [
      { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112' }] } },
      'context_management.edits[1]',
      /summaries/,
    ],
    [content({ type: 'image', source: { type: 'file', file_id: 'file_1' } }), 'messages[0].content[0]', /stored file/],
    [content({ type: 'container_upload', file_id: 'file_1' }), 'messages[0].content[0]', /stored file/],
    [
      content({ type: 'tool_result', content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }] }),
      'messages[0].content[0].content[0]',
      /stored file/,
    ],
  ];
  for (const [members, param, pattern] of cases) {
    const refusal = refusalOf(anthropic, MESSAGES, { ...base, ...members });
    t.is(refusal?.param, param, JSON.stringify(members));
    t.regex(refusal?.message ?? '', pattern);
  }
  const passing = {
    speed: 'standard',
    inference_geo: 'global',
    service_tier: 'standard_only',
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
  };
  t.is(refusalOf(anthropic, MESSAGES, { ...base, ...passing, container: null }), undefined);
});
