/**
 * Reads a request in OpenAI's dialect as far as money, limits and routes depend on it. What costs more than tokens at the model's price, or reaches
 * what others have stored at an upstream, is refused by name; everything else goes on as it was sent.
 */
import { isObject } from '../../../../api/safe-value.js';
import {
  type Body,
  fault,
  faultOfChoice,
  isGiven,
  listOf,
  namedToolsOf,
  ONE_PRICE,
  readBody,
  readCount,
  refused,
  TIERS,
} from '../body.js';
import type { Feature, InferenceRequest, Operation, ReadRequest, RequestFault } from '../dialect.js';
import { countImages, type Images, NO_IMAGES } from '../images.js';
import { textsOf } from '../texts.js';
import { readResponses } from '../responses/request.js';
import { faultOfParts, imageOf, partsOf } from './content.js';

const MOST_ANSWERS = 128;
const MOST_INPUTS = 2_048;

export function readOpenAI(operation: Operation, given: unknown): ReadRequest {
  if (operation === '/v1/responses') return readResponses(operation, given);
  const read = readBody(given);
  if (read.outcome === 'Refused') return read;
  const { body, model, stream } = read;
  const found =
    faultOfContent(operation, body) ?? faultOfOther(operation, body) ?? faultOfMembers(operation, body, stream);
  if (found !== undefined) return refused(found.message, found.param);
  const answers = readAnswers(operation, body);
  if (answers.outcome === 'Fault') return refused(answers.fault.message, answers.fault.param);
  const most = readMost(body);
  if (most.outcome === 'Fault') return refused(most.fault.message, most.fault.param);
  const images = imagesOf(operation, body);
  const request: InferenceRequest = {
    operation,
    model,
    stream,
    wantsUsage: stream && isObject(body['stream_options']) && body['stream_options']['include_usage'] === true,
    maxOutputTokens: operation === '/v1/embeddings' ? undefined : most.count,
    maxOutputMember:
      operation === '/v1/chat/completions' && 'max_completion_tokens' in body ? 'max_completion_tokens' : 'max_tokens',
    inputs: inputsOf(operation, body),
    answers: answers.count ?? 0,
    features: featuresOf(body, images),
    images: images.count,
    fetchedAt: images.fetchedAt,
    imageCharacters: images.characters,
    namedTools: namedToolsOf(body),
    longCache: false,
    texts: () => textsOf(body, imageOf),
    body,
  };
  return { outcome: 'Request', request };
}

function imagesOf(operation: Operation, body: Body): Images {
  return operation === '/v1/chat/completions' ? countImages(partsOf(listOf(body['messages'])), imageOf) : NO_IMAGES;
}

/** What other operations, or other servers, read as what a model is asked: it would be neither counted nor checked. */
const CONTENT = ['messages', 'prompt', 'input', 'inputs', 'images'];
const CONTENT_OF: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'messages',
  '/v1/completions': 'prompt',
};

function faultOfOther(operation: Operation, body: Body): RequestFault | undefined {
  const own = CONTENT_OF[operation] ?? 'input';
  const other = CONTENT.find((member) => member !== own && isGiven(body[member]));
  return other === undefined ? undefined : fault(other, `must be left out: ${operation} takes ${own}`);
}

/** `messages`, `prompt` or `input`. */
function faultOfContent(operation: Operation, body: Body): RequestFault | undefined {
  switch (operation) {
    case '/v1/chat/completions': {
      const { messages } = body;
      if (!Array.isArray(messages) || messages.length === 0)
        return fault('messages', 'must be a list of at least one message');
      return faultOfParts(messages);
    }
    case '/v1/completions':
      return faultOfInputs('prompt', body['prompt']);
    default:
      return faultOfInputs('input', body['input']);
  }
}

/** A text, a list of texts, a list of token ids, or a list of such lists. */
function faultOfInputs(member: string, inputs: unknown): RequestFault | undefined {
  if (typeof inputs === 'string') return undefined;
  const list = listOf(inputs);
  if (list.length === 0) return fault(member, 'must be a string, or a list of strings or of tokens that is not empty');
  if (isTokens(list)) return undefined;
  if (!list.every((one) => typeof one === 'string' || (Array.isArray(one) && isTokens(one)))) {
    return fault(member, 'must have strings in it, or whole numbers, which are tokens, or lists of them');
  }
  return list.length > MOST_INPUTS ? fault(member, `must have at most ${MOST_INPUTS} entries`) : undefined;
}

function isTokens(list: readonly unknown[]): boolean {
  return list.every((one) => typeof one === 'number' && Number.isInteger(one) && one >= 0);
}

