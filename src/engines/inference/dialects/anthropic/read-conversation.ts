/**
 * Reads a request for a message into a conversation. Precondition: `readAnthropic` has accepted the body. Throws a `CannotCarry` for what no
 * other dialect can say.
 */
import { isObject } from '../../../../api/safe-value.js';
import { type Body, isGiven, listOf } from '../body.js';
import {
  type AssistantPart,
  CannotCarry,
  type Conversation,
  type Effort,
  EFFORTS,
  type Format,
  inTurns,
  isEffort,
  type MediaPart,
  type Reasoning,
  type TextPart,
  type Tool,
  type ToolChoice,
  type Turn,
  type UserPart,
} from '../conversation.js';
import { writeExact } from '../exact-json.js';
import { checkType } from '../media.js';
import { booleanOf, checkChoice, checkMembers, NOT_SAID, numberOf, objectOf, textOf } from '../not-said.js';

/** Read below, or hints, which change no answer, and what is the same without. */
const READ = new Set([
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'stop_sequences', 'temperature', 'top_p', 'tools'],
  ...['tool_choice', 'thinking', 'output_config', 'output_format', 'metadata', 'context_management'],
  ...['cache_control', 'service_tier', 'speed', 'inference_geo', 'diagnostics'],
]);

/** Of messages, their blocks and tools: read below, hints, and what answers carry beside what they say, which clients send back. */
const MESSAGE = new Set(['role', 'content']);
const BLOCK = ['type', 'cache_control'];
const BLOCKS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set([...BLOCK, 'text', 'citations']),
  image: new Set([...BLOCK, 'source']),
  document: new Set([...BLOCK, 'source', 'title', 'citations']),
  tool_result: new Set([...BLOCK, 'tool_use_id', 'content', 'is_error']),
  tool_use: new Set([...BLOCK, 'id', 'name', 'input', 'caller']),
  thinking: new Set([...BLOCK, 'thinking', 'signature']),
  redacted_thinking: new Set([...BLOCK, 'data']),
};
const OUTPUT_CONFIG = new Set(['effort', 'format']);
const EDITS = new Set(['edits']);
const FORMAT = new Set(['type', 'name', 'schema', 'strict']);
const CHOICE = new Set(['type', 'name', 'disable_parallel_tool_use']);
const THINKING = new Set(['type', 'budget_tokens', 'display']);
const SOURCE = new Set(['type', 'media_type', 'data', 'url']);
const TOOL = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
  'eager_input_streaming',
]);

export function readMessages(body: Body): Conversation {
  for (const [member, value] of Object.entries(body))
    if (!READ.has(member) && isGiven(value)) throw new CannotCarry(member, NOT_SAID);
  checkEdits(body['context_management']);
  const { system, turns } = readTurns(listOf(body['messages']));
  if (turns.at(-1)?.role === 'Assistant')
    throw new CannotCarry(
      'messages',
      'must end with the user: the dialect of the upstream begins no answer with given words',
    );
  const tools = listOf(body['tools']).map((tool, at) => readTool(tool, `tools[${at}]`));
  const choice = readChoice(body['tool_choice']);
  checkChoice(choice.toolChoice, tools);
  const user = textOf(objectOf(body['metadata'], 'metadata')['user_id'], 'metadata.user_id');
  return {
    ...{ system: [...textsOf(body['system'], 'system'), ...system], turns, saidIn: 'messages' },
    tools,
    ...choice,
    maxOutputTokens: numberOf(body, 'max_tokens'),
    temperature: numberOf(body, 'temperature'),
    topP: numberOf(body, 'top_p'),
    stop: readStop(body['stop_sequences']),
    format: readFormat(body),
    reasoning: readReasoning(body),
    user,
  };
}

const CLEARS = /^clear_(thinking|tool_uses)_\d+$/;

/** What clears thinking and results of tools saves the client money, and no more: without it the answer is the same. */
function checkEdits(management: unknown): void {
  if (isObject(management)) checkMembers(management, 'context_management', EDITS);
  const edits = listOf(isObject(management) ? management['edits'] : undefined);
  const index = edits.findIndex((edit) => !isObject(edit) || !CLEARS.test(String(edit['type'])));
  if (index >= 0) throw new CannotCarry(`context_management.edits[${index}]`, NOT_SAID);
}

function readTurns(messages: readonly unknown[]): { readonly system: string[]; readonly turns: readonly Turn[] } {
  const system: string[] = [];
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (!isObject(message)) throw new CannotCarry(at, 'must be an object');
    checkMembers(message, at, MESSAGE);
    const { role, content } = message;
    if (role === 'system') system.push(...textsOf(content, `${at}.content`));
    else if (role === 'user') turns.push({ role: 'User', parts: readUser(content, `${at}.content`) });
    else if (role === 'assistant') turns.push({ role: 'Assistant', parts: readAssistant(content, `${at}.content`) });
    else throw new CannotCarry(`${at}.role`, 'must be user or assistant');
  }
  return { system, turns: inTurns(turns) };
}

