/** Turns a zod schema into an OpenAPI 3.0 schema: what zod says, less its noise, plus the marks of a kind. Pure. */
import { z } from 'zod';

/** A JSON value of an OpenAPI document. */
export type Node = Record<string, unknown>;

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The input side: what a client may write. */
export function schemaOf(schema: z.ZodType): Node {
  const made: unknown = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', unrepresentable: 'any' });
  return isNode(made) ? tidied(made) : {};
}

/** zod writes the range of safe integers out, and identifiers that OpenAPI 3.0 does not know. */
function tidied(node: Node): Node {
  const out: Node = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === '$schema' || key === '$id' || key === 'id' || key === '~standard') continue;
    if ((key === 'minimum' || key === 'maximum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER) continue;
    // Below `properties` and `default` the keys are names and values, not keywords.
    if (key === 'properties' && isNode(value)) {
      out[key] = Object.fromEntries(Object.entries(value).map(([name, of]) => [name, isNode(of) ? tidied(of) : of]));
    } else if (key === 'default' || key === 'enum' || key === 'example') out[key] = value;
    else if (Array.isArray(value))
      out[key] = value.map((element: unknown) => (isNode(element) ? tidied(element) : element));
    else out[key] = isNode(value) ? tidied(value) : value;
  }
  if (out['type'] === 'integer' && out['format'] === undefined) out['format'] = 'int64';
  const common = commonType(out);
  if (common !== undefined) out['type'] = common;
  return out;
}

/** The type of all alternatives, for readers that look at no alternative, such as `kubectl explain`. */
function commonType({ type, anyOf, oneOf }: Node): unknown {
  const options = anyOf ?? oneOf;
  if (type !== undefined || !Array.isArray(options)) return undefined;
  const types = new Set(options.map((option: unknown) => (isNode(option) ? option['type'] : undefined)));
  return types.size === 1 ? [...types][0] : undefined;
}

/** The node at a path such as `spec.env[].name` below an object schema; undefined when it is not there. */
export function nodeAt(root: Node, path: string): Node | undefined {
  let at: Node | undefined = root;
  for (const part of path.split('.')) {
    const name = part.replaceAll('[]', '');
    const properties: unknown = at['properties'];
    const next: unknown = isNode(properties) ? properties[name] : undefined;
    if (!isNode(next)) return undefined;
    at = next;
    if (part.endsWith('[]') && isNode(at['items'])) at = at['items'];
  }
  return at;
}

/** Adds a sentence and an extension to the nodes at these paths below `spec`. */
export function mark(spec: Node, paths: readonly string[], extension: string, sentence: string): void {
  for (const path of paths) {
    const node = nodeAt(spec, path.replace(/^spec\./, ''));
    if (node === undefined) continue;
    node[extension] = true;
    const before = typeof node['description'] === 'string' ? `${node['description']} ` : '';
    if (!before.includes(sentence)) node['description'] = before + sentence;
  }
}

export function ref(name: string): Node {
  return { $ref: `#/components/schemas/${name}` };
}

/** A reference with words of its own: in OpenAPI 3.0 nothing may stand beside `$ref`. */
export function described(name: string, description: string): Node {
  return { description, allOf: [ref(name)] };
}
