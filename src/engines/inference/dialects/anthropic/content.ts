/**
 * What a request in Anthropic's dialect is made of: blocks of messages, with those inside tool results and documents. Images and documents are counted by
 * themselves; files that are stored at an upstream are refused, since the upstream's account is not the caller's.
 */
import { isObject } from '../../../../api/safe-value.js';
import { type Body, fault, faultOfName, isGiven, listOf } from '../body.js';
import type { RequestFault } from '../dialect.js';
import type { Image, Part, PlacedPart } from '../images.js';

/** Outer blocks come before those inside of them. The depth of a body is bounded; a generator in each level would cost by its square. */
function addBlocks(blocks: PlacedPart[], content: unknown, at: () => string): void {
  for (const [index, part] of listOf(content).entries()) {
    if (!isObject(part)) continue;
    const here = (): string => `${at()}[${index}]`;
    blocks.push({ part, at: here });
    const { content: inside, source } = part;
    if (Array.isArray(inside)) addBlocks(blocks, inside, () => `${here()}.content`);
    if (isObject(source)) addBlocks(blocks, source['content'], () => `${here()}.source.content`);
  }
}

export function blocksOf(body: Body): readonly PlacedPart[] {
  const blocks: PlacedPart[] = [];
  addBlocks(blocks, body['system'], () => 'system');
  for (const [index, message] of listOf(body['messages']).entries()) {
    if (isObject(message)) addBlocks(blocks, message['content'], () => `messages[${index}].content`);
  }
  return blocks;
}

/** Documents without pages are texts, or blocks of their own. */
export function imageOf({ type, source, image_url: url }: Part): Image | undefined {
  // Of another dialect, which some servers read in this one too.
  if (url !== undefined || type === 'image_url') {
    const data: unknown = isObject(url) ? url['url'] : url;
    const isData = typeof data === 'string' && /^data:/i.test(data);
    return { is: 'Image', characters: isData ? data.length : 0, fetched: !isData };
  }
  if (type !== 'image' && type !== 'document') return undefined;
  const kind: unknown = isObject(source) ? source['type'] : undefined;
  const data: unknown = isObject(source) ? source['data'] : undefined;
  if (type === 'document' && kind !== 'base64' && kind !== 'url') return undefined;
  return {
    is: type === 'document' ? 'Document' : 'Image',
    characters: kind === 'base64' && typeof data === 'string' ? data.length : 0,
    fetched: kind !== 'base64',
  };
}

const UPLOAD = 'container_upload';
/** Of others it is not known what they do: some add tools that the upstream runs. */
const KNOWN: ReadonlySet<unknown> = new Set([
  ...[
    'text',
    'image',
    'image_url',
    'document',
    'search_result',
    'thinking',
    'redacted_thinking',
    'tool_removal',
    'fallback',
  ],
  // Of what tools have given.
  ...['browser_state', 'content', 'object'],
]);
const OF_TOOLS = /^[a-z_]+_(use|result|error|output|reference|location)$/;

export function faultOfBlocks(blocks: readonly PlacedPart[]): RequestFault | undefined {
  for (const { at, part } of blocks) {
    const source = part['source'];
    for (const object of [part, source]) {
      const odd = isObject(object) ? faultOfName(object, at) : undefined;
      if (odd !== undefined) return odd;
    }
    const { type } = part;
    if (isGiven(type) && !KNOWN.has(type) && !(typeof type === 'string' && OF_TOOLS.test(type)) && type !== UPLOAD)
      return fault(
        `${at()}.type`,
        "is no block of a message's content: tools are named in tools, a member of the request",
      );
    if (type === UPLOAD || (isObject(source) && (source['type'] === 'file' || 'file_id' in source))) {
      return fault(
        at(),
        'must not name a stored file: files at an upstream are not yours alone. Send its data instead.',
      );
    }
  }
  return undefined;
}

/** Some `cache_control` asks for more than the usual five minutes. */
export function asksForLongCache(body: Body, blocks: readonly PlacedPart[]): boolean {
  if (isLong(body)) return true;
  if (listOf(body['tools']).some((tool) => isObject(tool) && isLong(tool))) return true;
  return blocks.some(({ part }) => isLong(part));
}

function isLong({ cache_control: control }: Part): boolean {
  return isObject(control) && isGiven(control['ttl']) && control['ttl'] !== '5m';
}
