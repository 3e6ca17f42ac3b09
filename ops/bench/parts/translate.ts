/**
 * Measures what translation between the dialects costs, in this process: of a request of 20 KB with its whole answer, and of each event of a
 * stream. It does not measure what a request in the upstream's own dialect needs as well: reading, holding, sending.
 */
import type { AnswerAbout } from '../../../src/engines/inference/dialects/answer-event.js';
import type { DialectName } from '../../../src/engines/inference/dialects/dialect.js';
import {
  type ChatOperation,
  followTranslated,
  translateAnswer,
  translateRequest,
} from '../../../src/engines/inference/dialects/translate.js';
import { openSseDecoder, SSE_BOUNDS } from '../../../src/engines/inference/sse.js';
import type { Figure, Part } from '../figure.js';
import { round } from '../numbers.js';

const REQUEST_BYTES = 20_000;
const REQUESTS = 2_000;
const EVENTS = 20_000;
/** The least disturbed round says most: the machine is not ours alone. */
const ROUNDS = 5;
/** What a socket gives at once. */
const CHUNK_EVENTS = 16;

const ABOUT: AnswerAbout = {
  ...{ id: 'bench', model: 'measured', created: 1_764_000_000, wantsUsage: true, asked: {} },
  estimate: { inputTokens: 5_000, mostOutputTokens: 100_000 },
};
const PAIRS: readonly (readonly [ChatOperation, DialectName])[] = [
  ['/v1/chat/completions', 'Anthropic'],
  ['/v1/messages', 'OpenAI'],
  ['/v1/responses', 'OpenAI'],
  ['/v1/responses', 'Anthropic'],
];

export const translate: Part = {
  name: 'translate',
  about: `translation between the dialects: a request of ${REQUEST_BYTES / 1_000} KB with its answer, and an event of a stream`,
  run: async () => PAIRS.flatMap(([operation, to]) => figuresOf(operation, to)),
};

function figuresOf(operation: ChatOperation, to: DialectName): readonly Figure[] {
  const pair = `${operation} to ${to}`;
  return [
    { name: `translate a whole request, ${pair}, p50`, value: round(wholeMs(operation, to)), unit: 'ms', atMost: 0.3 },
    { name: `translate an event, ${pair}`, value: round(eventMicros(operation, to)), unit: 'µs', atMost: 15 },
  ];
}

/** Request and answer, in ms: translated, and written as JSON. */
function wholeMs(operation: ChatOperation, to: DialectName): number {
  const text = JSON.stringify(REQUESTS_BY[operation]());
  const answer = JSON.stringify(ANSWERS_BY[to]);
  const options = { maxTokensMember: 'max_tokens', thinking: 'budget', maxOutputTokens: 4_096, stream: false } as const;
  const times: number[] = [];
  for (let n = 0; n < REQUESTS * 2; n += 1) {
    // Read outside of the time, as a request in the upstream's own dialect is.
    const [body, said] = [JSON.parse(text), JSON.parse(answer)] as Record<string, unknown>[];
    const before = performance.now();
    const translated = translateRequest(operation, body ?? {}, to, options);
    if (translated.outcome !== 'Body') throw new Error(translated.fault.message);
    JSON.stringify(translated.body);
    JSON.stringify(translateAnswer(to, operation, said ?? {}, ABOUT).body);
    if (n >= REQUESTS) times.push(performance.now() - before);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

/** Of processor time, with the reading of the frame. */
function eventMicros(operation: ChatOperation, to: DialectName): number {
  const chunks = streamOf(to);
  let best = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < ROUNDS; turn += 1) {
    const follower = followTranslated(to, operation, ABOUT, () => '0.00');
    const decoder = openSseDecoder(SSE_BOUNDS, (frame) => follower.frame(frame));
    const before = process.cpuUsage();
    for (const chunk of chunks) decoder.push(chunk);
    const { user, system } = process.cpuUsage(before);
    if (follower.state.is !== 'Complete') throw new Error('the stream did not come to its end');
    best = Math.min(best, (user + system) / EVENTS);
  }
  return best;
}

const PROSE = 'The quick brown fox jumps over the lazy dog. '.repeat(40);
const TURNS = Array.from({ length: Math.ceil(REQUEST_BYTES / PROSE.length) - 1 }, (_, n) => ({
  role: n % 2 === 0 ? 'user' : 'assistant',
  content: `${n} ${PROSE}`,
}));
const SCHEMA = { type: 'object', properties: { at: { type: 'integer' } }, required: ['at'] };

const REQUESTS_BY: Readonly<Record<ChatOperation, () => object>> = {
  '/v1/chat/completions': () => ({
    ...{ model: 'measured', messages: TURNS, max_tokens: 500 },
    tools: [{ type: 'function', function: { name: 'look', parameters: SCHEMA } }],
  }),
  '/v1/messages': () => ({
    ...{ model: 'measured', messages: TURNS, max_tokens: 500 },
    tools: [{ name: 'look', input_schema: SCHEMA }],
  }),
  '/v1/responses': () => ({
    ...{ model: 'measured', input: TURNS, max_output_tokens: 500 },
    tools: [{ type: 'function', name: 'look', parameters: SCHEMA }],
  }),
};

const ANSWERS_BY: Readonly<Record<DialectName, object>> = {
  OpenAI: {
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'measured' },
    choices: [{ index: 0, message: { role: 'assistant', content: PROSE }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5_000, completion_tokens: 450, total_tokens: 5_450 },
  },
  Anthropic: {
    ...{ id: 'm', type: 'message', role: 'assistant', model: 'measured', content: [{ type: 'text', text: PROSE }] },
    ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: 5_000, output_tokens: 450 } },
  },
};

/** Twenty thousand words, in chunks as a socket gives them. */
function streamOf(from: DialectName): readonly Buffer[] {
  const word = (n: number): string => `word${n % 10} `;
  const [head, event, tail] = from === 'OpenAI' ? chatFrames() : messageFrames();
  const frames = Array.from({ length: EVENTS }, (_, n) => event(word(n)));
  const chunks: Buffer[] = [Buffer.from(head)];
  for (let at = 0; at < EVENTS; at += CHUNK_EVENTS)
    chunks.push(Buffer.from(frames.slice(at, at + CHUNK_EVENTS).join('')));
  return [...chunks, Buffer.from(tail)];
}

type Frames = readonly [head: string, event: (text: string) => string, tail: string];

function chatFrames(): Frames {
  const chunk = (choices: readonly object[], more: object = {}): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'measured', choices, ...more })}\n\n`;
  const usage = { prompt_tokens: 5_000, completion_tokens: EVENTS, total_tokens: 5_000 + EVENTS };
  return [
    chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
    (text) => chunk([{ index: 0, delta: { content: text }, finish_reason: null }]),
    `${chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])}${chunk([], { usage })}data: [DONE]\n\n`,
  ];
}

function messageFrames(): Frames {
  const frame = (type: string, members: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'measured', content: [] };
  const begun = { ...message, stop_reason: null, usage: { input_tokens: 5_000, output_tokens: 1 } };
  return [
    frame('message_start', { message: begun }) +
      frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    (text) => frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    frame('content_block_stop', { index: 0 }) +
      frame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: EVENTS } }) +
      frame('message_stop', {}),
  ];
}
