/** Whole numbers that JSON.parse would round go on as they were written, between dialects and within one. */
import test from 'ava';
import * as fc from 'fast-check';
import { anthropic } from '../../../../src/engines/inference/dialects/anthropic/index.js';
import { parseExact, readExactData, writeExact } from '../../../../src/engines/inference/dialects/exact-json.js';
import { openai } from '../../../../src/engines/inference/dialects/openai/index.js';
import { translateAnswer, translateRequest } from '../../../../src/engines/inference/dialects/translate.js';
import { USUAL_FORM } from '../../../../src/engines/inference/route.js';
import { ABOUT } from './reading-clients.js';
import { tries } from '../../../support/extent.js';

const LONG = '1234567890123456789';
const OPTIONS = { ...USUAL_FORM, maxOutputTokens: 100, stream: false };

test('a number of 64 bits keeps its digits, and everything else is what JSON.parse reads', (t) => {
  const text = `{"a":${LONG},"b":[-9223372036854775808,1e999,0.1,12,1.5e3],"c":"${LONG} \\\\","d":{"\\"1234567890123456789":1}}`;
  t.is(writeExact(parseExact(text)), text.replace('1.5e3', '1500'));
  for (const json of ['12', '-0', '9007199254740991', '[1e20]', '"1234567890123456789"', 'null'])
    t.deepEqual(parseExact(json), JSON.parse(json), json);
  for (const bad of [
    '01234567890123456789',
    '{"a":1234567890123456789x}',
    '[1234567890123456789',
    '-',
    '1.2.3456789012345678',
  ])
    t.throws(() => parseExact(bad), { instanceOf: SyntaxError }, bad);
  t.throws(() => readExactData('[1]'), { message: /no JSON object/ });
});

test('what JSON can say comes back as it was, whatever stands in its texts', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        return writeExact(parseExact(text)) === text;
      }),
      { numRuns: tries(500) },
    ),
  );
});

test('an id of 64 bits in a call, its history or a schema is the same on the other side', (t) => {
  const call = { type: 'tool_use', id: 'a', name: 'f', input: { id: LONG } };
  const exact = (value: unknown): unknown => parseExact(JSON.stringify(value).replaceAll(`"${LONG}"`, LONG));
  const chat = translateAnswer(
    'Anthropic',
    '/v1/chat/completions',
    exact({ content: [call], stop_reason: 'tool_use', usage: { input_tokens: 1, output_tokens: 1 } }),
    ABOUT,
  );
  const [choice] = chat.body['choices'] as { message: { tool_calls: { function: { arguments: string } }[] } }[];
  t.is(choice?.message.tool_calls[0]?.function.arguments, `{"id":${LONG}}`);
  const tool = { id: 'a', type: 'function', function: { name: 'f', arguments: `{"id":${LONG}}` } };
  const whole = { choices: [{ message: { tool_calls: [tool] }, finish_reason: 'tool_calls' }] };
  t.true(writeExact(translateAnswer('OpenAI', '/v1/messages', whole, ABOUT).body).includes(`"input":{"id":${LONG}}`));
  const history = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', tool_calls: [tool] },
    { role: 'tool', tool_call_id: 'a', content: 'x' },
  ];
  const asked = exact({
    messages: history,
    tools: [{ type: 'function', function: { name: 'f', parameters: { maximum: LONG } } }],
  }) as Record<string, unknown>;
  const sent = translateRequest('/v1/chat/completions', asked, 'Anthropic', OPTIONS);
  const written = sent.outcome === 'Body' ? writeExact(sent.body) : '';
  t.true(written.includes(`"input":{"id":${LONG}}`) && written.includes(`"maximum":${LONG}`), written);
  const said = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
  ];
  const back = translateRequest(
    '/v1/messages',
    exact({ max_tokens: 5, messages: said }) as Record<string, unknown>,
    'OpenAI',
    OPTIONS,
  );
  t.true(back.outcome === 'Body' && writeExact(back.body).includes(`{\\"id\\":${LONG}}`));
  for (const [dialect, operation] of [
    [anthropic, '/v1/messages'],
    [openai, '/v1/chat/completions'],
  ] as const) {
    const own = dialect.readRequest(
      operation,
      exact({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }], metadata: { id: LONG } }),
    );
    t.true(
      own.outcome === 'Request' && writeExact(dialect.upstreamBody(own.request, 'x')).includes(`"id":${LONG}`),
      operation,
    );
  }
});
