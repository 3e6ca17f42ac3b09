/**
 * What the input of a response is made of: items, with parts in their contents. Images and documents are counted by themselves; what is stored at an
 * upstream is refused, since its account is not the caller's.
 */
import { isObject } from '../../../../api/safe-value.js';
import { type Body, fault, isGiven, listOf } from '../body.js';
import type { RequestFault } from '../dialect.js';
import type { Image, Part, PlacedPart } from '../images.js';

/** Parts of messages, and of what tools have put out. */
export function* partsOfInput(input: unknown): Generator<PlacedPart> {
  for (const [index, item] of listOf(input).entries()) {
    if (!isObject(item)) continue;
    for (const member of ['content', 'output'] as const) {
      for (const [at, part] of listOf(item[member]).entries())
        if (isObject(part)) yield { part, at: () => `input[${index}].${member}[${at}]` };
    }
  }
}

export function imageOf({ type, image_url: url, file_data: data, file_url: address }: Part): Image | undefined {
  if (type === 'input_file') {
    const characters = typeof data === 'string' ? data.length : 0;
    return { is: 'Document', characters, fetched: isGiven(address) };
  }
  if (type !== 'input_image' && url === undefined) return undefined;
  const isData = typeof url === 'string' && /^data:/i.test(url);
  return { is: 'Image', characters: isData ? url.length : 0, fetched: !isData };
}

/** What needs state of an upstream, by its member. */
const STATE: readonly string[] = ['previous_response_id', 'conversation', 'prompt', 'background', 'store'];

export function faultOfState(body: Body): RequestFault | undefined {
  const member = STATE.find((one) => isGiven(body[one]) && body[one] !== false);
  if (member !== undefined)
    return fault(member, 'must be left out: nothing is stored here. Send the whole conversation as input');
  for (const [index, item] of listOf(body['input']).entries())
    if (isObject(item) && item['type'] === 'item_reference')
      return fault(`input[${index}]`, 'must be the item itself: nothing is stored here');
  for (const { at, part } of partsOfInput(body['input'])) {
    if (isGiven(part['file_id']))
      return fault(
        at(),
        'must not name a stored file: files at an upstream are not yours alone. Send its data instead.',
      );
  }
  return undefined;
}

/** Everything of a body that can become a prompt, for a tokenizer, but the data of images. */
export function* textsOfResponses(body: Body): Generator<string> {
  for (const [member, value] of Object.entries(body)) {
    if (member === 'model' || !isGiven(value)) continue;
    if (member !== 'input' || !Array.isArray(value)) {
      if (typeof value === 'string' || typeof value === 'object') yield asText(value);
      continue;
    }
    for (const item of value as readonly unknown[]) yield* textsOfItem(item);
  }
}

function* textsOfItem(item: unknown): Generator<string> {
  if (!isObject(item)) return yield asText(item);
  const { content, output, type, role, ...rest } = item;
  for (const inside of [content, output]) {
    if (!isGiven(inside)) continue;
    if (!Array.isArray(inside)) yield asText(inside);
    else
      for (const part of inside as readonly unknown[])
        if (!isObject(part) || imageOf(part) === undefined) yield asText(part);
  }
  if (Object.values(rest).some(isGiven)) yield asText(rest);
  if (typeof type === 'string' && type.length > 32) yield type;
  if (typeof role === 'string' && role.length > 32) yield role;
  return undefined;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
