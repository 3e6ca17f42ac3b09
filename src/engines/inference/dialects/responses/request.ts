/**
 * Reads a request for a response as far as money, limits and routes depend on it. Nothing is stored: what needs state is refused by name, and so is what
 * costs more than tokens at the model's price.
 */
import { isObject } from '../../../../api/safe-value.js';
import {
  type Body,
  fault,
  faultOfChoice,
  isGiven,
  listOf,
  ONE_PRICE,
  readBody,
  readCount,
  refused,
  TIERS,
} from '../body.js';
import type { Feature, InferenceRequest, Operation, ReadRequest, RequestFault } from '../dialect.js';
import { countImages, type Images } from '../images.js';
import { faultOfState, imageOf, partsOfInput, textsOfResponses } from './items.js';

/** Told back in the answer, unless it is long. */
const TOLD_BACK = [
  ...['instructions', 'tools', 'tool_choice', 'temperature', 'top_p', 'max_output_tokens', 'parallel_tool_calls'],
  ...['reasoning', 'text', 'metadata', 'user', 'prompt_cache_key', 'safety_identifier'],
] as const;
const MOST_TOLD_BACK = 64 * 1024;
const LONG: ReadonlySet<string> = new Set(['instructions', 'tools', 'text', 'metadata']);

export function readResponses(operation: Operation, given: unknown): ReadRequest {
  const read = readBody(given, ['max_output_tokens']);
  if (read.outcome === 'Refused') return read;
  const { body, model, stream } = read;
  const found = faultOfInput(body) ?? faultOfState(body) ?? faultOfMembers(body) ?? faultOfTools(listOf(body['tools']));
  if (found !== undefined) return refused(found.message, found.param);
  const most = readCount(body, 'max_output_tokens');
  if (most.outcome === 'Fault') return refused(most.fault.message, most.fault.param);
  const images = countImages(partsOfInput(body['input']), imageOf);
  const request: InferenceRequest = {
    ...{
      operation,
      model,
      stream,
      wantsUsage: true,
      maxOutputTokens: most.count,
      maxOutputMember: 'max_output_tokens',
    },
    ...{ inputs: 1, answers: 1, features: featuresOf(body, images), images: images.count, fetchedAt: images.fetchedAt },
    ...{ imageCharacters: images.characters, namedTools: 0, longCache: false, asked: toldBack(body) },
    texts: () => textsOfResponses(body),
    body,
  };
  return { outcome: 'Request', request };
}

function faultOfInput({ input, instructions }: Body): RequestFault | undefined {
  if (isGiven(instructions) && typeof instructions !== 'string') return fault('instructions', 'must be a string');
  if (typeof input === 'string' ? input !== '' : listOf(input).length > 0) return undefined;
  return fault('input', 'must be a string, or a list of at least one item');
}

function faultOfMembers(body: Body): RequestFault | undefined {
  const include = listOf(body['include']).findIndex((one) => one !== 'reasoning.encrypted_content');
  if (include >= 0) return fault(`include[${include}]`, 'must be "reasoning.encrypted_content"');
  return (
    faultOfChoice(body, 'service_tier', TIERS, ONE_PRICE) ??
    faultOfChoice(body, 'truncation', ['disabled'], 'input is never cut here')
  );
}

function faultOfTools(tools: readonly unknown[]): RequestFault | undefined {
  const index = tools.findIndex((tool) => !isObject(tool) || tool['type'] !== 'function');
  if (index < 0) return undefined;
  return fault(
    `tools[${index}].type`,
    'must be "function": describe tools that you carry out in that form; those that run at an upstream have no price here',
  );
}

function featuresOf(body: Body, images: Images): ReadonlyMap<Feature, string> {
  const features = new Map<Feature, string>();
  if (images.at !== undefined) features.set('Images', images.at);
  const { tools, tool_choice: choice, text, reasoning } = body;
  if (listOf(tools).length > 0) features.set('Tools', 'tools');
  else if (isGiven(choice) && choice !== 'none' && choice !== 'auto') features.set('Tools', 'tool_choice');
  const format: unknown = isObject(text) ? text['format'] : undefined;
  if (isObject(format) && format['type'] !== 'text') features.set('JSONSchema', 'text.format');
  const effort: unknown = isObject(reasoning) ? reasoning['effort'] : undefined;
  if (isGiven(effort) && effort !== 'none') features.set('Reasoning', 'reasoning.effort');
  return features;
}

/** I10: a stream keeps it until its end. */
function toldBack(body: Body): Record<string, unknown> {
  const told = Object.fromEntries(
    TOLD_BACK.filter((member) => isGiven(body[member])).map((member) => [member, body[member]]),
  );
  if (JSON.stringify(told).length <= MOST_TOLD_BACK) return told;
  return Object.fromEntries(Object.entries(told).filter(([member]) => !LONG.has(member)));
}