function blocksOf(content: unknown, at: string): readonly (readonly [block: Body, at: string])[] {
  if (!isGiven(content)) return [];
  if (typeof content === 'string') return content === '' ? [] : [[{ type: 'text', text: content }, at]];
  if (!Array.isArray(content)) throw new CannotCarry(at, 'must be a string or a list of blocks');
  return content.map((block: unknown, index) => {
    if (!isObject(block)) throw new CannotCarry(`${at}[${index}]`, 'must be an object');
    const { type } = block;
    const known = typeof type === 'string' && Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined;
    // What has another type is refused by who reads it.
    if (known !== undefined) checkMembers(block, `${at}[${index}]`, known);
    return [block, `${at}[${index}]`] as const;
  });
}

function textsOf(content: unknown, where: string): readonly string[] {
  return blocksOf(content, where).map(([{ type, text }, at]) => {
    if (type === 'text' && typeof text === 'string') return text;
    throw new CannotCarry(at, 'must be text');
  });
}

function readUser(content: unknown, where: string): readonly UserPart[] {
  return blocksOf(content, where).map(([block, at]): UserPart => {
    if (block['type'] !== 'tool_result') return readPart(block, at);
    const id = block['tool_use_id'];
    if (typeof id !== 'string' || id === '') throw new CannotCarry(`${at}.tool_use_id`, 'must be the id of a call');
    const parts = blocksOf(block['content'], `${at}.content`).map(([inner, place]) => readPart(inner, place));
    return { is: 'ToolResult', id, parts, failed: booleanOf(block['is_error'], `${at}.is_error`) === true };
  });
}

function readPart(block: Body, at: string): TextPart | MediaPart {
  const { type, text, source, title, citations } = block;
  if (isObject(citations) && citations['enabled'] === true) throw new CannotCarry(`${at}.citations`, NOT_SAID);
  if (type === 'text' && typeof text === 'string') return { is: 'Text', text };
  if ((type === 'image' || type === 'document') && isObject(source))
    return readSource(
      type === 'image' ? 'Image' : 'Document',
      source,
      at,
      typeof title === 'string' ? title : undefined,
    );
  throw new CannotCarry(at, 'must be a block of type text, image, document or tool_result');
}

function readSource(
  media: MediaPart['media'],
  source: Body,
  at: string,
  name: string | undefined,
): TextPart | MediaPart {
  checkMembers(source, `${at}.source`, SOURCE);
  const { type: by, media_type: type, data, url } = source;
  if (media === 'Document' && by === 'text' && typeof data === 'string')
    return { is: 'Text', text: name === undefined ? data : `${name}\n\n${data}` };
  const about = { is: 'Media', media, at, ...(name === undefined ? {} : { name }) } as const;
  if (by === 'url' && typeof url === 'string') return { ...about, source: { by: 'URL', url } };
  if (by === 'base64' && typeof type === 'string' && typeof data === 'string') {
    checkType(media, type, at);
    return { ...about, source: { by: 'Data', type, base64: data } };
  }
  throw new CannotCarry(`${at}.source`, 'must be base64, text or a url');
}

function readAssistant(content: unknown, where: string): readonly AssistantPart[] {
  return blocksOf(content, where).map(([block, at]): AssistantPart => {
    const { type, text, thinking, signature, data, id, name, input } = block;
    if (type === 'text' && typeof text === 'string') return { is: 'Text', text };
    if (type === 'thinking' && typeof thinking === 'string') {
      const isSigned = typeof signature === 'string' && signature !== '';
      return { is: 'Thinking', text: thinking, signature: isSigned ? signature : undefined };
    }
    if (type === 'redacted_thinking' && typeof data === 'string') return { is: 'HiddenThinking', data };
    if (type === 'tool_use' && typeof id === 'string' && typeof name === 'string')
      return { is: 'ToolCall', id, name, arguments: callArguments(input, at) };
    throw new CannotCarry(at, 'must be a block of type text, thinking, redacted_thinking or tool_use');
  });
}

function callArguments(input: unknown, at: string): string {
  if (!isGiven(input)) return '{}';
  if (!isObject(input)) throw new CannotCarry(`${at}.input`, 'must be an object');
  return writeExact(input);
}

function readStop(given: unknown): readonly string[] {
  if (!isGiven(given)) return [];
  const isText = (one: unknown): one is string => typeof one === 'string' && one !== '';
  if (Array.isArray(given) && given.every(isText)) return given;
  throw new CannotCarry('stop_sequences', 'must be a list of texts, none of them empty');
}

