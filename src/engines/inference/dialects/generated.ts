/** UTF-8 bytes of what a model has generated, whichever dialect carries it. */

/** Of a text, or of content that comes in parts, such as `[{type: 'text', text}]`. */
export function bytesOf(content: unknown): number {
  if (typeof content === 'string') return Buffer.byteLength(content);
  if (!Array.isArray(content)) return 0;
  return content.reduce<number>((sum, part) => sum + bytesOfPart(part), 0);
}

function bytesOfPart(part: unknown): number {
  if (typeof part !== 'object' || part === null) return bytesOf(part);
  const text = bytesOf(Reflect.get(part, 'text'));
  return text > 0 ? text : bytesOf(Reflect.get(part, 'thinking'));
}

/** Arguments of a tool: JSON text, or the value itself. `{}` stands for those that come later. */
export function bytesOfArguments(given: unknown): number {
  if (typeof given === 'string') return Buffer.byteLength(given);
  if (typeof given !== 'object' || given === null || Object.keys(given).length === 0) return 0;
  return Buffer.byteLength(JSON.stringify(given));
}
