/** The request bodies and answers that several routes share in their descriptions. Pure. */
import { BYTES, INTEGER, TEXT } from '../../openapi/route.js';
import type { Node } from '../../openapi/schema.js';

export function json(schema: Node, required = true): Node {
  return { required, content: { 'application/json': { schema } } };
}

export function record(properties: Readonly<Record<string, Node>>, required: readonly string[] = []): Node {
  return { type: 'object', ...(required.length === 0 ? {} : { required }), properties };
}

export function described(description: string, schema: Node = TEXT): Node {
  return { ...schema, description };
}

export function items(of: Node, description: string): Node {
  return { type: 'array', items: of, description };
}

export const STRINGS: Node = { type: 'array', items: TEXT };
export const STRING_MAP: Node = { type: 'object', additionalProperties: TEXT };

/** Bytes as they are. */
export const RAW: Node = { required: true, content: { 'application/octet-stream': { schema: BYTES } } };
export const TAR: Node = { required: true, content: { 'application/x-tar': { schema: BYTES } } };

export const CHECKSUM: Node = {
  name: 'X-Content-SHA256',
  in: 'header',
  description: 'Checked against the bytes.',
  schema: TEXT,
};

/** One file or directory. */
export const FILE_ENTRY: Node = record({
  path: described('Path.'),
  type: described('File, Directory or Link.'),
  size: described('Bytes.', INTEGER),
  mode: described('Permissions, in octal.'),
  modifiedTime: described('When it was changed.', { type: 'string', format: 'date-time' }),
});