function readTool(tool: unknown, at: string): Tool {
  if (!isObject(tool)) throw new CannotCarry(at, 'must be an object');
  const { type, name, description, input_schema: schema, strict } = tool;
  if (isGiven(type) && type !== 'custom' && type !== 'function')
    throw new CannotCarry(
      `${at}.type`,
      'must be left out: tools that their vendor describes exist in this dialect alone',
    );
  checkTool(tool, at);
  if (typeof name !== 'string' || name === '') throw new CannotCarry(at, 'must have a name');
  if (isGiven(schema) && !isObject(schema)) throw new CannotCarry(`${at}.input_schema`, 'must be an object');
  return {
    name,
    description: textOf(description, `${at}.description`),
    parameters: isObject(schema) ? schema : undefined,
    strict: booleanOf(strict, `${at}.strict`),
  };
}

/** A tool that waits until it is searched for, examples of its use, and who but the model may call it exist in this dialect alone. */
function checkTool(tool: Body, at: string): void {
  const { defer_loading: deferred, input_examples: examples, allowed_callers: callers, ...rest } = tool;
  if (isGiven(deferred) && deferred !== false) throw new CannotCarry(`${at}.defer_loading`, NOT_SAID);
  if (listOf(examples).length > 0) throw new CannotCarry(`${at}.input_examples`, NOT_SAID);
  if (listOf(callers).some((caller) => caller !== 'direct')) throw new CannotCarry(`${at}.allowed_callers`, NOT_SAID);
  checkMembers(rest, at, TOOL);
}

function readChoice(choice: unknown): Pick<Conversation, 'toolChoice' | 'parallelTools'> {
  if (!isGiven(choice)) return { toolChoice: undefined, parallelTools: undefined };
  if (isObject(choice)) checkMembers(choice, 'tool_choice', CHOICE);
  const { type, name, disable_parallel_tool_use: one } = isObject(choice) ? choice : {};
  const parallelTools = booleanOf(one, 'tool_choice.disable_parallel_tool_use') === true ? false : undefined;
  const plain: Readonly<Record<string, ToolChoice>> = {
    auto: { is: 'Auto' },
    none: { is: 'None' },
    any: { is: 'Any' },
  };
  const toolChoice = typeof type === 'string' && Object.hasOwn(plain, type) ? plain[type] : undefined;
  if (toolChoice !== undefined) return { toolChoice, parallelTools };
  if (type === 'tool' && typeof name === 'string') return { toolChoice: { is: 'Tool', name }, parallelTools };
  throw new CannotCarry('tool_choice', 'must be of type auto, any, none or tool');
}

function readFormat({ output_config: config, output_format: older }: Body): Format | undefined {
  if (isObject(config)) checkMembers(config, 'output_config', OUTPUT_CONFIG);
  const format: unknown = isObject(config) && isGiven(config['format']) ? config['format'] : older;
  if (!isGiven(format)) return undefined;
  const at = format === older ? 'output_format' : 'output_config.format';
  if (isObject(format)) checkMembers(format, at, FORMAT);
  if (!isObject(format) || format['type'] !== 'json_schema' || !isObject(format['schema']))
    throw new CannotCarry(at, 'must be of type json_schema, with a schema');
  return { name: undefined, schema: format['schema'], strict: true };
}

/** Tokens of reasoning up to which it is of this effort. */
const EFFORT_OF_BUDGET: readonly (readonly [most: number, effort: Effort])[] = [
  [2_048, 'low'],
  [12_288, 'medium'],
  [Infinity, 'high'],
];

function readReasoning({ thinking: given, output_config: config }: Body): Reasoning | undefined {
  const thinking = objectOf(given, 'thinking');
  checkMembers(thinking, 'thinking', THINKING);
  const { type, budget_tokens: budget } = thinking;
  const asked = objectOf(config, 'output_config')['effort'];
  if (isGiven(asked) && !isEffort(asked))
    throw new CannotCarry('output_config.effort', `must be one of ${EFFORTS.join(', ')}`);
  if (type === 'disabled') return undefined;
  if (isEffort(asked)) return { effort: asked, at: 'output_config.effort' };
  if (type === undefined) return undefined;
  if (type === 'adaptive') return { effort: 'medium', at: 'thinking' };
  if (type !== 'enabled') throw new CannotCarry('thinking.type', 'must be enabled, adaptive or disabled');
  if (typeof budget !== 'number') throw new CannotCarry('thinking.budget_tokens', 'must be a number of tokens');
  const effort = EFFORT_OF_BUDGET.find(([limit]) => budget <= limit)?.[1] ?? 'high';
  return { effort, at: 'thinking' };
}
