/** Images and documents of a conversation, as dialects carry them: `data:` URLs, base64 with a type, or addresses. Pure. */
import { CannotCarry, type MediaPart } from './conversation.js';

const DATA = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w.+-]+=[^;,]*)*;base64,/i;
/** What both vendors read. */
const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/** `url`: a `data:` URL, or an address. */
export function mediaOfURL(media: MediaPart['media'], url: unknown, at: string, name?: string): MediaPart {
  if (typeof url !== 'string') throw new CannotCarry(at, 'must have its data, or an address');
  const about = { is: 'Media', media, at, ...(name === undefined ? {} : { name }) } as const;
  const found = DATA.exec(url);
  if (found !== null) {
    const type = (found[1] ?? '').toLowerCase();
    checkType(media, type, at);
    return { ...about, source: { by: 'Data', type, base64: url.slice(found[0].length) } };
  }
  if (/^https?:\/\//i.test(url)) return { ...about, source: { by: 'URL', url } };
  throw new CannotCarry(at, 'must be a data: URL in base64, or an https:// address');
}

export function checkType(media: MediaPart['media'], type: string, at: string): void {
  if (media === 'Image' && !IMAGE_TYPES.has(type))
    throw new CannotCarry(at, 'must be a JPEG, PNG, GIF or WebP: no others are read in every dialect');
  if (media === 'Document' && type !== 'application/pdf')
    throw new CannotCarry(at, 'must be a PDF: documents of other types are not read in every dialect. Send their text');
}

export function dataURL(type: string, base64: string): string {
  return `data:${type};base64,${base64}`;
}
