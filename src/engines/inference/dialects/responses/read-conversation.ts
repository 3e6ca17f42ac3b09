/** Reads a request for a response into a conversation. Precondition: `readResponses` has accepted the body. Throws a `CannotCarry`. */
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
  type Turn,
} from '../conversation.js';
import { CallArguments } from '../arguments.js';
import { mediaOfURL } from '../media.js';
import { booleanOf, checkChoice, checkMembers, numberOf, objectOf, textOf } from '../not-said.js';
import { readChoice, readFunction, readSchema } from '../openai/read-conversation.js';
import { readEncrypted } from './encrypted.js';

/** Read below, or hints, which change no answer, and what is the same without. */
const READ = new Set([
  ...[
    'model',
    'input',
    'instructions',
    'stream',
    'stream_options',
    'max_output_tokens',
    'temperature',
    'top_p',
    'tools',
  ],
  ...['tool_choice', 'parallel_tool_calls', 'text', 'reasoning', 'user', 'include', 'store', 'background', 'metadata'],
  ...['service_tier', 'truncation', 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options'],
  ...['safety_identifier', 'client_metadata'],
]);
/** Of items: read below, and what answers carry beside what they say, which clients send back. */
const ITEM = ['type', 'id', 'status'];
const ITEMS: Readonly<Record<string, ReadonlySet<string>>> = {
  message: new Set([...ITEM, 'role', 'content', 'phase']),
  function_call: new Set([...ITEM, 'call_id', 'name', 'arguments', 'parsed_arguments']),
  function_call_output: new Set([...ITEM, 'call_id', 'output', 'name']),
  reasoning: new Set([...ITEM, 'summary', 'content', 'encrypted_content']),
};
const TEXT = new Set(['type', 'text', 'annotations', 'logprobs', 'parsed']);
const PARTS: Readonly<Record<string, ReadonlySet<string>>> = {
  ...{ input_text: TEXT, output_text: TEXT, text: TEXT, refusal: new Set(['type', 'refusal']) },
  input_image: new Set(['type', 'image_url', 'detail']),
  input_file: new Set(['type', 'file_data', 'file_url', 'filename', 'detail']),
};
const TOOL = new Set(['type', 'name', 'description', 'parameters', 'strict']);
const TEXT_OPTIONS = new Set(['verbosity', 'format']);
const STREAM_OPTIONS = new Set(['include_obfuscation']);
const REASONING = new Set(['effort', 'summary', 'generate_summary']);
const NOT_HERE = 'must be left out: it is not carried over to the upstream of the model';

export function readResponseConversation(body: Body): Conversation {
  for (const [member, value] of Object.entries(body)) {
    const isNeutral = member === 'top_logprobs' && value === 0;
    if (!READ.has(member) && isGiven(value) && !isNeutral) throw new CannotCarry(member, NOT_HERE);
  }
  const { instructions, input, stream_options: options } = body;
  if (isObject(options)) checkMembers(options, 'stream_options', STREAM_OPTIONS);
  const { system, turns } = readInput(input);
  const tools = listOf(body['tools']).map((tool, at) => readFunction(isObject(tool) ? tool : {}, `tools[${at}]`, TOOL));
  const choice = readChoice(body['tool_choice'], tools);
  checkChoice(choice.toolChoice, choice.tools);
  return {
    system: [...(typeof instructions === 'string' && instructions !== '' ? [instructions] : []), ...system],
    ...{ turns, saidIn: 'input', tools: choice.tools, toolChoice: choice.toolChoice },
    parallelTools: booleanOf(body['parallel_tool_calls'], 'parallel_tool_calls'),
    maxOutputTokens: numberOf(body, 'max_output_tokens'),
    temperature: numberOf(body, 'temperature'),
    topP: numberOf(body, 'top_p'),
    stop: [],
    format: readFormat(body['text']),
    reasoning: readReasoning(body['reasoning']),
    user: textOf(body['user'], 'user'),
  };
}

function readInput(input: unknown): { readonly system: string[]; readonly turns: readonly Turn[] } {
  if (typeof input === 'string') return { system: [], turns: [{ role: 'User', parts: [{ is: 'Text', text: input }] }] };
  const system: string[] = [];
  const turns: Turn[] = [];
  const given = new CallArguments();
  for (const [index, item] of listOf(input).entries()) {
    const at = `input[${index}]`;
    if (!isObject(item)) throw new CannotCarry(at, 'must be an object');
    const { type = 'message', role, content } = item;
    checkKnown(item, type, at, ITEMS);
    switch (type) {
      case 'message':
        if (role === 'system' || role === 'developer')
          system.push(...textsAlone(readContent(content, `${at}.content`), `${at}.content`));
        else if (role === 'user') turns.push({ role: 'User', parts: readContent(content, `${at}.content`) });
        else if (role === 'assistant') turns.push({ role: 'Assistant', parts: spoken(content, `${at}.content`) });
        else throw new CannotCarry(`${at}.role`, 'must be user, assistant, system or developer');
        break;
      case 'function_call':
        turns.push({ role: 'Assistant', parts: [readCall(item, at, given)] });
        break;
      case 'function_call_output': {
        const id = item['call_id'];
        if (typeof id !== 'string' || id === '') throw new CannotCarry(`${at}.call_id`, 'must be the id of a call');
        const parts = readContent(item['output'], `${at}.output`);
        turns.push({ role: 'User', parts: [{ is: 'ToolResult', id, parts, failed: false }] });
        break;
      }
      case 'reasoning':
        turns.push({ role: 'Assistant', parts: readEncrypted(item['encrypted_content']) });
        break;
      default:
        throw new CannotCarry(`${at}.type`, 'must be message, function_call, function_call_output or reasoning');
    }
  }
  return { system, turns: inTurns(turns) };
}

/** What has another type is refused by who reads it. */
function checkKnown(
  object: Body,
  type: unknown,
  at: string,
  byType: Readonly<Record<string, ReadonlySet<string>>>,
): void {
  const known = typeof type === 'string' && Object.hasOwn(byType, type) ? byType[type] : undefined;
  if (known !== undefined) checkMembers(object, at, known);
}

function spoken(content: unknown, at: string): readonly AssistantPart[] {
  return readContent(content, at).map((part) => {
    if (part.is === 'Text') return part;
    throw new CannotCarry(at, 'must be text');
  });
}

function readContent(content: unknown, where: string): readonly (TextPart | MediaPart)[] {
  if (!isGiven(content)) return [];
  if (typeof content === 'string') return content === '' ? [] : [{ is: 'Text', text: content }];
  if (!Array.isArray(content)) throw new CannotCarry(where, 'must be a string or a list of parts');
  return content.map((part: unknown, index): TextPart | MediaPart => {
    const at = `${where}[${index}]`;
    if (!isObject(part)) throw new CannotCarry(at, 'must be an object');
    checkKnown(part, part['type'], at, PARTS);
    const { type, text, refusal, image_url: image, file_data: data, file_url: address, filename } = part;
    if ((type === 'input_text' || type === 'output_text' || type === 'text') && typeof text === 'string')
      return { is: 'Text', text };
    if (type === 'refusal' && typeof refusal === 'string') return { is: 'Text', text: refusal };
    if (type === 'input_image') return mediaOfURL('Image', image, at);
    if (type === 'input_file')
      return mediaOfURL('Document', data ?? address, at, typeof filename === 'string' ? filename : undefined);
    throw new CannotCarry(at, 'must be a part of type input_text, output_text, refusal, input_image or input_file');
  });
}

function readCall({ call_id: id, name, arguments: json }: Body, at: string, given: CallArguments): AssistantPart {
  if (typeof id !== 'string' || id === '' || typeof name !== 'string' || name === '')
    throw new CannotCarry(at, 'must have a call_id and the name of its function');
  return { is: 'ToolCall', id, name, arguments: given.read(json, `${at}.arguments`) };
}

function readFormat(given: unknown): Format | undefined {
  const text = objectOf(given, 'text');
  checkMembers(text, 'text', TEXT_OPTIONS);
  const { verbosity, format } = text;
  if (isGiven(verbosity) && verbosity !== 'medium') throw new CannotCarry('text.verbosity', NOT_HERE);
  if (!isGiven(format) || (isObject(format) && format['type'] === 'text')) return undefined;
  if (isObject(format) && format['type'] === 'json_schema') return readSchema(format, 'text.format');
  throw new CannotCarry('text.format', 'must be of type text or json_schema');
}

function readReasoning(given: unknown): Reasoning | undefined {
  const reasoning = objectOf(given, 'reasoning');
  checkMembers(reasoning, 'reasoning', REASONING);
  const { effort } = reasoning;
  if (!isGiven(effort) || effort === 'none') return undefined;
  if (isEffort(effort)) return { effort, at: 'reasoning.effort' };
  throw new CannotCarry('reasoning.effort', 'must be none, minimal, low, medium, high or xhigh');
}
