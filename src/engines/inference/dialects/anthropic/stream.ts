/**
 * Follows a stream in Anthropic's dialect. Frames go on as they came, so that members that nobody here knows pass, each with the `event:` line by
 * which clients tell them apart. Usage in `message_start` and `message_delta` is a sum so far; that of `message_delta` says what it cost.
 * `message_stop` completes the stream.
 */
import { isObject } from '../../../../api/safe-value.js';
import { type Usage, ZERO_USAGE } from '../../../../money/model-prices.js';
import { COST_MEMBER, ESTIMATED_MEMBER } from '../cost-member.js';
import { BrokenStreamError, type FollowOptions, type RequestSummary, type StreamFollower } from '../dialect.js';
import { COMPLETE, NOTHING, OPEN, parse, readData, writeFrame } from '../frames.js';
import { readUpstreamError, unknownUpstreamError } from '../upstream-error.js';
import { bytesOfBlock, bytesOfDelta } from './generated.js';
import { newerUsage } from './usage.js';

export function followAnthropic(_: RequestSummary, { costOf, counted }: FollowOptions): StreamFollower {
  let usage: Usage | undefined;
  let outputBytes = 0;
  let bytesAtUsage = 0;
  let state: StreamFollower['state'] = OPEN;

  /** Clients read the usage of each `message_delta`, so that there must be one. */
  const priced = (event: Record<string, unknown>): string => {
    const newer = newerUsage(usage ?? ZERO_USAGE, event['usage']);
    if (newer !== undefined) bytesAtUsage = outputBytes;
    usage = newer ?? usage;
    const reported = isObject(event['usage'])
      ? event['usage']
      : { output_tokens: (usage ?? counted(outputBytes)).outputTokens };
    const cost = {
      [COST_MEMBER]: costOf(usage ?? counted(outputBytes)),
      ...(usage === undefined && { [ESTIMATED_MEMBER]: true }),
    };
    return JSON.stringify({ ...event, usage: { ...reported, ...cost } });
  };

  const bytesOfEvent = (type: string, event: Record<string, unknown>): number => {
    if (type === 'content_block_delta') return bytesOfDelta(event['delta']);
    return type === 'content_block_start' ? bytesOfBlock(event['content_block']) : 0;
  };

  return {
    frame({ event: named, data }) {
      if (state.is !== 'Open') return NOTHING;
      if (named === 'error') {
        state = { is: 'Failed', error: readUpstreamError(parse(data)) ?? unknownUpstreamError(data) };
        return NOTHING;
      }
      const event = readData(data);
      const type = typeof event['type'] === 'string' && event['type'] !== '' ? event['type'] : named;
      if (type === 'error' || event['error']) {
        state = { is: 'Failed', error: readUpstreamError(event) ?? unknownUpstreamError('') };
        return NOTHING;
      }
      if (type === undefined || /[\r\n]/.test(type)) throw new BrokenStreamError('a frame of the stream has no type');
      if (type === 'message_delta') return { out: writeFrame(type, priced(event)), outputBytes: 0 };
      if (type === 'message_stop') state = COMPLETE;
      if (type === 'message_start' && isObject(event['message'])) {
        usage = newerUsage(ZERO_USAGE, event['message']['usage']) ?? usage;
      }
      const bytes = bytesOfEvent(type, event);
      outputBytes += bytes;
      return { out: writeFrame(type, data), outputBytes: bytes };
    },
    get usage() {
      return usage;
    },
    get state() {
      return state;
    },
    get outputBytes() {
      return outputBytes;
    },
    get unreportedBytes() {
      return outputBytes - bytesAtUsage;
    },
  };
}
