/**
 * What the messages of a chat in OpenAI's dialect are made of: texts, images, which are counted by themselves, and parts that are refused because their price
 * or their owner is not known.
 */
import { isObject } from '../../../../api/safe-value.js';
import { fault, isGiven, listOf } from '../body.js';
import type { RequestFault } from '../dialect.js';
import type { Image, Part, PlacedPart } from '../images.js';

export function* partsOf(messages: readonly unknown[]): Generator<PlacedPart> {
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) continue;
    for (const [at, part] of listOf(message['content']).entries()) {
      if (isObject(part)) yield { part, at: () => `messages[${index}].content[${at}]` };
    }
  }
}

export function imageOf(part: Part): Image | undefined {
  if (part['type'] === 'file') {
    const file = part['file'];
    const data = isObject(file) ? file['file_data'] : undefined;
    return { is: 'Document', characters: typeof data === 'string' ? data.length : 0, fetched: !isData(data) };
  }
  // Some servers ask for no type.
  if (part['type'] !== 'image_url' && part['type'] !== 'input_image' && !('image_url' in part)) return undefined;
  const image = part['image_url'];
  const url: unknown = isObject(image) ? image['url'] : image;
  return { is: 'Image', characters: isData(url) ? url.length : 0, fetched: !isData(url) };
}

function isData(url: unknown): url is string {
  return typeof url === 'string' && /^data:/i.test(url);
}

const NO_PRICE = 'models have no price for audio and video here. Send text and images.';
const UNPRICED: readonly string[] = ['input_audio', 'audio_url', 'video_url', 'input_video'];

export function faultOfParts(messages: readonly unknown[]): RequestFault | undefined {
  for (const { at, part } of partsOf(messages)) {
    const unpriced = UNPRICED.find((name) => part['type'] === name || name in part);
    if (unpriced !== undefined) return fault(at(), `must not be of type ${unpriced}: ${NO_PRICE}`);
    const file = part['file'];
    const id: unknown = isObject(file) ? file['file_id'] : part['file_id'];
    if (isGiven(id)) {
      return fault(
        at(),
        'must not name a stored file: files at an upstream are not yours alone. Send its data instead.',
      );
    }
  }
  return undefined;
}
