/** Writes a conversation as a request for a message. Throws a `CannotCarry` for what this dialect cannot say. Pure. */

import { isObject } from '../../../../api/safe-value.js';
import { idOf } from './call-id.js';
import {
  type AssistantPart,
  CannotCarry,
  type Conversation,
  type Effort,
  hashedUser,
  inTurns,
  type MediaPart,
  type TextPart,
  type ToolResult,
  type Turn,
  type UserPart,
} from '../conversation.js';
import { parsed } from '../exact-json.js';

export interface MessageOptions {
  /** Of a conversation that does not say. */
  readonly maxOutputTokens: number;
  /** How this model is told to reason: by a number of tokens, or as it thinks best. */
  readonly thinking: 'budget' | 'adaptive';
  readonly stream: boolean;
}

/** What part of `max_tokens` may be reasoning. */
const SHARE: Readonly<Record<Effort, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
  max: 0.95,
};
/** The vendor refuses less. */
const LEAST_THINKING = 1_024;

/** Without `model`. */
export function writeMessages(conversation: Conversation, options: MessageOptions): Record<string, unknown> {
  const { system, tools, stop, format, user, topP } = conversation;
  const turns = spokenTurns(conversation.turns);
  if (turns.at(-1)?.role === 'Assistant') {
    const message =
      'must end with a user or a tool: the dialect of the upstream would go on with an answer that has begun';
    throw new CannotCarry(conversation.saidIn, message);
  }
  if (turns.length === 0) throw new CannotCarry(conversation.saidIn, 'must say something');
  const most = conversation.maxOutputTokens ?? options.maxOutputTokens;
  const reasoning = writeReasoning(conversation, most, options, turns);
  const config = {
    ...reasoning.config,
    ...(format === undefined ? {} : { format: { type: 'json_schema', schema: format.schema } }),
  };
  const { temperature } = conversation;
  if (temperature !== undefined && temperature > 1)
    throw new CannotCarry('temperature', 'must be 1 at most, in the dialect of the upstream');
  if (reasoning.thinking !== undefined && temperature !== undefined && temperature !== 1)
    throw new CannotCarry('temperature', 'must be 1 or left out beside reasoning, in the dialect of the upstream');
  return {
    max_tokens: most,
    ...(system.some(isSaid) ? { system: system.filter(isSaid).map((text) => ({ type: 'text', text })) } : {}),
    messages: turns.map(writeTurn),
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool) }),
    ...writeChoice(conversation),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stop.length === 0 ? {} : { stop_sequences: stop }),
    ...(reasoning.thinking === undefined ? {} : { thinking: reasoning.thinking }),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
    // It must not tell who it is.
    ...(user === undefined ? {} : { metadata: { user_id: hashedUser(user) } }),
    ...(options.stream ? { stream: true } : {}),
  };
}

interface WrittenReasoning {
  readonly thinking: unknown;
  readonly config: Readonly<Record<string, unknown>>;
}

const NO_REASONING: WrittenReasoning = { thinking: undefined, config: {} };

function writeReasoning(
  { reasoning, toolChoice }: Conversation,
  most: number,
  { thinking }: MessageOptions,
  turns: readonly Turn[],
): WrittenReasoning {
  if (reasoning === undefined) return NO_REASONING;
  const { effort, at } = reasoning;
  if (toolChoice?.is === 'Any' || toolChoice?.is === 'Tool')
    throw new CannotCarry(at, 'must be left out beside a tool that has to be called, in the dialect of the upstream');
  // Within the use of tools the reasoning before has to be there, and a client that has not kept it goes on without.
  if (lacksThinking(turns)) return NO_REASONING;
  if (thinking === 'adaptive')
    return { thinking: { type: 'adaptive' }, config: { effort: effort === 'minimal' ? 'low' : effort } };
  if (most <= LEAST_THINKING)
    throw new CannotCarry(at, `needs a max_tokens of more than ${LEAST_THINKING} in the dialect of the upstream`);
  const budget = Math.min(most - 1, Math.max(LEAST_THINKING, Math.floor(most * SHARE[effort])));
  return { thinking: { type: 'enabled', budget_tokens: budget }, config: {} };
}

