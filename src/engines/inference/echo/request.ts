/** What Model `echo` reads of a request, in either dialect. Pure. */
import type { Operation } from '../dialects/dialect.js';
import { MOST_TOKENS, readDirective, type Directive } from './directive.js';
import { countEchoTokens } from './tokens.js';

export interface EchoRequest {
  readonly operation: Operation;
  readonly model: string;
  readonly stream: boolean;
  /** Of OpenAI's streams: a chunk with usage is asked for. */
  readonly includeUsage: boolean;
  readonly inputTokens: number;
  /** What is answered with, each by itself: one text, or the prompts of a completion, or what is embedded. */
  readonly prompts: readonly string[];
  /** Answers to each of them. */
  readonly answers: number;
  readonly most: number;
  readonly stops: readonly string[];
  /** A JSON Schema that the answer has to fit. */
  readonly schema: unknown;
  readonly directive: Directive;
  /** The request says that a tool is to be called, which is this one. */
  readonly forcedTool: ForcedTool | undefined;
  readonly afterTool: boolean;
  readonly base64: boolean;
  readonly dimensions: number;
}

export interface ForcedTool {
  readonly name: string;
  /** A JSON Schema of its arguments. */
  readonly schema: unknown;
}

export type ReadEcho =
  | { readonly outcome: 'Request'; readonly request: EchoRequest }
  | { readonly outcome: 'Refused'; readonly message: string; readonly param: string | undefined };

/** Tokens of an answer whose request names no bound; the catalog says the same of Model `echo`. */
const USUAL_MOST = 8_192;
const DIMENSIONS = 64;
const MOST_DIMENSIONS = 1_024;
const MOST_ANSWERS = 128;
/** Of one answer that says nothing else. */
const NOTHING_SAID = 'echo';

type Members = Readonly<Record<string, unknown>>;

class Refusal extends Error {
  readonly param: string | undefined;
  constructor(message: string, param?: string) {
    super(message);
    this.param = param;
  }
}

export function readEcho(operation: Operation, body: unknown): ReadEcho {
  try {
    return { outcome: 'Request', request: read(operation, members(body, 'the body')) };
  } catch (error) {
    if (error instanceof Refusal) return { outcome: 'Refused', message: error.message, param: error.param };
    throw error;
  }
}

/** All that a request says, and what is to be said back. */
interface Said {
  readonly inputTokens: number;
  readonly prompts: readonly string[];
  readonly system: string;
  readonly afterTool: boolean;
}

function read(operation: Operation, body: Members): EchoRequest {
  const said = saidIn(operation, body);
  const [first = ''] = said.prompts;
  const inPrompt = directiveIn(first);
  const { directive } = inPrompt ?? directiveIn(said.system) ?? { directive: {} };
  const prompts = inPrompt === undefined ? said.prompts : [inPrompt.rest, ...said.prompts.slice(1)];
  const options = members(body['stream_options'] ?? {}, 'stream_options');
  return {
    operation,
    model: typeof body['model'] === 'string' ? body['model'] : 'echo',
    stream: body['stream'] === true && operation !== '/v1/embeddings',
    includeUsage: options['include_usage'] === true,
    inputTokens: said.inputTokens,
    prompts: prompts.map((prompt) => (prompt.trim() === '' ? NOTHING_SAID : prompt)),
    answers: integer(body, 'n', MOST_ANSWERS) ?? 1,
    most: mostOf(operation, body),
    stops: stopsOf(body[operation === '/v1/messages' ? 'stop_sequences' : 'stop']),
    schema: schemaOf(body),
    directive,
    forcedTool: forcedToolOf(body, toolsOf(body)),
    afterTool: said.afterTool,
    base64: body['encoding_format'] === 'base64',
    dimensions: integer(body, 'dimensions', MOST_DIMENSIONS) ?? DIMENSIONS,
  };
}

function directiveIn(text: string): { readonly directive: Directive; readonly rest: string } | undefined {
  const found = readDirective(text);
  if (found.outcome === 'Invalid') throw new Refusal(found.message, 'messages');
  return found.outcome === 'None' ? undefined : found;
}

function saidIn(operation: Operation, body: Members): Said {
  switch (operation) {
    case '/v1/completions':
      return { ...inputs(body['prompt'], 'prompt'), system: '', afterTool: false };
    case '/v1/embeddings':
      return { ...inputs(body['input'], 'input'), system: '', afterTool: false };
    default:
      return conversation(body);
  }
}

/** A text, texts, or tokens that a client has made itself, which count and say nothing. */
function inputs(value: unknown, param: string): { inputTokens: number; prompts: readonly string[] } {
  const list: readonly unknown[] = Array.isArray(value) && typeof value[0] !== 'number' ? value : [value];
  if (list.length === 0 || list.length > 2048) throw new Refusal(`${param} must have 1 to 2048 entries`, param);
  let inputTokens = 0;
  const prompts = list.map((entry): string => {
    if (typeof entry === 'string') {
      inputTokens += countEchoTokens(entry);
      return entry;
    }
    if (!Array.isArray(entry)) throw new Refusal(`${param} must be a string, strings, or tokens`, param);
    inputTokens += entry.length;
    return entry.join(' ');
  });
  return { inputTokens, prompts };
}

const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

