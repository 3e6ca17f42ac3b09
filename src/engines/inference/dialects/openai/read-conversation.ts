/**
 * Reads a chat completion's request into a conversation. Precondition: `readOpenAI` has accepted the body. Throws a `CannotCarry` for what
 * no other dialect can say.
 */
import { isObject } from '../../../../api/safe-value.js';
import { type Body, isGiven, listOf } from '../body.js';
import {
  type AssistantPart,
  CannotCarry,
  type Conversation,
  type Format,
  inTurns,
  textsAlone,
  isEffort,
  type MediaPart,
  type Reasoning,
  type TextPart,
  type Tool,
  type ToolChoice,
  type Turn,
} from '../conversation.js';
import { CallArguments } from '../arguments.js';
import { mediaOfURL } from '../media.js';
import { booleanOf, checkChoice, checkMembers, NOT_SAID, numberOf, textOf } from '../not-said.js';

/** Read below, or hints, which change no answer, and what is the same without. */
const READ = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p'],
  ...['stop', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'reasoning_effort', 'user'],
  ...['store', 'metadata', 'service_tier', 'prompt_cache_key', 'prompt_cache_retention', 'safety_identifier'],
]);

/** Of messages, their parts, calls and tools: read below, hints, and what answers carry beside what they say, which clients send back. */
const MESSAGE = new Set([
  ...['role', 'content', 'tool_calls', 'tool_call_id', 'refusal', 'thinking_blocks', 'cache_control'],
  ...['reasoning', 'reasoning_content', 'reasoning_details', 'annotations', 'parsed', 'provider_specific_fields'],
]);
const NAMED_MESSAGE = new Set([...MESSAGE, 'name']);
const PARTS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(['type', 'text', 'cache_control', 'annotations']),
  image_url: new Set(['type', 'image_url', 'cache_control']),
  file: new Set(['type', 'file', 'cache_control']),
  refusal: new Set(['type', 'refusal', 'cache_control']),
};
const IMAGE = new Set(['url', 'detail']);
const FILE = new Set(['file_data', 'filename']);
const CALL = new Set(['id', 'type', 'function', 'index', 'cache_control', 'extra_content', 'provider_specific_fields']);
const CALLED = new Set(['name', 'arguments', 'parsed_arguments']);
const TOOL = new Set(['type', 'function', 'cache_control']);
const CHOICE = new Set(['type', 'function', 'name', 'allowed_tools', 'mode', 'tools']);
const FORMAT = new Set(['type', 'json_schema']);
const STREAM_OPTIONS = new Set(['include_usage', 'include_obfuscation']);
const THINKING = new Set(['type', 'thinking', 'signature', 'data', 'cache_control']);
const SCHEMA = new Set(['type', 'name', 'description', 'schema', 'strict']);
const FUNCTION = new Set(['name', 'description', 'parameters', 'strict']);

/** What says nothing. */
const NEUTRAL = new Map<string, (value: unknown) => boolean>(
  Object.entries({
    n: (value: unknown) => value === 1,
    best_of: (value: unknown) => value === 1,
    logprobs: (value: unknown) => value === false,
    top_logprobs: (value: unknown) => value === 0,
    presence_penalty: (value: unknown) => value === 0,
    frequency_penalty: (value: unknown) => value === 0,
    logit_bias: (value: unknown) => isObject(value) && Object.keys(value).length === 0,
    modalities: (value: unknown) => Array.isArray(value) && value.every((one) => one === 'text'),
    functions: (value: unknown) => Array.isArray(value) && value.length === 0,
  }),
);

export function readChat(body: Body): Conversation {
  for (const [member, value] of Object.entries(body)) {
    if (READ.has(member) || !isGiven(value) || NEUTRAL.get(member)?.(value) === true) continue;
    throw new CannotCarry(member, NOT_SAID);
  }
  const { stream_options: options } = body;
  if (isObject(options)) checkMembers(options, 'stream_options', STREAM_OPTIONS);
  const { system, turns } = readMessages(listOf(body['messages']));
  const tools = listOf(body['tools']).map((tool, at) => readTool(tool, `tools[${at}]`));
  const choice = readChoice(body['tool_choice'], tools);
  checkChoice(choice.toolChoice, choice.tools);
  return {
    ...{ system, turns, saidIn: 'messages', tools: choice.tools, toolChoice: choice.toolChoice },
    parallelTools: booleanOf(body['parallel_tool_calls'], 'parallel_tool_calls'),
    maxOutputTokens: numberOf(body, 'max_completion_tokens') ?? numberOf(body, 'max_tokens'),
    temperature: numberOf(body, 'temperature'),
    topP: numberOf(body, 'top_p'),
    stop: stopsOf(body['stop']),
    format: readFormat(body['response_format']),
    reasoning: reasoningOf(body['reasoning_effort']),
    user: textOf(body['user'], 'user'),
  };
}

