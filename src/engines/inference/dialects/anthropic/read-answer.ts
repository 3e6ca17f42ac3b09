/** Reads the answer to a request for a message as events, from the frames of a stream or from the whole. */
import { isObject } from '../../../../api/safe-value.js';
import { type Usage, ZERO_USAGE } from '../../../../money/model-prices.js';
import type { AnswerEvent, AnswerReader, Finish, ReadState } from '../answer-event.js';
import { listOf } from '../body.js';
import { BrokenStreamError } from '../dialect.js';
import { parsed, readExactData, writeExact } from '../exact-json.js';
import { COMPLETE, OPEN, parse } from '../frames.js';
import { countOr } from '../numbers.js';
import { readUpstreamError, unknownUpstreamError } from '../upstream-error.js';
import { newerUsage, usageOf } from './usage.js';

const FINISH = new Map<string, Finish>(
  Object.entries({
    end_turn: 'End',
    max_tokens: 'Length',
    model_context_window_exceeded: 'Length',
    stop_sequence: 'Stop',
    tool_use: 'Tool',
    refusal: 'Refused',
  }),
);

export function readMessageStream(): AnswerReader {
  let state: ReadState = OPEN;
  let usage: Usage | undefined;
  /**
   * Index of the content block that the upstream streams now. The vendor streams blocks one after the other; a delta of another block would be added
   * to this one.
   */
  let block: unknown;
  let isCall = false;
  let hasCalled = false;

  const note = (report: unknown): readonly AnswerEvent[] => {
    const newer = newerUsage(usage ?? ZERO_USAGE, report);
    if (newer === undefined) return [];
    usage = newer;
    return [{ type: 'Usage', usage, reasoningTokens: reasoningOf(report) }];
  };

  const eventsOf = (type: string | undefined, event: Record<string, unknown>): readonly AnswerEvent[] => {
    switch (type) {
      case 'message_start':
        return isObject(event['message']) ? note(event['message']['usage']) : [];
      case 'content_block_start':
        block = event['index'];
        isCall = isObject(event['content_block']) && event['content_block']['type'] === 'tool_use';
        hasCalled ||= isCall;
        return isObject(event['content_block']) ? ofBlock(event['content_block']) : [];
      case 'content_block_delta':
        if (event['index'] !== block) throw new BrokenStreamError('its blocks are not told one after the other');
        // What a vendor runs has arguments too, and no request asks for it.
        return isObject(event['delta'])
          ? ofDelta(event['delta']).filter(({ type: of }) => isCall || of !== 'Arguments')
          : [];
      case 'message_delta': {
        const counted = note(event['usage']);
        return [...(isObject(event['delta']) ? finishOf(event['delta'], hasCalled) : []), ...counted];
      }
      case 'message_stop':
        state = COMPLETE;
        return [];
      default:
        return [];
    }
  };

  return {
    frame({ event: named, data }) {
      if (state.is !== 'Open') return [];
      if (named === 'error') {
        state = { is: 'Failed', error: readUpstreamError(parse(data)) ?? unknownUpstreamError(data) };
        return [];
      }
      const event = readExactData(data);
      const type = typeof event['type'] === 'string' && event['type'] !== '' ? event['type'] : named;
      if (type === 'error' || event['error']) {
        state = { is: 'Failed', error: readUpstreamError(event) ?? unknownUpstreamError('') };
        return [];
      }
      return eventsOf(type, event);
    },
    get state() {
      return state;
    },
  };
}

/** A whole answer, which is known to be no error. Throws a BrokenStreamError for one that has no content. */
export function readMessageAnswer(answer: Readonly<Record<string, unknown>>): readonly AnswerEvent[] {
  if (!Array.isArray(answer['content'])) throw new BrokenStreamError('its answer has no content');
  const events: AnswerEvent[] = [];
  for (const block of listOf(answer['content'])) {
    if (!isObject(block)) continue;
    events.push(...ofBlock(block));
    const { type, signature } = block;
    if (type === 'thinking' && typeof signature === 'string' && signature !== '')
      events.push({ type: 'Signature', signature });
    if (events.at(-1)?.type === 'ToolCall') events.push(NO_ARGUMENTS);
  }
  const hasCalled = events.some(({ type }) => type === 'ToolCall');
  events.push(...finishOf(answer, hasCalled));
  const usage = usageOf(answer['usage']);
  if (usage !== undefined) events.push({ type: 'Usage', usage, reasoningTokens: reasoningOf(answer['usage']) });
  return events;
}

const NO_ARGUMENTS: AnswerEvent = { type: 'Arguments', json: '{}' };

/** Of a stream, what comes later is not in it: `input: {}` stands for it. */
function ofBlock({ type, text, thinking, data, id, name, input }: Record<string, unknown>): readonly AnswerEvent[] {
  switch (type) {
    case 'text':
      return typeof text === 'string' && text !== '' ? [{ type: 'Text', text }] : [];
    case 'thinking':
      return typeof thinking === 'string' && thinking !== '' ? [{ type: 'Thinking', text: thinking }] : [];
    case 'redacted_thinking':
      return typeof data === 'string' ? [{ type: 'HiddenThinking', data }] : [];
    case 'tool_use': {
      if (typeof id !== 'string' || typeof name !== 'string' || name === '')
        throw new BrokenStreamError('a call of a tool has no id or no name');
      // Some servers give the text.
      const value = typeof input === 'string' ? parsed(input === '' ? '{}' : input) : (input ?? {});
      if (!isObject(value)) throw new BrokenStreamError('a call of a tool has arguments that are no JSON object');
      const call: AnswerEvent = { type: 'ToolCall', id, name };
      return Object.keys(value).length > 0 ? [call, { type: 'Arguments', json: writeExact(value) }] : [call];
    }
    default:
      return [];
  }
}

function ofDelta({ text, thinking, partial_json: json, signature }: Record<string, unknown>): readonly AnswerEvent[] {
  if (typeof text === 'string') return text === '' ? [] : [{ type: 'Text', text }];
  if (typeof thinking === 'string') return thinking === '' ? [] : [{ type: 'Thinking', text: thinking }];
  if (typeof json === 'string') return json === '' ? [] : [{ type: 'Arguments', json }];
  return typeof signature === 'string' && signature !== '' ? [{ type: 'Signature', signature }] : [];
}

function finishOf(
  { stop_reason: reason, stop_sequence: stop }: Record<string, unknown>,
  hasCalled: boolean,
): readonly AnswerEvent[] {
  if (typeof reason !== 'string') return [];
  // The vendor pauses only for tools of its own, which no request asks for.
  const told = FINISH.get(reason) ?? 'End';
  // Some servers say that they have ended, of an answer that calls tools, or the reverse.
  const finish = told === 'Tool' || told === 'End' ? (hasCalled ? 'Tool' : 'End') : told;
  return [typeof stop === 'string' ? { type: 'Finish', finish, stop } : { type: 'Finish', finish }];
}

function reasoningOf(usage: unknown): number {
  const details: unknown = isObject(usage) ? usage['output_tokens_details'] : undefined;
  const tokens: unknown = isObject(details) ? (details['thinking_tokens'] ?? details['reasoning_tokens']) : undefined;
  return countOr(tokens, 0) ?? 0;
}
