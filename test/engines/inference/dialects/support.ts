/** What tests of the dialects share: requests that must be read, and streams that are decoded and followed. */
import type {
  Dialect,
  InferenceRequest,
  Operation,
  RequestFault,
  StreamFollower,
} from '../../../../src/engines/inference/dialects/dialect.js';
import { openSseDecoder } from '../../../../src/engines/inference/sse.js';
import { type Usage, ZERO_USAGE } from '../../../../src/money/model-prices.js';

export function requestOf(dialect: Dialect, operation: Operation, body: unknown): InferenceRequest {
  const read = dialect.readRequest(operation, body);
  if (read.outcome === 'Refused') throw new Error(`${read.param ?? ''}: ${read.message}`);
  return read.request;
}

/** `param: message`; undefined: it is taken. */
export function refusalOf(dialect: Dialect, operation: Operation, body: unknown): RequestFault | undefined {
  const read = dialect.readRequest(operation, body);
  return read.outcome === 'Refused' ? { message: read.message, param: read.param } : undefined;
}

export interface Followed {
  readonly out: string;
  readonly follower: StreamFollower;
}

/** Input, read from a cache, written to it, written for long, output. */
const COUNTS = ['inputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'longCacheWriteTokens', 'outputTokens'] as const;

/** Costs are shown as the tokens that they are of. */
export function followed(dialect: Dialect, request: InferenceRequest, chunks: readonly Buffer[]): Followed {
  const follower = dialect.follow(request, {
    costOf: (used) => `cost of ${COUNTS.map((count) => used[count]).join()}`,
    counted: (outputTokens) => ({ ...ZERO_USAGE, outputTokens }),
  });
  let out = '';
  let bytes = 0;
  const decoder = openSseDecoder({ mostLineBytes: 2 ** 20, mostFrameBytes: 2 ** 20 }, (frame) => {
    const followedFrame = follower.frame(frame);
    out += followedFrame.out ?? '';
    bytes += followedFrame.outputBytes;
  });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  if (bytes !== follower.outputBytes) throw new Error(`${bytes} bytes in frames, ${follower.outputBytes} in all`);
  return { out, follower };
}

export function usage(given: Partial<Usage>): Usage {
  return { ...ZERO_USAGE, ...given };
}

export function frames(...data: readonly object[]): string {
  return data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
}

/** Each with its `event:` line. */
export function events(...data: readonly { readonly type: string }[]): string {
  return data.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('');
}