function faultOfMembers(operation: Operation, body: Body, stream: boolean): RequestFault | undefined {
  if (operation === '/v1/embeddings' && stream) return fault('stream', 'must be false: embeddings are not streamed');
  const options = body['stream_options'];
  if (isGiven(options) && !isObject(options)) return fault('stream_options', 'must be an object');
  if (isGiven(body['store']) && body['store'] !== false) {
    return fault('store', 'must be false or left out: prompts are not stored');
  }
  if (isGiven(body['web_search_options'])) {
    return fault('web_search_options', 'must be left out: searches have no price here. Use a tool of your own.');
  }
  if (isGiven(body['audio']) || listOf(body['modalities']).some((one) => one !== 'text')) {
    return fault(isGiven(body['audio']) ? 'audio' : 'modalities', 'must be left out: only text is generated here');
  }
  return faultOfChoice(body, 'service_tier', TIERS, ONE_PRICE) ?? faultOfTools(body['tools']);
}

/** Of a tool; others are read by some server only, as tools of its own. */
const OF_A_TOOL: ReadonlySet<string> = new Set([
  ...['type', 'function', 'custom', 'cache_control'],
  // As /v1/responses has them.
  ...['name', 'description', 'parameters', 'strict'],
]);

function faultOfTools(tools: unknown): RequestFault | undefined {
  if (!isGiven(tools)) return undefined;
  if (!Array.isArray(tools)) return fault('tools', 'must be a list of tools');
  for (const [index, tool] of (tools as readonly unknown[]).entries()) {
    const at = `tools[${index}]`;
    if (!isObject(tool)) return fault(at, 'must be an object');
    const type = tool['type'] ?? (isObject(tool['function']) ? 'function' : undefined);
    if (type !== 'function' && type !== 'custom')
      return fault(`${at}.type`, 'must be "function" or "custom": tools of an upstream have no price here');
    const other = Object.keys(tool).find((member) => !OF_A_TOOL.has(member));
    if (other !== undefined) return fault(`${at}.${other.slice(0, 64)}`, 'is no member of a tool. Remove it.');
  }
  return undefined;
}

/** Each prompt is answered `n` times; of `best_of` answers, all are paid. */
function readAnswers(operation: Operation, body: Body): ReturnType<typeof readCount> {
  if (operation === '/v1/embeddings') return { outcome: 'Count', count: 0 };
  const n = readCount(body, 'n', MOST_ANSWERS);
  if (n.outcome === 'Fault') return n;
  const best = readCount(body, 'best_of', MOST_ANSWERS);
  if (best.outcome === 'Fault') return best;
  const each = Math.max(n.count ?? 1, best.count ?? 1);
  return { outcome: 'Count', count: each * (operation === '/v1/completions' ? promptsOf(body['prompt']) : 1) };
}

function inputsOf(operation: Operation, body: Body): number {
  if (operation === '/v1/completions') return promptsOf(body['prompt']);
  return operation === '/v1/embeddings' ? promptsOf(body['input']) : 1;
}

function promptsOf(prompt: unknown): number {
  const list = listOf(prompt);
  return list.length === 0 || isTokens(list) ? 1 : list.length;
}

/** Upstreams differ in which of both names they obey, so that two values would leave open what is paid for at most. */
function readMost(body: Body): ReturnType<typeof readCount> {
  const newer = readCount(body, 'max_completion_tokens');
  if (newer.outcome === 'Fault') return newer;
  const older = readCount(body, 'max_tokens');
  if (older.outcome === 'Fault') return older;
  if (newer.count !== undefined && older.count !== undefined && newer.count !== older.count) {
    return { outcome: 'Fault', fault: fault('max_tokens', 'must be left out, or agree with max_completion_tokens') };
  }
  return newer.count === undefined ? older : newer;
}

function featuresOf(body: Body, images: Images): ReadonlyMap<Feature, string> {
  const features = new Map<Feature, string>();
  if (images.at !== undefined) features.set('Images', images.at);
  const tools = ['tools', 'functions'].find((member) => listOf(body[member]).length > 0);
  const choice = ['tool_choice', 'function_call'].find((member) => isGiven(body[member]) && body[member] !== 'none');
  if (tools !== undefined || choice !== undefined) features.set('Tools', tools ?? choice ?? 'tools');
  const format = body['response_format'];
  const type: unknown = isObject(format) ? format['type'] : undefined;
  if (type === 'json_schema' || type === 'json_object') features.set('JSONSchema', 'response_format');
  if (isGiven(body['reasoning_effort']) && body['reasoning_effort'] !== 'none') {
    features.set('Reasoning', 'reasoning_effort');
  }
  return features;
}
