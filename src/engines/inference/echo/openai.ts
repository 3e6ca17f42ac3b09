/** Answers of Model `echo` in OpenAI's dialect, as its reference documents them. Pure. */
import { answerTo, outputTokens, type EchoAnswer } from './answer.js';
import { embeddingOf } from './embedding.js';
import { inGroups, sse, type EchoFrame, type EchoIdentity } from './frame.js';
import type { EchoRequest } from './request.js';

const FINISH = { End: 'stop', Stop: 'stop', Length: 'length', Tool: 'tool_calls' } as const;

/** Of `answers` for each prompt in turn. */
function answersOf(request: EchoRequest): readonly EchoAnswer[] {
  return request.prompts.flatMap((prompt) => {
    const answer = answerTo(prompt, request);
    return Array.from({ length: request.answers }, () => answer);
  });
}

function usageOf({ inputTokens, directive }: EchoRequest, answers: readonly EchoAnswer[]): { usage?: unknown } {
  if (directive.usage === null) return {};
  if (directive.usage !== undefined) return { usage: directive.usage };
  const output = answers.reduce((sum, answer) => sum + outputTokens(answer), 0);
  return {
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: output,
      total_tokens: inputTokens + output,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  };
}

export function openaiWhole(request: EchoRequest, { id, created }: EchoIdentity): unknown {
  const { model, operation } = request;
  if (operation === '/v1/embeddings') return embeddings(request);
  const answers = answersOf(request);
  const chat = operation === '/v1/chat/completions';
  const choices = answers.map((answer, index) => {
    const rest = { logprobs: null, finish_reason: FINISH[answer.finish] };
    return chat
      ? { index, message: messageOf(answer, id, index), ...rest }
      : { index, text: answer.tokens.join(''), ...rest };
  });
  const object = chat ? 'chat.completion' : 'text_completion';
  return { id: idOf(chat, id), object, created, model, choices, ...usageOf(request, answers) };
}

function idOf(chat: boolean, id: string): string {
  return `${chat ? 'chatcmpl' : 'cmpl'}-${id}`;
}

function messageOf({ tokens, tool }: EchoAnswer, id: string, index: number): unknown {
  const content = tokens.length === 0 && tool !== undefined ? null : tokens.join('');
  const message = { role: 'assistant', content, refusal: null };
  if (tool === undefined) return message;
  const call = { name: tool.name, arguments: tool.tokens.join('') };
  return { ...message, tool_calls: [{ id: callId(id, index), type: 'function', function: call }] };
}

function callId(id: string, index: number): string {
  return `call_${id}_${index}`;
}

function embeddings({ prompts, base64, dimensions, model, inputTokens, directive }: EchoRequest): unknown {
  const data = prompts.map((prompt, index) => {
    const vector = embeddingOf(prompt, dimensions);
    const embedding = base64 ? Buffer.from(vector.buffer).toString('base64') : [...vector];
    return { object: 'embedding', index, embedding };
  });
  const counted = { prompt_tokens: inputTokens, total_tokens: inputTokens };
  const usage = directive.usage === null ? {} : { usage: directive.usage ?? counted };
  return { object: 'list', data, model, ...usage };
}

export function* openaiStream(request: EchoRequest, { id, created, group }: EchoIdentity): Generator<EchoFrame> {
  const { model, operation, includeUsage } = request;
  const chat = operation === '/v1/chat/completions';
  const answers = answersOf(request);
  const object = chat ? 'chat.completion.chunk' : 'text_completion';
  // Where usage is asked for, every chunk but the last says null.
  const common = { id: idOf(chat, id), object, created, model };
  const rest = includeUsage ? { usage: null } : {};
  const chunk = (index: number, part: unknown, finish: string | null, tokens = 0): EchoFrame => {
    const body = chat ? { index, delta: part } : { index, text: part };
    return sse({ ...common, choices: [{ ...body, logprobs: null, finish_reason: finish }], ...rest }, tokens);
  };
  for (const [index, { tokens, tool, finish }] of answers.entries()) {
    if (chat)
      yield chunk(index, { role: 'assistant', content: tool !== undefined && tokens.length === 0 ? null : '' }, null);
    for (const [text, count] of inGroups(tokens, group))
      yield chunk(index, chat ? { content: text } : text, null, count);
    if (tool !== undefined && chat) {
      const begin = { id: callId(id, index), type: 'function', function: { name: tool.name, arguments: '' } };
      yield chunk(index, { tool_calls: [{ index: 0, ...begin }] }, null);
      for (const [text, count] of inGroups(tool.tokens, group)) {
        yield chunk(index, { tool_calls: [{ index: 0, function: { arguments: text } }] }, null, count);
      }
    }
    yield chunk(index, chat ? {} : '', FINISH[finish]);
  }
  const usage = usageOf(request, answers);
  if (includeUsage && 'usage' in usage) yield sse({ ...common, choices: [], ...usage });
  yield sse('[DONE]');
}

/** By the status of an error. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
};

export function openaiError(status: number, message: string, param?: string): unknown {
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  return { error: { message, type, param: param ?? null, code: null } };
}
