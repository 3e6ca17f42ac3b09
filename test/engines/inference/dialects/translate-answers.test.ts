/** Answers between dialects: what a model has made reaches every client whole, by the official clients' own readers, and only what is whole ends well. */
import test from 'ava';
import fc from 'fast-check';
import { type AnswerEvent, estimatedUsage } from '../../../../src/engines/inference/dialects/answer-event.js';
import {
  writeMessageAnswer,
  writeMessageStream,
} from '../../../../src/engines/inference/dialects/anthropic/write-answer.js';
import { type DialectName } from '../../../../src/engines/inference/dialects/dialect.js';
import { writeChatAnswer, writeChatStream } from '../../../../src/engines/inference/dialects/openai/write-answer.js';
import {
  CHATS,
  type ChatOperation,
  followTranslated,
  translateAnswer,
} from '../../../../src/engines/inference/dialects/translate.js';
import { costOf } from '../../../../src/money/model-prices.js';
import { answers, type RandomAnswer } from './conversations.js';
import {
  ABOUT,
  chunk,
  ESTIMATE,
  follow,
  free,
  normal,
  READERS,
  sse,
  STOPS,
  usageOf,
  type Read,
} from './reading-clients.js';
import { tries } from '../../../support/extent.js';

/** What each pair of dialects says of itself. */
const PAIRS = (['OpenAI', 'Anthropic'] as const).flatMap((from) =>
  CHATS.filter((to) => to !== (from === 'OpenAI' ? '/v1/chat/completions' : '/v1/messages')).map(
    (to) => [from, to] as const,
  ),
);

/** As an upstream of this dialect streams it: by our own writers, which the tests of streams hold against the vendors' documents. */
function streamOf(from: DialectName, { events }: RandomAnswer): string {
  const writer = (from === 'OpenAI' ? writeChatStream : writeMessageStream)({ ...ABOUT, id: 'up' }, free);
  return writer.begin() + events.map((event) => writer.event(event)).join('') + writer.end(usageOf(events), 0, false);
}

/** The chat helper of the client keeps no member that it does not know. */
function expected(to: ChatOperation, { thinking, text, calls, finish, usage }: RandomAnswer, helper: boolean): Read {
  return {
    thinking: helper && to === '/v1/chat/completions' ? '' : thinking,
    ...{ text, calls: calls.map(({ name, json }) => ({ name, json })), stop: STOPS[to][finish] },
    usage: [usage.input + usage.read, usage.output, usage.read],
  };
}

test('the official clients read every translated stream to the same answer, at the same cost', async (t) => {
  const price = { inputPerMillionTokensUSD: '3', outputPerMillionTokensUSD: '15', cacheReadPerMillionTokensUSD: '0.3' };
  for (const [from, to] of PAIRS) {
    await fc.assert(
      fc.asyncProperty(answers, async (answer) => {
        const { out, follower } = follow(from, to, [Buffer.from(streamOf(from, answer))]);
        t.is(follower.state.is, 'Complete');
        t.deepEqual(
          normal({ ...(await READERS[to](out)), ...(to === '/v1/chat/completions' ? { thinking: '' } : {}) }),
          normal(expected(to, answer, true)),
        );
        const used = usageOf(answer.events);
        t.deepEqual(follower.usage, used);
        t.is(costOf(price, follower.usage ?? used).toFixed(), costOf(price, used).toFixed());
      }),
      { numRuns: tries(60) },
    );
  }
});

test('however a stream is split, the client gets the same', (t) => {
  for (const [from, to] of PAIRS) {
    fc.assert(
      fc.property(answers, fc.array(fc.nat(), { maxLength: 30 }), (answer, cuts) => {
        const bytes = Buffer.from(streamOf(from, answer));
        const at = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].toSorted((a, b) => a - b);
        const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        t.is(follow(from, to, chunks).out, follow(from, to, [bytes]).out);
      }),
      { numRuns: tries(30) },
    );
  }
});