export function stopsOf(stop: unknown): readonly string[] {
  if (!isGiven(stop)) return [];
  const list: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  return list.map((one) => {
    if (typeof one === 'string' && one !== '') return one;
    throw new CannotCarry('stop', 'must be a string, or a list of strings, none of them empty');
  });
}

function reasoningOf(effort: unknown): Reasoning | undefined {
  if (!isGiven(effort) || effort === 'none') return undefined;
  if (isEffort(effort)) return { effort, at: 'reasoning_effort' };
  throw new CannotCarry('reasoning_effort', 'must be none, minimal, low, medium, high or xhigh');
}

interface Read {
  readonly system: string[];
  readonly turns: readonly Turn[];
}

function readMessages(messages: readonly unknown[]): Read {
  const system: string[] = [];
  const turns: Turn[] = [];
  const given = new CallArguments();
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (!isObject(message)) throw new CannotCarry(at, 'must be an object');
    const { role, content } = message;
    // The name of a tool stands in its call too.
    checkMembers(message, at, role === 'tool' ? NAMED_MESSAGE : MESSAGE);
    switch (role) {
      case 'system':
      case 'developer':
        system.push(...textsAlone(readContent(content, `${at}.content`), `${at}.content`));
        break;
      case 'user':
        turns.push({ role: 'User', parts: readContent(content, `${at}.content`) });
        break;
      case 'assistant':
        turns.push({ role: 'Assistant', parts: readAssistant(message, at, given) });
        break;
      case 'tool': {
        const id = message['tool_call_id'];
        if (typeof id !== 'string' || id === '')
          throw new CannotCarry(`${at}.tool_call_id`, 'must be the id of a call');
        const parts = readContent(content, `${at}.content`);
        turns.push({ role: 'User', parts: [{ is: 'ToolResult', id, parts, failed: false }] });
        break;
      }
      default:
        throw new CannotCarry(`${at}.role`, 'must be system, developer, user, assistant or tool');
    }
  }
  return { system, turns: inTurns(turns) };
}

export function readContent(content: unknown, at: string): readonly (TextPart | MediaPart)[] {
  if (!isGiven(content)) return [];
  if (typeof content === 'string') return content === '' ? [] : [{ is: 'Text', text: content }];
  if (!Array.isArray(content)) throw new CannotCarry(at, 'must be a string or a list of parts');
  return content.map((part, index) => readPart(part, `${at}[${index}]`));
}

function readPart(part: unknown, at: string): TextPart | MediaPart {
  if (!isObject(part)) throw new CannotCarry(at, 'must be an object');
  const { type, text, image_url: image, file } = part;
  checkPart(part, at);
  if (type === 'text' && typeof text === 'string') return { is: 'Text', text };
  if (type === 'image_url') {
    if (isObject(image)) checkMembers(image, `${at}.image_url`, IMAGE);
    const url: unknown = isObject(image) ? image['url'] : image;
    return mediaOfURL('Image', url, at);
  }
  if (type === 'file' && isObject(file)) {
    checkMembers(file, `${at}.file`, FILE);
    const { file_data: data, filename } = file;
    return mediaOfURL('Document', data, at, typeof filename === 'string' ? filename : undefined);
  }
  throw new CannotCarry(at, 'must be a part of type text, image_url or file');
}

/** What has another type is refused by who reads it. */
function checkPart(part: Body, at: string): void {
  const { type } = part;
  const known = typeof type === 'string' && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  if (known !== undefined) checkMembers(part, at, known);
}

function readAssistant(message: Body, at: string, given: CallArguments): readonly AssistantPart[] {
  const { content, refusal, tool_calls: calls, thinking_blocks: blocks } = message;
  const parts: AssistantPart[] = listOf(blocks).flatMap((block, index) =>
    readThinking(block, `${at}.thinking_blocks[${index}]`),
  );
  parts.push(...readSpoken(content, `${at}.content`));
  if (typeof refusal === 'string' && refusal !== '') parts.push({ is: 'Text', text: refusal });
  if (isGiven(calls) && !Array.isArray(calls)) throw new CannotCarry(`${at}.tool_calls`, 'must be a list');
  for (const [index, call] of listOf(calls).entries()) parts.push(readCall(call, `${at}.tool_calls[${index}]`, given));
  return parts;
}

function readSpoken(content: unknown, at: string): readonly TextPart[] {
  if (!Array.isArray(content)) return readContent(content, at).flatMap((part) => (part.is === 'Text' ? [part] : []));
  return content.map((part: unknown, index) => {
    if (isObject(part)) checkPart(part, `${at}[${index}]`);
    const text = isObject(part) ? (part['type'] === 'refusal' ? part['refusal'] : part['text']) : undefined;
    if (typeof text === 'string') return { is: 'Text', text };
    throw new CannotCarry(`${at}[${index}]`, 'must be a part of type text or refusal');
  });
}

