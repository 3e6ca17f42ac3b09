/** What the vendors' own clients make of the streams and errors that a client gets. */
import Anthropic from '@anthropic-ai/sdk';
import test from 'ava';
import OpenAI from 'openai';
import { anthropic } from '../../../../src/engines/inference/dialects/anthropic/index.js';
import type { DialectError } from '../../../../src/engines/inference/dialects/dialect.js';
import { openai } from '../../../../src/engines/inference/dialects/openai/index.js';
import { events, followed, frames, requestOf } from './support.js';

const ERROR: DialectError = { status: 503, code: 'Unavailable', message: 'the model has gone', requestId: 'req_1' };

function answering(status: number, text: string): { fetch: typeof fetch; maxRetries: number; apiKey: string } {
  const type = status === 200 ? 'text/event-stream' : 'application/json';
  const headers = { 'content-type': type, 'x-should-retry': 'false' };
  return { fetch: () => Promise.resolve(new Response(text, { status, headers })), maxRetries: 0, apiKey: 'k' };
}

const messages = [{ role: 'user' as const, content: 'Hello' }];

test("OpenAI's client reads the stream with its usage, and throws what ends a stream that has failed", async (t) => {
  const body = { model: 'm', messages, stream: true as const, stream_options: { include_usage: true } };
  const request = requestOf(openai, '/v1/chat/completions', body);
  const choice = { index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null };
  const began = frames({ id: 'c', choices: [choice] });
  const last = frames({ id: 'c', choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } });
  const { out } = followed(openai, request, [Buffer.from(`${began}${last}data: [DONE]\n\n`)]);
  const read = async (text: string): Promise<OpenAI.ChatCompletionChunk[]> => {
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    const stream = await new OpenAI(answering(200, text)).chat.completions.create(body);
    for await (const chunk of stream) chunks.push(chunk);
    return chunks;
  };
  const chunks = await read(openai.keepAlive + out);
  t.is(chunks.length, 2);
  t.is(chunks[0]?.choices[0]?.delta.content, 'Hi');
  t.like(chunks[1]?.usage, { prompt_tokens: 3, 'x-svc-cost-usd': 'cost of 3,0,0,0,1' });
  await t.throwsAsync(read(began + openai.errorFrame(ERROR)), {
    instanceOf: OpenAI.APIError,
    message: /the model has gone/,
  });
  const refusing = new OpenAI(answering(402, openai.errorBody({ ...ERROR, status: 402, code: 'BudgetExceeded' })));
  const refused = await t.throwsAsync(refusing.chat.completions.create(body), { instanceOf: OpenAI.APIError });
  t.like(refused, { status: 402, code: 'BudgetExceeded', type: 'insufficient_quota' });
});

test("Anthropic's client puts the message together, and throws what ends a stream that has failed", async (t) => {
  const body = { model: 'm', max_tokens: 10, messages };
  const request = requestOf(anthropic, '/v1/messages', { ...body, stream: true });
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'm',
    usage: { input_tokens: 3, output_tokens: 1 },
  };
  const began = events(
    { type: 'message_start', message } as { type: string },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as { type: string },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } } as { type: string },
  );
  const end = events(
    { type: 'content_block_stop', index: 0 } as { type: string },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } } as { type: string },
    { type: 'message_stop' },
  );
  const { out } = followed(anthropic, request, [Buffer.from(began + end)]);
  const final = (text: string): Promise<Anthropic.Message> =>
    new Anthropic(answering(200, text)).messages.stream(body).finalMessage();
  const read = await final(anthropic.keepAlive + out);
  t.like(read.content[0], { type: 'text', text: 'Hi' });
  t.like(read.usage, { input_tokens: 3, output_tokens: 2 });
  const failed = followed(anthropic, request, [Buffer.from(began)]).out + anthropic.errorFrame(ERROR);
  await t.throwsAsync(final(failed), { instanceOf: Anthropic.APIError, message: /the model has gone/ });
  const refusing = new Anthropic(answering(402, anthropic.errorBody({ ...ERROR, status: 402 })));
  const refused = await t.throwsAsync(refusing.messages.create(body), { instanceOf: Anthropic.APIError });
  t.like(refused, {
    status: 402,
    error: { error: { type: 'billing_error', code: 'Unavailable' }, request_id: 'req_1' },
  });
});
