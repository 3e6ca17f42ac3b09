/** OpenAI's dialect: chat completions, completions and embeddings. */
import { isObject } from '../../../../api/safe-value.js';
import type { Dialect } from '../dialect.js';
import { writeFrame } from '../frames.js';
import { readUpstreamError } from '../upstream-error.js';
import { errorBody } from './errors.js';
import { bytesOfChoices } from './generated.js';
import { limitHeaders } from './limits.js';
import { readOpenAI } from './request.js';
import { followOpenAI } from './stream.js';
import { withoutThinkingBlocks } from './thinking-blocks.js';
import { usageOf } from './usage.js';

export const openai: Dialect = {
  name: 'OpenAI',
  readRequest: readOpenAI,
  upstreamBody({ body, stream, operation, maxOutputTokens }, model, maxTokensMember) {
    const written: Record<string, unknown> = { ...body, model };
    if (operation === '/v1/chat/completions') {
      // A server that does not know the member that the client has used would generate as it likes.
      delete written['max_tokens'];
      delete written['max_completion_tokens'];
      if (maxTokensMember !== undefined && maxOutputTokens !== undefined) written[maxTokensMember] = maxOutputTokens;
    }
    if (stream) {
      const given = isObject(body['stream_options']) ? body['stream_options'] : {};
      written['stream_options'] = { ...given, include_usage: true };
    }
    if (body['messages'] !== undefined) written['messages'] = withoutThinkingBlocks(body['messages']);
    return written;
  },
  maxTokensOf: ({ operation, maxOutputTokens }) => (operation === '/v1/chat/completions' ? maxOutputTokens : undefined),
  readUsage: (_, answer) => (isObject(answer) ? usageOf(answer['usage']) : undefined),
  outputBytes: (_, answer) => (isObject(answer) ? bytesOfChoices(answer['choices']) : 0),
  readError: readUpstreamError,
  follow: followOpenAI,
  errorBody,
  errorFrame: (error) => writeFrame(undefined, errorBody(error)),
  // A client takes every event with a name for a chunk.
  keepAlive: ': keep-alive\n\n',
  limitHeaders,
};