/** As our own answers show thinking that has a signature, so that a client can return it. */
function readThinking(block: unknown, at: string): readonly AssistantPart[] {
  if (!isObject(block)) return [];
  checkMembers(block, at, THINKING);
  const { type, thinking, signature, data } = block;
  if (type === 'redacted_thinking' && typeof data === 'string') return [{ is: 'HiddenThinking', data }];
  if (type !== 'thinking' || typeof thinking !== 'string' || typeof signature !== 'string' || signature === '')
    return [];
  return [{ is: 'Thinking', text: thinking, signature }];
}

function readCall(call: unknown, at: string, given: CallArguments): AssistantPart {
  const called: unknown = isObject(call) ? call['function'] : undefined;
  if (!isObject(call) || !isObject(called)) throw new CannotCarry(at, 'must be the call of a function');
  checkMembers(call, at, CALL);
  checkMembers(called, `${at}.function`, CALLED);
  const { id } = call;
  const { name, arguments: json } = called;
  if (typeof id !== 'string' || id === '' || typeof name !== 'string' || name === '')
    throw new CannotCarry(at, 'must have an id and the name of its function');
  return { is: 'ToolCall', id, name, arguments: given.read(json, `${at}.function.arguments`) };
}

function readTool(tool: unknown, at: string): Tool {
  const described: unknown = isObject(tool) ? tool['function'] : undefined;
  if (!isObject(tool) || tool['type'] !== 'function' || !isObject(described))
    throw new CannotCarry(`${at}.type`, 'must be "function": tools of other forms exist in this dialect alone');
  checkMembers(tool, at, TOOL);
  return readFunction(described, `${at}.function`);
}

export function readFunction(described: Body, at: string, known: ReadonlySet<string> = FUNCTION): Tool {
  checkMembers(described, at, known);
  const { name, description, parameters, strict } = described;
  if (typeof name !== 'string' || name === '') throw new CannotCarry(at, 'must have a name');
  if (isGiven(parameters) && !isObject(parameters)) throw new CannotCarry(`${at}.parameters`, 'must be an object');
  return {
    name,
    description: textOf(description, `${at}.description`),
    parameters: isObject(parameters) ? parameters : undefined,
    strict: booleanOf(strict, `${at}.strict`),
  };
}

export interface ReadChoice {
  readonly toolChoice: ToolChoice | undefined;
  readonly tools: readonly Tool[];
}

/** `tools`: those that may be called. */
export function readChoice(choice: unknown, tools: readonly Tool[]): ReadChoice {
  if (!isGiven(choice)) return { toolChoice: undefined, tools };
  if (choice === 'auto') return { toolChoice: { is: 'Auto' }, tools };
  if (choice === 'none') return { toolChoice: { is: 'None' }, tools };
  if (choice === 'required') return { toolChoice: { is: 'Any' }, tools };
  if (!isObject(choice)) throw new CannotCarry('tool_choice', 'must be none, auto, required, or name a tool');
  checkMembers(choice, 'tool_choice', CHOICE);
  for (const member of ['function', 'allowed_tools']) {
    const inner = choice[member];
    if (isObject(inner)) checkMembers(inner, `tool_choice.${member}`, CHOICE);
  }
  const { type } = choice;
  if (type === 'allowed_tools') return readAllowed(choice, tools);
  const named: unknown = isObject(choice['function']) ? choice['function']['name'] : choice['name'];
  if (type !== 'function' || typeof named !== 'string')
    throw new CannotCarry('tool_choice', 'must be none, auto, required, or name a function');
  return { toolChoice: { is: 'Tool', name: named }, tools };
}

function readAllowed(choice: Body, tools: readonly Tool[]): ReadChoice {
  const inner = isObject(choice['allowed_tools']) ? choice['allowed_tools'] : choice;
  const names = new Set(
    listOf(inner['tools']).map((tool) => {
      if (!isObject(tool)) return undefined;
      return isObject(tool['function']) ? tool['function']['name'] : tool['name'];
    }),
  );
  const allowed = tools.filter(({ name }) => names.has(name));
  const isRequired = inner['mode'] === 'required';
  if (allowed.length === 0) throw new CannotCarry('tool_choice', 'must allow one of the tools at least');
  return { toolChoice: { is: isRequired ? 'Any' : 'Auto' }, tools: allowed };
}

function readFormat(format: unknown): Format | undefined {
  if (!isGiven(format)) return undefined;
  if (isObject(format)) checkMembers(format, 'response_format', FORMAT);
  const { type, json_schema: described } = isObject(format) ? format : {};
  if (type === 'text') return undefined;
  if (type === 'json_schema' && isObject(described)) return readSchema(described, 'response_format.json_schema');
  throw new CannotCarry(
    'response_format',
    'must be of type json_schema or text: without a schema there is no JSON in the dialect of the upstream',
  );
}

export function readSchema(described: Body, at: string): Format {
  checkMembers(described, at, SCHEMA);
  const { name, schema, strict } = described;
  if (!isObject(schema)) throw new CannotCarry(at, 'must have a schema');
  return {
    name: textOf(name, `${at}.name`),
    schema,
    strict: booleanOf(strict, `${at}.strict`),
  };
}