function conversation(body: Members): Said {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    throw new Refusal('messages must have at least one entry', 'messages');
  let inputTokens = 0;
  let system = textsOf(body['system'] ?? '', 'system').join('\n');
  inputTokens += countEchoTokens(system);
  let prompt = '';
  let afterTool = false;
  for (const [at, entry] of messages.entries()) {
    const message = members(entry, `messages[${at}]`);
    const text = textsOf(message['content'] ?? '', `messages[${at}].content`).join('\n');
    inputTokens += countEchoTokens(text);
    const role = message['role'];
    if (typeof role !== 'string' || !ROLES.has(role))
      throw new Refusal(`messages[${at}].role must be one of ${[...ROLES].join(', ')}`, `messages[${at}].role`);
    if (role === 'system' || role === 'developer') system += `\n${text}`;
    if (role !== 'user' && role !== 'tool') continue;
    prompt = text;
    afterTool = role === 'tool' || holdsResult(message['content']);
  }
  return { inputTokens, prompts: [prompt], system, afterTool };
}

function holdsResult(content: unknown): boolean {
  return Array.isArray(content) && content.some((block) => isMembers(block) && block['type'] === 'tool_result');
}

/** Texts of a content that is a string or a list of parts; the own texts of a message come before those of its tool results. */
function textsOf(content: unknown, param: string): readonly string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) throw new Refusal(`${param} must be a string or a list`, param);
  const blocks = content.map((block, at) => members(block, `${param}[${at}]`));
  return [
    ...blocks.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])),
    ...blocks.flatMap((block) =>
      block['type'] === 'tool_result' ? textsOf(block['content'] ?? '', `${param}.content`) : [],
    ),
  ];
}

function mostOf(operation: Operation, body: Members): number {
  if (operation === '/v1/messages' && body['max_tokens'] === undefined)
    throw new Refusal('max_tokens: Field required', 'max_tokens');
  const asked = integer(body, 'max_completion_tokens', 1e9) ?? integer(body, 'max_tokens', 1e9);
  return Math.min(asked ?? USUAL_MOST, MOST_TOKENS);
}

function stopsOf(stop: unknown): readonly string[] {
  if (stop === undefined || stop === null) return [];
  const list: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  return list.filter((text): text is string => typeof text === 'string' && text !== '').slice(0, 64);
}

/** Chat: `response_format`; messages: `output_config.format`, `output_format`. */
function schemaOf(body: Members): unknown {
  const output = isMembers(body['output_config']) ? body['output_config']['format'] : undefined;
  const format = body['response_format'] ?? output ?? body['output_format'];
  if (!isMembers(format)) return undefined;
  if (format['type'] === 'json_object') return { type: 'object' };
  if (format['type'] === 'text') return undefined;
  if (format['type'] !== 'json_schema')
    throw new Refusal('response_format must be of type text, json_object or json_schema', 'response_format');
  const nested = format['json_schema'];
  return isMembers(nested) ? (nested['schema'] ?? {}) : (format['schema'] ?? {});
}

/** OpenAI has its own a level deeper, beside their type. */
function toolsOf(body: Members): readonly ForcedTool[] {
  const { tools } = body;
  if (tools === undefined || tools === null) return [];
  if (!Array.isArray(tools)) throw new Refusal('tools must be a list', 'tools');
  return tools.map((entry, at) => {
    const tool = members(entry, `tools[${at}]`);
    const inner = tool['function'] ?? tool['custom'];
    const { name, parameters, input_schema: schema } = isMembers(inner) ? inner : tool;
    if (typeof name !== 'string' || name === '') throw new Refusal(`tools[${at}] must have a name`, `tools[${at}]`);
    return { name, schema: parameters ?? schema ?? {} };
  });
}

const FORCING: ReadonlySet<string> = new Set(['required', 'any', 'function', 'custom', 'tool']);

/** `{mode: 'required', tools}` */
function forcedAmong(allowed: unknown, tools: readonly ForcedTool[]): ForcedTool | undefined {
  const { mode, tools: few } = members(allowed, 'tool_choice');
  if (mode !== 'required') return undefined;
  const names = Array.isArray(few) ? few.map((tool: unknown) => (isMembers(tool) ? nameOf(tool) : undefined)) : [];
  const found = tools.find(({ name }) => names.includes(name));
  if (found === undefined) throw new Refusal('tool_choice must name some of tools', 'tool_choice');
  return found;
}

function nameOf(tool: Members): unknown {
  return isMembers(tool['function']) ? tool['function']['name'] : tool['name'];
}

/** OpenAI: `required`, or the function by its name; Anthropic: `any`, or `tool` by its name. */
function forcedToolOf({ tool_choice: choice }: Members, tools: readonly ForcedTool[]): ForcedTool | undefined {
  if (choice === undefined || choice === null) return undefined;
  const { type, name, ...rest } = isMembers(choice) ? choice : { type: choice };
  if (type === 'none' || type === 'auto') return undefined;
  if (type === 'allowed_tools') return forcedAmong(rest['allowed_tools'] ?? choice, tools);
  if (typeof type !== 'string' || !FORCING.has(type))
    throw new Refusal('tool_choice must be none, auto, required (any), or name a tool', 'tool_choice');
  const named = isMembers(rest['function']) ? rest['function']['name'] : name;
  const found = named === undefined ? tools[0] : tools.find((tool) => tool.name === named);
  if (found === undefined) throw new Refusal('tool_choice must name one of tools', 'tool_choice');
  return found;
}

function integer(body: Members, name: string, most: number): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Refusal(`${name} must be an integer from 1 to ${most}`, name);
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function members(value: unknown, what: string): Members {
  if (isMembers(value)) return value;
  throw new Refusal(`${what} must be an object`, what);
}
