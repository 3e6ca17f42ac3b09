/** Answers of Model `echo` in Anthropic's dialect, as its reference documents them. Pure. */
import { answerTo, outputTokens, type EchoAnswer } from './answer.js';
import { inGroups, sse, type EchoFrame, type EchoIdentity } from './frame.js';
import type { EchoRequest } from './request.js';

const STOP = { End: 'end_turn', Stop: 'stop_sequence', Length: 'max_tokens', Tool: 'tool_use' } as const;

function usageOf({ inputTokens, directive }: EchoRequest, output: number): { usage?: unknown } {
  if (directive.usage === null) return {};
  if (directive.usage !== undefined) return { usage: directive.usage };
  return {
    usage: {
      input_tokens: inputTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: output,
    },
  };
}

function messageOf(request: EchoRequest, id: string): { id: string; type: string; role: string; model: string } {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model: request.model };
}

function stopOf({ finish, stop }: EchoAnswer): { stop_reason: string; stop_sequence: string | null } {
  return { stop_reason: STOP[finish], stop_sequence: stop ?? null };
}

export function anthropicWhole(request: EchoRequest, { id }: EchoIdentity): unknown {
  if (request.operation === '/v1/messages/count_tokens') return { input_tokens: request.inputTokens };
  const answer = answerTo(request.prompts[0] ?? '', request);
  const { tokens, tool } = answer;
  const content: unknown[] = tokens.length === 0 ? [] : [{ type: 'text', text: tokens.join('') }];
  if (tool !== undefined) content.push({ ...toolUse(tool.name, id), input: inputOf(tool.tokens.join('')) });
  return { ...messageOf(request, id), content, ...stopOf(answer), ...usageOf(request, outputTokens(answer)) };
}

function toolUse(name: string, id: string): { type: string; id: string; name: string } {
  return { type: 'tool_use', id: `toolu_${id}`, name };
}

/** Arguments that were cut off are none. */
function inputOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

export function* anthropicStream(request: EchoRequest, { id, group }: EchoIdentity): Generator<EchoFrame> {
  const answer = answerTo(request.prompts[0] ?? '', request);
  const output = outputTokens(answer);
  const event = (type: string, members: object, tokens = 0): EchoFrame => sse({ type, ...members }, tokens, type);
  const begun = { content: [], stop_reason: null, stop_sequence: null, ...usageOf(request, Math.min(1, output)) };
  yield event('message_start', { message: { ...messageOf(request, id), ...begun } });
  yield event('ping', {});
  let index = 0;
  if (answer.tokens.length > 0) {
    yield event('content_block_start', { index, content_block: { type: 'text', text: '' } });
    for (const [text, count] of inGroups(answer.tokens, group)) {
      yield event('content_block_delta', { index, delta: { type: 'text_delta', text } }, count);
    }
    yield event('content_block_stop', { index });
    index += 1;
  }
  if (answer.tool !== undefined) {
    yield event('content_block_start', { index, content_block: { ...toolUse(answer.tool.name, id), input: {} } });
    for (const [text, count] of inGroups(answer.tool.tokens, group)) {
      yield event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: text } }, count);
    }
    yield event('content_block_stop', { index });
  }
  const usage = request.directive.usage === undefined ? { usage: { output_tokens: output } } : usageOf(request, output);
  yield event('message_delta', { delta: stopOf(answer), ...usage });
  yield event('message_stop', {});
}

/** By the status of an error. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

export function anthropicError(status: number, message: string, id: string): unknown {
  const type = TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return { type: 'error', error: { type, message }, request_id: `req_${id}` };
}
