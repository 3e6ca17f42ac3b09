/**
 * Reads a request in Anthropic's dialect as far as money, limits and routes depend on it. What costs more than tokens at the model's price, or reaches
 * what others have stored at an upstream, is refused by name; everything else goes on as it was sent.
 */
import { isObject } from '../../../../api/safe-value.js';
import {
  type Body,
  fault,
  faultOfChoice,
  faultOfName,
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
import { countImages, type Images, type PlacedPart } from '../images.js';
import { textsOf } from '../texts.js';
import { asksForLongCache, blocksOf, faultOfBlocks, imageOf } from './content.js';

export function readAnthropic(operation: Operation, given: unknown): ReadRequest {
  const read = readBody(given);
  if (read.outcome === 'Refused') return read;
  const { body, model, stream } = read;
  const counting = operation === '/v1/messages/count_tokens';
  const blocks = blocksOf(body);
  const found = faultOfMessages(body, blocks) ?? faultOfMembers(body) ?? faultOfTools(body['tools']);
  if (found !== undefined) return refused(found.message, found.param);
  if (counting && stream) return refused('stream must be false: a count is not streamed', 'stream');
  const most = readCount(body, 'max_tokens');
  if (most.outcome === 'Fault') return refused(most.fault.message, most.fault.param);
  if (!counting && most.count === undefined) {
    return refused('max_tokens must be given: a whole number of at least 1', 'max_tokens');
  }
  const images = countImages(blocks, imageOf);
  const request: InferenceRequest = {
    operation,
    model,
    stream,
    wantsUsage: stream,
    maxOutputTokens: counting ? undefined : most.count,
    maxOutputMember: 'max_tokens',
    inputs: 1,
    answers: counting ? 0 : 1,
    features: featuresOf(body, images),
    images: images.count,
    fetchedAt: images.fetchedAt,
    imageCharacters: images.characters,
    namedTools: namedToolsOf(body),
    longCache: asksForLongCache(body, blocks),
    texts: () => textsOf(body, imageOf),
    body,
  };
  return { outcome: 'Request', request };
}

function faultOfMessages(body: Body, blocks: readonly PlacedPart[]): RequestFault | undefined {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    return fault('messages', 'must be a list of at least one message');
  for (const [index, message] of messages.entries()) {
    const odd = isObject(message) ? faultOfName(message, () => `messages[${index}]`) : undefined;
    if (odd !== undefined) return odd;
  }
  return faultOfBlocks(blocks);
}

/** They run at the upstream, or change what its account is charged. */
const AT_UPSTREAM: readonly (readonly [member: string, why: string])[] = [
  ['mcp_servers', 'servers that an upstream calls have no price here. Call them yourself, as tools.'],
  ['container', 'containers at an upstream have no price here'],
  ['compaction', 'summaries that an upstream makes have no price here'],
  ['billing_policy', 'the account at the upstream is not yours'],
  ['fallback_credit_token', 'the account at the upstream is not yours'],
];

function faultOfMembers(body: Body): RequestFault | undefined {
  if (isGiven(body['store']) && body['store'] !== false)
    return fault('store', 'must be false or left out: prompts are not stored');
  const found = AT_UPSTREAM.find(([member]) => isGiven(body[member]));
  if (found !== undefined) return fault(found[0], `must be left out: ${found[1]}`);
  return (
    faultOfChoice(body, 'service_tier', TIERS, ONE_PRICE) ??
    faultOfChoice(body, 'speed', ['standard'], ONE_PRICE) ??
    faultOfChoice(body, 'inference_geo', ['global'], ONE_PRICE) ??
    faultOfEdits(body['context_management'])
  );
}

/** Edits that clear the context cost nothing; those that summarize it are not in the usage. */
function faultOfEdits(management: unknown): RequestFault | undefined {
  const edits = listOf(isObject(management) ? management['edits'] : undefined);
  const index = edits.findIndex((edit) => isObject(edit) && String(edit['type']).startsWith('compact'));
  if (index < 0) return undefined;
  return fault(
    `context_management.edits[${index}]`,
    'must not compact: summaries that an upstream makes have no price here',
  );
}

/** Of the tools that Anthropic names, these are carried out by the client. */
const OF_THE_CLIENT =
  /^(custom$|function$|bash_\d|text_editor_\d|computer_\d|computer_toolset_\d|browser_toolset_\d|memory_\d)/;

function faultOfTools(tools: unknown): RequestFault | undefined {
  if (!isGiven(tools)) return undefined;
  if (!Array.isArray(tools)) return fault('tools', 'must be a list of tools');
  for (const [index, tool] of (tools as readonly unknown[]).entries()) {
    const at = `tools[${index}]`;
    if (!isObject(tool)) return fault(at, 'must be an object');
    const odd = faultOfName(tool, () => at);
    if (odd !== undefined) return odd;
    const type = tool['type'] ?? (typeof tool['name'] === 'string' ? 'custom' : undefined);
    if (typeof type !== 'string' || !OF_THE_CLIENT.test(type))
      return fault(`${at}.type`, 'must be of a tool that you carry out: tools of an upstream have no price here');
  }
  return undefined;
}

function featuresOf(body: Body, images: Images): ReadonlyMap<Feature, string> {
  const features = new Map<Feature, string>();
  if (images.at !== undefined) features.set('Images', images.at);
  if (listOf(body['tools']).length > 0) features.set('Tools', 'tools');
  else if (isObject(body['tool_choice']) && body['tool_choice']['type'] !== 'none')
    features.set('Tools', 'tool_choice');
  const { output_format: format, output_config: config, thinking } = body;
  if (isGiven(format)) features.set('JSONSchema', 'output_format');
  else if (isObject(config) && isGiven(config['format'])) features.set('JSONSchema', 'output_config.format');
  if (isObject(thinking) && thinking['type'] !== 'disabled') features.set('Reasoning', 'thinking');
  return features;
}
