/** Anthropic's dialect: messages, and the count of their tokens. */
import { isObject } from '../../../../api/safe-value.js';
import { ZERO_USAGE } from '../../../../money/model-prices.js';
import type { Dialect } from '../dialect.js';
import { writeFrame } from '../frames.js';
import { readUpstreamError } from '../upstream-error.js';
import { errorBody } from './errors.js';
import { bytesOfBlocks } from './generated.js';
import { limitHeaders } from './limits.js';
import { readAnthropic } from './request.js';
import { followAnthropic } from './stream.js';
import { withoutUnsigned } from './unsigned-thinking.js';
import { usageOf } from './usage.js';

export const anthropic: Dialect = {
  name: 'Anthropic',
  readRequest: readAnthropic,
  upstreamBody: ({ body }, model) => ({ ...withoutUnsigned(body), model }),
  maxTokensOf: () => undefined,
  readUsage(operation, answer) {
    // A count costs nothing; what it counts was not used.
    if (operation === '/v1/messages/count_tokens') return ZERO_USAGE;
    return isObject(answer) ? usageOf(answer['usage']) : undefined;
  },
  outputBytes: (_, answer) => (isObject(answer) ? bytesOfBlocks(answer['content']) : 0),
  readError: readUpstreamError,
  follow: followAnthropic,
  errorBody,
  // What ends a stream is over by itself.
  errorFrame: (error) => writeFrame('error', errorBody(error.status === 503 ? { ...error, status: 529 } : error)),
  keepAlive: writeFrame('ping', '{"type": "ping"}'),
  limitHeaders,
};
