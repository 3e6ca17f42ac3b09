/**
 * The schema of a merge patch (RFC 7396) of a kind: what its objects hold, with nothing required, `null` wherever a
 * field may be taken out, and no defaults. Lists are replaced whole, so their elements stay as they are. Pure.
 */
import { isNode, type Node } from './schema.js';

/** Said once, on the schema of the object; a patch is read next to it. */
const SILENT = new Set(['description', 'default', 'required', 'example', 'minProperties']);
const ALTERNATIVES = new Set(['allOf', 'oneOf', 'anyOf']);

export function mergePatchOf(schema: Node): Node {
  const out: Node = {};
  for (const [key, value] of Object.entries(schema)) {
    if (SILENT.has(key) || key.startsWith('x-')) continue;
    if (key === 'properties' && isNode(value)) {
      out[key] = Object.fromEntries(Object.entries(value).map(([name, field]) => [name, removable(field)]));
    } else if (key === 'additionalProperties') out[key] = isNode(value) ? removable(value) : value;
    else if (ALTERNATIVES.has(key) && Array.isArray(value)) {
      out[key] = value.map((one: unknown) => (isNode(one) ? mergePatchOf(one) : one));
    } else out[key] = value;
  }
  return out;
}

function removable(field: unknown): unknown {
  if (!isNode(field)) return field;
  const patch = mergePatchOf(field);
  // In OpenAPI 3.0 `nullable` says something only beside a `type`.
  if (typeof patch['type'] !== 'string') return patch;
  const { enum: values } = patch;
  return { ...patch, nullable: true, ...(Array.isArray(values) ? { enum: [...new Set([...values, null])] } : {}) };
}
