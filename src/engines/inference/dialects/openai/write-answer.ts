/** Writes an answer as a chat completion, in chunks of a stream or whole. Pure but for the place in a stream that a writer keeps. */
import { promptTokens, type Usage } from '../../../../money/model-prices.js';
import type { AnswerAbout, AnswerEvent, AnswerWriter, Finish, ShowCost } from '../answer-event.js';
import { COST_MEMBER, ESTIMATED_MEMBER } from '../cost-member.js';
import { writeFrame } from '../frames.js';

const FINISH: Readonly<Record<Finish, string>> = {
  End: 'stop',
  Length: 'length',
  Stop: 'stop',
  Tool: 'tool_calls',
  Refused: 'content_filter',
};

export function writeChatStream(about: AnswerAbout, costOf: ShowCost): AnswerWriter {
  const common = {
    ...{ id: `chatcmpl-${about.id}`, object: 'chat.completion.chunk', created: about.created, model: about.model },
  };
  // Where usage is asked for, every chunk but the last says null.
  const rest = about.wantsUsage ? { usage: null } : {};
  let calls = 0;
  /** The call that is being told has said nothing of its arguments yet. */
  let isBare = false;
  let thought = '';
  /** Told at once at the end: clients keep the last of a list that comes in pieces without an index. */
  const blocks: object[] = [];
  let finish: Finish | undefined;
  const chunk = (delta: object, reason: string | null = null): string => {
    const choice = { index: 0, delta, logprobs: null, finish_reason: reason };
    return writeFrame(undefined, JSON.stringify({ ...common, choices: [choice], ...rest }));
  };
  const call = (more: object): string => chunk({ tool_calls: [{ index: calls - 1, ...more }] });
  /** A call without arguments has an empty object, or clients cannot read it. */
  const endCall = (): string => {
    if (!isBare) return '';
    isBare = false;
    return call({ function: { arguments: '{}' } });
  };

  return {
    begin: () => chunk({ role: 'assistant', content: '' }),
    event(event) {
      switch (event.type) {
        case 'Text':
          return chunk({ content: event.text });
        case 'Refusal':
          return chunk({ refusal: event.text });
        case 'Thinking':
          thought += event.text;
          return chunk({ reasoning_content: event.text });
        case 'Signature': {
          blocks.push({ type: 'thinking', thinking: thought, signature: event.signature });
          thought = '';
          return '';
        }
        case 'HiddenThinking':
          blocks.push({ type: 'redacted_thinking', data: event.data });
          return '';
        case 'ToolCall': {
          const ended = endCall();
          calls += 1;
          isBare = true;
          return ended + call({ id: event.id, type: 'function', function: { name: event.name, arguments: '' } });
        }
        case 'Arguments':
          if (event.json !== '') isBare = false;
          return call({ function: { arguments: event.json } });
        case 'Finish':
          finish = event.finish;
          return '';
        case 'Usage':
          return '';
      }
    },
    end(usage, reasoningTokens, isEstimate) {
      const thinking = blocks.length === 0 ? '' : chunk({ thinking_blocks: blocks });
      const last = endCall() + thinking + chunk({}, FINISH[finish ?? 'End']);
      const shown = { ...chatUsage(usage, reasoningTokens), [COST_MEMBER]: costOf(usage) };
      const estimated = isEstimate ? { [ESTIMATED_MEMBER]: true } : {};
      const counted = JSON.stringify({ ...common, choices: [], usage: { ...shown, ...estimated } });
      return `${last}${about.wantsUsage ? writeFrame(undefined, counted) : ''}${writeFrame(undefined, '[DONE]')}`;
    },
  };
}

/** `usage`: the upstream's, else our count. */
export function writeChatAnswer(
  events: readonly AnswerEvent[],
  about: AnswerAbout,
  usage: Usage,
  reasoningTokens: number,
): Record<string, unknown> {
  const calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = [];
  const blocks: object[] = [];
  let [text, refusal, thinking, thought] = ['', '', '', ''];
  let finish: Finish = 'End';
  for (const event of events) {
    switch (event.type) {
      case 'Text':
        text += event.text;
        break;
      case 'Refusal':
        refusal += event.text;
        break;
      case 'Thinking':
        thinking += event.text;
        thought += event.text;
        break;
      case 'Signature':
        blocks.push({ type: 'thinking', thinking: thought, signature: event.signature });
        thought = '';
        break;
      case 'HiddenThinking':
        blocks.push({ type: 'redacted_thinking', data: event.data });
        break;
      case 'ToolCall':
        calls.push({ id: event.id, type: 'function', function: { name: event.name, arguments: '' } });
        break;
      case 'Arguments': {
        const last = calls.at(-1);
        if (last !== undefined) last.function.arguments += event.json;
        break;
      }
      case 'Finish':
        finish = event.finish;
        break;
      case 'Usage':
        break;
    }
  }
  const message = {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(thinking === '' ? {} : { reasoning_content: thinking }),
    ...(blocks.length === 0 ? {} : { thinking_blocks: blocks }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    ...{ id: `chatcmpl-${about.id}`, object: 'chat.completion', created: about.created, model: about.model },
    choices: [{ index: 0, message, logprobs: null, finish_reason: FINISH[finish] }],
    usage: chatUsage(usage, reasoningTokens),
  };
}

/** Its prompt contains what was read from caches and written to them. */
function chatUsage(usage: Usage, reasoningTokens: number): Record<string, unknown> {
  const prompt = promptTokens(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.outputTokens,
    total_tokens: prompt + usage.outputTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cacheReadTokens,
      cache_write_tokens: usage.cacheWriteTokens + usage.longCacheWriteTokens,
    },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}
