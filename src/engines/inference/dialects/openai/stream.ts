/**
 * Follows a stream in OpenAI's dialect. Chunks go on as they came, so that members that nobody here knows pass. Upstreams are always asked for
 * usage: the chunk that has it (its `choices` are empty) goes on only if the client has asked, and says what it cost. Some servers report
 * usage so far in every chunk: the newest counts. Where an upstream reports none, a client that has asked gets our count. `[DONE]` completes the stream.
 */
import { isObject } from '../../../../api/safe-value.js';
import type { Usage } from '../../../../money/model-prices.js';
import { COST_MEMBER, ESTIMATED_MEMBER } from '../cost-member.js';
import type { FollowedFrame, FollowOptions, RequestSummary, StreamFollower } from '../dialect.js';
import { COMPLETE, NOTHING, OPEN, parse, readData, writeFrame } from '../frames.js';
import { readUpstreamError, unknownUpstreamError } from '../upstream-error.js';
import { bytesOfChoices } from './generated.js';
import { usageOf } from './usage.js';

const DONE = writeFrame(undefined, '[DONE]');

export function followOpenAI({ wantsUsage }: RequestSummary, { costOf, counted }: FollowOptions): StreamFollower {
  let usage: Usage | undefined;
  let outputBytes = 0;
  let state: StreamFollower['state'] = OPEN;
  let bytesAtUsage = 0;
  /** What the newest chunk says of the answer beside its content. */
  let about: Record<string, unknown> = {};

  const estimated = (): string => {
    const { inputTokens, outputTokens } = counted(outputBytes);
    const sum = {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    };
    const cost = { [COST_MEMBER]: costOf(counted(outputBytes)), [ESTIMATED_MEMBER]: true };
    return writeFrame(undefined, JSON.stringify({ ...about, choices: [], usage: { ...sum, ...cost } }));
  };

  /** What the client gets of a chunk; the chunk itself for most. */
  const passed = (chunk: Record<string, unknown>, data: string): string | undefined => {
    const reported = chunk['usage'];
    if (!isObject(reported)) return writeFrame(undefined, data);
    const read = usageOf(reported);
    usage = read ?? usage;
    if (read !== undefined) bytesAtUsage = outputBytes;
    if (wantsUsage && read === undefined) return writeFrame(undefined, data);
    if (wantsUsage && read !== undefined) {
      const priced = { ...reported, [COST_MEMBER]: costOf(read) };
      return writeFrame(undefined, JSON.stringify({ ...chunk, usage: priced }));
    }
    if (!Array.isArray(chunk['choices']) || chunk['choices'].length === 0) return undefined;
    const { usage: _, ...rest } = chunk;
    return writeFrame(undefined, JSON.stringify(rest));
  };

  return {
    frame({ event, data }) {
      if (state.is !== 'Open' || data === '') return NOTHING;
      if (data.length < 16 && data.trim() === '[DONE]') {
        state = COMPLETE;
        const last = wantsUsage && usage === undefined ? estimated() : '';
        return { out: last + DONE, outputBytes: 0 } satisfies FollowedFrame;
      }
      if (event === 'error') {
        state = { is: 'Failed', error: readUpstreamError(parse(data)) ?? unknownUpstreamError(data) };
        return NOTHING;
      }
      const chunk = readData(data);
      const error = 'choices' in chunk && !chunk['error'] ? undefined : readUpstreamError(chunk);
      if (error !== undefined) {
        state = { is: 'Failed', error };
        return NOTHING;
      }
      const bytes = bytesOfChoices(chunk['choices']);
      outputBytes += bytes;
      if (wantsUsage && usage === undefined) about = aboutOf(chunk);
      return { out: passed(chunk, data), outputBytes: bytes };
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

function aboutOf({ id, object, created, model }: Record<string, unknown>): Record<string, unknown> {
  return { id, object, created, model };
}
