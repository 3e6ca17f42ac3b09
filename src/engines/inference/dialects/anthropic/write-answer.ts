/**
 * Writes an answer as a message, in events of a stream or whole. Blocks come one after the other, numbered from 0; thinking that has no signature gets an
 * empty one, since clients expect the member.
 */
import { isObject } from '../../../../api/safe-value.js';
import type { Usage } from '../../../../money/model-prices.js';
import {
  type AnswerAbout,
  type AnswerEvent,
  type AnswerWriter,
  estimatedUsage,
  type Finish,
  type ShowCost,
} from '../answer-event.js';
import { COST_MEMBER, ESTIMATED_MEMBER } from '../cost-member.js';
import { writeFrame } from '../frames.js';
import { parsed } from '../exact-json.js';
import { idOf } from './call-id.js';

const STOP: Readonly<Record<Finish, string>> = {
  End: 'end_turn',
  Length: 'max_tokens',
  Stop: 'stop_sequence',
  Tool: 'tool_use',
  Refused: 'refusal',
};

type Kind = 'text' | 'thinking' | 'tool_use';

export function writeMessageStream(about: AnswerAbout, costOf: ShowCost): AnswerWriter {
  let index = -1;
  let open: Kind | undefined;
  let isSigned = false;
  let finish: Finish = 'End';
  let stop: string | undefined;
  const frame = (type: string, members: object): string => writeFrame(type, JSON.stringify({ type, ...members }));
  const delta = (members: object): string => frame('content_block_delta', { index, delta: members });

  const close = (): string => {
    if (open === undefined) return '';
    const isUnsigned = open === 'thinking' && !isSigned;
    const signature = isUnsigned ? delta({ type: 'signature_delta', signature: '' }) : '';
    open = undefined;
    return signature + frame('content_block_stop', { index });
  };
  const begin = (kind: Kind, block: object): string => {
    const closed = close();
    index += 1;
    open = kind;
    isSigned = false;
    return closed + frame('content_block_start', { index, content_block: block });
  };
  const within = (kind: 'text' | 'thinking', block: object): string =>
    open === kind && !isSigned ? '' : begin(kind, block);

  return {
    begin() {
      const usage = { ...inputOf(estimatedUsage(about.estimate, 0)), output_tokens: 1 };
      const message = { ...messageOf(about), content: [], stop_reason: null, stop_sequence: null, usage };
      return frame('message_start', { message });
    },
    event(event) {
      switch (event.type) {
        case 'Text':
        case 'Refusal':
          return within('text', { type: 'text', text: '' }) + delta({ type: 'text_delta', text: event.text });
        case 'Thinking':
          return (
            within('thinking', { type: 'thinking', thinking: '', signature: '' }) +
            delta({ type: 'thinking_delta', thinking: event.text })
          );
        case 'Signature': {
          const begun = open === 'thinking' ? '' : begin('thinking', { type: 'thinking', thinking: '', signature: '' });
          isSigned = true;
          return begun + delta({ type: 'signature_delta', signature: event.signature });
        }
        case 'HiddenThinking': {
          const closed = close();
          index += 1;
          const block = { type: 'redacted_thinking', data: event.data };
          return (
            closed +
            frame('content_block_start', { index, content_block: block }) +
            frame('content_block_stop', { index })
          );
        }
        case 'ToolCall':
          return begin('tool_use', { type: 'tool_use', id: idOf(event.id), name: event.name, input: {} });
        case 'Arguments':
          return delta({ type: 'input_json_delta', partial_json: event.json });
        case 'Finish':
          ({ finish } = event);
          ({ stop } = event);
          return '';
        case 'Usage':
          return '';
      }
    },
    end(usage, _reasoningTokens, isEstimate) {
      const ended = { stop_reason: STOP[finish], stop_sequence: stop ?? null };
      const estimated = isEstimate ? { [ESTIMATED_MEMBER]: true } : {};
      const shown = { ...messageUsage(usage), [COST_MEMBER]: costOf(usage), ...estimated };
      return close() + frame('message_delta', { delta: ended, usage: shown }) + frame('message_stop', {});
    },
  };
}

type Block =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; json: string };

/** `usage`: the upstream's, else our count. */
export function writeMessageAnswer(
  events: readonly AnswerEvent[],
  about: AnswerAbout,
  usage: Usage,
): Record<string, unknown> {
  const blocks: Block[] = [];
  let finish: Finish = 'End';
  let stop: string | undefined;
  for (const event of events) {
    const last = blocks.at(-1);
    switch (event.type) {
      case 'Text':
      case 'Refusal':
        if (last?.type === 'text') last.text += event.text;
        else blocks.push({ type: 'text', text: event.text });
        break;
      case 'Thinking':
        if (last?.type === 'thinking' && last.signature === '') last.thinking += event.text;
        else blocks.push({ type: 'thinking', thinking: event.text, signature: '' });
        break;
      case 'Signature':
        if (last?.type === 'thinking') last.signature = event.signature;
        else blocks.push({ type: 'thinking', thinking: '', signature: event.signature });
        break;
      case 'HiddenThinking':
        blocks.push({ type: 'redacted_thinking', data: event.data });
        break;
      case 'ToolCall':
        blocks.push({ type: 'tool_use', id: idOf(event.id), name: event.name, json: '' });
        break;
      case 'Arguments':
        if (last?.type === 'tool_use') last.json += event.json;
        break;
      case 'Finish':
        ({ finish, stop } = { stop: undefined, ...event });
        break;
      case 'Usage':
        break;
    }
  }
  return {
    ...messageOf(about),
    content: blocks.map(contentOf),
    ...{ stop_reason: STOP[finish], stop_sequence: stop ?? null, usage: messageUsage(usage) },
  };
}

/** Arguments of a call that was cut off are none. */
function contentOf(block: Block): unknown {
  if (block.type !== 'tool_use') return block;
  const { json, ...rest } = block;
  const input = parsed(json);
  return { ...rest, input: isObject(input) ? input : {} };
}

function messageOf({ id, model }: AnswerAbout): Record<string, unknown> {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model };
}

function inputOf({
  inputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  longCacheWriteTokens,
}: Usage): Record<string, number> {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: cacheWriteTokens + longCacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
  };
}

function messageUsage(usage: Usage): Record<string, unknown> {
  return { ...inputOf(usage), output_tokens: usage.outputTokens };
}