test('a stream that is cut anywhere before its end is not complete, and does not look so to a client', (t) => {
  for (const [from, to] of PAIRS) {
    fc.assert(
      fc.property(answers, fc.double({ min: 0, max: 0.999, noNaN: true }), (answer, part) => {
        const frames = streamOf(from, answer).trimEnd().split('\n\n');
        const kept = frames.slice(0, Math.floor(part * frames.length)).map((frame) => `${frame}\n\n`);
        const { out, follower } = follow(from, to, [Buffer.from(kept.join(''))]);
        t.is(follower.state.is, 'Open');
        for (const end of ['[DONE]', 'message_stop', 'response.completed', 'response.incomplete'])
          t.false(out.includes(end));
      }),
      { numRuns: tries(40) },
    );
  }
});

test('whole answers say the same as streams', (t) => {
  for (const [from, to] of PAIRS) {
    fc.assert(
      fc.property(answers, (answer) => {
        const usage = usageOf(answer.events);
        const about = { ...ABOUT, id: 'up' };
        const whole =
          from === 'OpenAI'
            ? writeChatAnswer(answer.events, about, usage, 0)
            : writeMessageAnswer(answer.events, about, usage);
        const { body, usage: used } = translateAnswer(from, to, JSON.parse(JSON.stringify(whole)), ABOUT);
        t.deepEqual(used, usage);
        t.deepEqual(normal(readWhole(to, body)), normal(expected(to, answer, false)));
      }),
      { numRuns: tries(60) },
    );
  }
});

interface WholeChat {
  choices: [
    {
      message: {
        content: string | null;
        reasoning_content?: string;
        tool_calls?: { function: { name: string; arguments: string } }[];
      };
      finish_reason: string;
    },
  ];
  usage: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details: { cached_tokens: number } };
}
interface WholeMessage {
  content: { type: string; text?: string; thinking?: string; name?: string; input?: unknown }[];
  stop_reason: string;
  usage: { input_tokens: number; output_tokens: number; cache_read_input_tokens: number };
}
interface WholeResponse {
  status: string;
  incomplete_details: { reason: string } | null;
  output: {
    type: string;
    content?: { text: string }[];
    summary?: { text: string }[];
    name?: string;
    arguments?: string;
  }[];
  usage: { input_tokens: number; output_tokens: number; input_tokens_details: { cached_tokens: number } };
}

function readWhole(to: ChatOperation, body: unknown): Read {
  if (to === '/v1/chat/completions') {
    const { choices, usage } = body as WholeChat;
    const [{ message, finish_reason: stop }] = choices;
    const calls = (message.tool_calls ?? []).map(({ function: called }) => ({
      name: called.name,
      json: called.arguments,
    }));
    const counts = [usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens];
    return { thinking: message.reasoning_content ?? '', text: message.content ?? '', calls, stop, usage: counts };
  }
  if (to === '/v1/messages') {
    const { content, stop_reason: stop, usage } = body as WholeMessage;
    const calls = content
      .filter(({ type }) => type === 'tool_use')
      .map(({ name = '', input }) => ({ name, json: JSON.stringify(input) }));
    const of = (type: string, member: 'text' | 'thinking') =>
      content.map((block) => (block.type === type ? block[member] : '')).join('');
    const counts = [
      usage.input_tokens + usage.cache_read_input_tokens,
      usage.output_tokens,
      usage.cache_read_input_tokens,
    ];
    return { thinking: of('thinking', 'thinking'), text: of('text', 'text'), calls, stop, usage: counts };
  }
  const { output, status, incomplete_details: why, usage } = body as WholeResponse;
  const said = (type: string, member: 'content' | 'summary') =>
    output.flatMap((item) => (item.type === type ? (item[member] ?? []).map(({ text }) => text) : [])).join('');
  const calls = output.flatMap(({ type, name = '', arguments: json = '' }) =>
    type === 'function_call' ? [{ name, json }] : [],
  );
  const counts = [usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens];
  return {
    thinking: said('reasoning', 'summary'),
    text: said('message', 'content'),
    calls,
    stop: why?.reason ?? status,
    usage: counts,
  };
}

