/**
 * What the messages of a chat in OpenAI's dialect are made of: texts, images, which are counted by themselves, and parts that are refused because their price
 * or their owner is not known.
 */
import { isObject } from '../../../../api/safe-value.js';
import { fault, faultOfName, isGiven, listOf } from '../body.js';
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

/** Parts that are read somewhere, and hold nothing that is not counted. */
const KNOWN: ReadonlySet<unknown> = new Set([
  ...[
    'text',
    'refusal',
    'image_url',
    'input_image',
    'file',
    'thinking',
    'redacted_thinking',
    'input_text',
    'output_text',
  ],
]);

export function faultOfParts(messages: readonly unknown[]): RequestFault | undefined {
  for (const [index, message] of messages.entries()) {
    const odd = isObject(message) ? faultOfName(message, () => `messages[${index}]`) : undefined;
    if (odd !== undefined) return odd;
    const content = isObject(message) ? message['content'] : undefined;
    if (isGiven(content) && typeof content !== 'string' && !Array.isArray(content))
      return fault(`messages[${index}].content`, 'must be a string or a list of parts');
  }
  for (const { at, part } of partsOf(messages)) {
    for (const [object, place] of [
      [part, at],
      [part['image_url'], at],
      [part['file'], at],
    ] as const) {
      const odd = isObject(object) ? faultOfName(object, place) : undefined;
      if (odd !== undefined) return odd;
    }
    const unpriced = UNPRICED.find((name) => part['type'] === name || name in part);
    if (unpriced !== undefined) return fault(at(), `must not be of type ${unpriced}: ${NO_PRICE}`);
    if (isGiven(part['type']) && !KNOWN.has(part['type']))
      return fault(at(), 'must be of type text, image_url or file: of others it is not known what they hold');
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
