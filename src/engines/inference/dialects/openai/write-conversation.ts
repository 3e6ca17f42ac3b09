/** Writes a conversation as a chat completion's request. Throws a `CannotCarry` for what this dialect cannot say. Pure. */

import {
  type AssistantPart,
  CannotCarry,
  type Conversation,
  hashedUser,
  type MediaPart,
  type TextPart,
  type ToolResult,
  type Turn,
  type UserPart,
} from '../conversation.js';
import { madeIdOf } from '../anthropic/call-id.js';
import type { MaxTokensMember } from '../dialect.js';
import { dataURL } from '../media.js';

export interface ChatOptions {
  /** Servers differ in which they obey. */
  readonly maxTokensMember: MaxTokensMember;
  readonly stream: boolean;
}

/** Vendors refuse longer ones. */
const LONGEST_USER = 64;

/** Without `model`. */
export function writeChat(conversation: Conversation, options: ChatOptions): Record<string, unknown> {
  const { tools, toolChoice, parallelTools, stop, format, reasoning, user, temperature, topP, maxOutputTokens } =
    conversation;
  const said = conversation.turns.flatMap((turn) => writeTurn(turn));
  if (said.length === 0) throw new CannotCarry(conversation.saidIn, 'must say something');
  const system = conversation.system.filter((text) => text !== '').join('\n\n');
  return {
    messages: system === '' ? said : [{ role: 'system', content: system }, ...said],
    ...(maxOutputTokens === undefined ? {} : { [options.maxTokensMember]: maxOutputTokens }),
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool) }),
    ...(tools.length === 0 || toolChoice === undefined ? {} : { tool_choice: writeChoice(toolChoice) }),
    ...(tools.length === 0 || parallelTools === undefined ? {} : { parallel_tool_calls: parallelTools }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stop.length === 0 ? {} : { stop }),
    ...(format === undefined ? {} : { response_format: writeFormat(format) }),
    ...(reasoning === undefined ? {} : { reasoning_effort: reasoning.effort === 'max' ? 'xhigh' : reasoning.effort }),
    ...(user === undefined ? {} : { user: user.length > LONGEST_USER ? hashedUser(user) : user }),
    ...(options.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function writeTurn(turn: Turn): readonly unknown[] {
  return turn.role === 'Assistant' ? writeAssistant(turn.parts) : writeUser(turn.parts);
}

/** Each result is a message of its own; what a result shows follows in a message of the user, since a result is text alone. */
function writeUser(parts: readonly UserPart[]): readonly unknown[] {
  const results = parts.filter((part): part is ToolResult => part.is === 'ToolResult');
  const rest = parts.filter((part): part is TextPart | MediaPart => part.is !== 'ToolResult');
  const shown = results.flatMap(({ id, parts: inside }): (TextPart | MediaPart)[] => {
    const media = inside.filter((part) => part.is === 'Media');
    return media.length === 0 ? [] : [{ is: 'Text', text: `Shown by the call ${id}:` }, ...media];
  });
  const said = [...shown, ...rest];
  const user = said.length === 0 ? [] : [{ role: 'user', content: writeContent(said) }];
  return [...results.map(writeResult), ...user];
}

function writeResult({ id, parts, failed }: ToolResult): unknown {
  const text = parts.flatMap((part) => (part.is === 'Text' ? [part.text] : [])).join('\n');
  const isShown = text === '' && parts.some((part) => part.is === 'Media');
  const content = isShown ? 'It is shown in the next message.' : text;
  return { role: 'tool', tool_call_id: madeIdOf(id), content: failed ? `Error: ${content}` : content };
}

function writeContent(parts: readonly (TextPart | MediaPart)[]): unknown {
  const [first, ...others] = parts;
  return first?.is === 'Text' && others.length === 0 ? first.text : parts.map(writePart);
}

function writePart(part: TextPart | MediaPart): unknown {
  if (part.is === 'Text') return { type: 'text', text: part.text };
  const { source, media, name = 'document.pdf', at } = part;
  if (media === 'Image') {
    const url = source.by === 'URL' ? source.url : dataURL(source.type, source.base64);
    return { type: 'image_url', image_url: { url } };
  }
  if (source.by === 'URL')
    throw new CannotCarry(at, 'must have its data: the dialect of the upstream takes no documents from addresses');
  return { type: 'file', file: { filename: name, file_data: dataURL(source.type, source.base64) } };
}

/** Thinking stays here: it is its own vendor's, or has no signature. */
function writeAssistant(parts: readonly AssistantPart[]): readonly unknown[] {
  const text = parts.flatMap((part) => (part.is === 'Text' ? [part.text] : [])).join('');
  const calls = parts.flatMap((part) => {
    if (part.is !== 'ToolCall') return [];
    return [{ id: madeIdOf(part.id), type: 'function', function: { name: part.name, arguments: part.arguments } }];
  });
  if (text === '' && calls.length === 0) return [];
  const content = text === '' ? null : text;
  return [{ role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
}

function writeTool({ name, description, parameters, strict }: Conversation['tools'][number]): unknown {
  const described = {
    name,
    ...(description === undefined ? {} : { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
    ...(strict === undefined ? {} : { strict }),
  };
  return { type: 'function', function: described };
}

function writeChoice(choice: NonNullable<Conversation['toolChoice']>): unknown {
  switch (choice.is) {
    case 'Auto':
      return 'auto';
    case 'None':
      return 'none';
    case 'Any':
      return 'required';
    case 'Tool':
      return { type: 'function', function: { name: choice.name } };
  }
}

function writeFormat({ name = 'answer', schema, strict }: NonNullable<Conversation['format']>): unknown {
  return { type: 'json_schema', json_schema: { name, schema, ...(strict === undefined ? {} : { strict }) } };
}