function lacksThinking(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  const before = turns.at(-2);
  if (last?.role !== 'User' || before?.role !== 'Assistant') return false;
  if (!last.parts.some(({ is }) => is === 'ToolResult')) return false;
  return !before.parts.some(({ is }) => is === 'Thinking' || is === 'HiddenThinking');
}

/** Texts without a word are refused by the vendor, and thinking without a signature as well. */
function spokenTurns(turns: readonly Turn[]): readonly Turn[] {
  return inTurns(
    turns.map((turn): Turn => {
      if (turn.role === 'User') return { role: 'User', parts: turn.parts.filter(isSpoken) };
      return { role: 'Assistant', parts: turn.parts.filter(isSpoken) };
    }),
  );
}

function isSpoken(part: UserPart | AssistantPart): boolean {
  if (part.is === 'Text') return isSaid(part.text);
  return part.is !== 'Thinking' || part.signature !== undefined;
}

function isSaid(text: string): boolean {
  return text.trim() !== '';
}

function writeTurn(turn: Turn): unknown {
  if (turn.role === 'Assistant') return { role: 'assistant', content: inOrder(turn.parts).map(writeAssistantPart) };
  // All results of a turn come before what else the user says.
  const results = turn.parts.filter((part) => part.is === 'ToolResult');
  const rest = turn.parts.filter((part) => part.is !== 'ToolResult');
  return { role: 'user', content: [...results.map(writeResult), ...rest.map(writePart)] };
}

/** Thinking comes first. Where it does, the order is that of the vendor. */
function inOrder(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const isThinking = ({ is }: AssistantPart): boolean => is === 'Thinking' || is === 'HiddenThinking';
  const [first] = parts;
  if (first !== undefined && isThinking(first)) return parts;
  return [...parts.filter(isThinking), ...parts.filter((part) => !isThinking(part))];
}

function writeAssistantPart(part: AssistantPart): unknown {
  switch (part.is) {
    case 'Text':
      return { type: 'text', text: part.text };
    case 'Thinking':
      return { type: 'thinking', thinking: part.text, signature: part.signature };
    case 'HiddenThinking':
      return { type: 'redacted_thinking', data: part.data };
    case 'ToolCall':
      return { type: 'tool_use', id: idOf(part.id), name: part.name, input: inputOf(part.arguments) };
  }
}

/** Arguments that a model was cut off in are none. */
function inputOf(json: string): unknown {
  const value = parsed(json);
  return isObject(value) ? value : {};
}

function writeResult({ id, parts, failed }: ToolResult): unknown {
  const content = parts.filter((part) => part.is !== 'Text' || part.text !== '').map(writePart);
  const error = failed ? { is_error: true } : {};
  return { type: 'tool_result', tool_use_id: idOf(id), ...(content.length === 0 ? {} : { content }), ...error };
}

function writePart(part: TextPart | MediaPart): unknown {
  if (part.is === 'Text') return { type: 'text', text: part.text };
  const { source, media, name } = part;
  const written =
    source.by === 'URL'
      ? { type: 'url', url: source.url }
      : { type: 'base64', media_type: source.type, data: source.base64 };
  if (media === 'Image') return { type: 'image', source: written };
  return { type: 'document', source: written, ...(name === undefined ? {} : { title: name }) };
}

function writeTool({ name, description, parameters, strict }: Conversation['tools'][number]): unknown {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: parameters === undefined ? { type: 'object', properties: {} } : { type: 'object', ...parameters },
    ...(strict === true ? { strict } : {}),
  };
}

function writeChoice({ toolChoice, parallelTools, tools }: Conversation): Record<string, unknown> {
  if (tools.length === 0) return {};
  const one = parallelTools === false ? { disable_parallel_tool_use: true } : {};
  switch (toolChoice?.is) {
    case undefined:
      return parallelTools === false ? { tool_choice: { type: 'auto', ...one } } : {};
    case 'None':
      return { tool_choice: { type: 'none' } };
    case 'Auto':
      return { tool_choice: { type: 'auto', ...one } };
    case 'Any':
      return { tool_choice: { type: 'any', ...one } };
    case 'Tool':
      return { tool_choice: { type: 'tool', name: toolChoice.name, ...one } };
  }
}