test('stops, refusals and sequences are told in the words of the other dialect', async (t) => {
  const cases = [
    ['stop', 'end_turn', 'completed'],
    ['length', 'max_tokens', 'max_output_tokens'],
    ['content_filter', 'refusal', 'content_filter'],
  ] as const;
  for (const [told, message, response] of cases) {
    const stream = Buffer.from(`${chunk({ content: 'a' })}${chunk({}, told)}data: [DONE]\n\n`);
    t.is((await READERS['/v1/messages'](follow('OpenAI', '/v1/messages', [stream]).out)).stop, message);
    t.is((await READERS['/v1/responses'](follow('OpenAI', '/v1/responses', [stream]).out)).stop, response);
  }
  const matched = sse({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop', stop_reason: 'END' }] });
  const { out } = follow('OpenAI', '/v1/messages', [Buffer.from(`${matched}data: [DONE]\n\n`)]);
  t.regex(out, /"stop_reason":"stop_sequence","stop_sequence":"END"/);
  t.regex(out, /"x-svc-estimated":true/, 'nothing was reported');
  for (const [told, chat] of [
    ['end_turn', 'stop'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
  ] as const) {
    const stream =
      sse({ type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } }, 'message_start') +
      sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start') +
      sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } }, 'content_block_delta') +
      sse({ type: 'message_delta', delta: { stop_reason: told }, usage: { output_tokens: 4 } }, 'message_delta') +
      sse({ type: 'message_stop' }, 'message_stop');
    const read = await READERS['/v1/chat/completions'](
      follow('Anthropic', '/v1/chat/completions', [Buffer.from(stream)]).out,
    );
    t.is(read.stop, chat);
    t.deepEqual(read.usage, [3, 4, 0]);
  }
});

test('thinking with its signature reaches a chat and a response in a form that can be returned', (t) => {
  const events: readonly AnswerEvent[] = [
    { type: 'Thinking', text: 'hm' },
    { type: 'Signature', signature: 'sig' },
    { type: 'HiddenThinking', data: 'sealed' },
    { type: 'Text', text: 'Hi' },
    { type: 'Finish', finish: 'End' },
  ];
  const usage = estimatedUsage(ESTIMATE, 5);
  const whole = writeMessageAnswer(events, ABOUT, usage);
  const { body: chat } = translateAnswer('Anthropic', '/v1/chat/completions', whole, ABOUT);
  const [{ message }] = (chat as unknown as WholeChat).choices;
  t.like(message, {
    reasoning_content: 'hm',
    thinking_blocks: [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'sealed' },
    ],
  });
  const { body: response } = translateAnswer('Anthropic', '/v1/responses', whole, ABOUT);
  const { output } = response as unknown as WholeResponse;
  t.deepEqual(
    output.map(({ type }) => type),
    ['reasoning', 'reasoning', 'message'],
  );
  t.true(output.slice(0, 2).every((item) => 'encrypted_content' in item));
});

test('a response that breaks off ends with response.failed, which has what came before', (t) => {
  const { follower, out } = follow('OpenAI', '/v1/responses', [Buffer.from(chunk({ content: 'Hi' }))]);
  const failed = follower.fail?.({ status: 503, code: 'Unavailable', message: 'gone', requestId: 'r' }) ?? '';
  t.regex(
    failed,
    /event: response\.failed\ndata: \{[^\n]*"status":"failed"[^\n]*"error":\{"code":"Unavailable","message":"gone"\}/,
  );
  const numbers = [...(out + failed).matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
  t.deepEqual(
    numbers,
    numbers.map((_, at) => at),
    'each event has the next number',
  );
  t.is(
    followTranslated('OpenAI', '/v1/messages', ABOUT, free).fail?.({
      status: 503,
      code: 'Unavailable',
      message: 'gone',
      requestId: 'r',
    }),
    undefined,
  );
});

test('an answer of more items or bytes than a response can have is broken off: all of it would be told again at its end', (t) => {
  const altern = [{ reasoning_content: 'h' }, { content: 'c' }].map((delta) => Buffer.from(chunk(delta)));
  const items = Array.from({ length: 2_000 }, (_, n) => altern[n % 2] ?? Buffer.alloc(0));
  t.throws(() => follow('OpenAI', '/v1/responses', items), { message: /more items/ });
  const large = Buffer.from(chunk({ reasoning_content: 'x'.repeat(60_000) }));
  t.throws(() => follow('OpenAI', '/v1/responses', Array<Buffer>(18).fill(large)), { message: /larger/ });
});
