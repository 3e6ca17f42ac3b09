/**
 * How `kubectl explain` finds a field in a document of `/openapi/v3`: the rule of its own template (plaintext.tmpl,
 * kubectl 1.32), so that every path of every kind can be asked without a process for each.
 */
import { isNode, type Node } from '../../http/openapi/schema.js';

export interface Explained {
  readonly type: string;
  readonly description: string;
}

export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

function member(node: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((at, name) => (isNode(at) ? at[name] : undefined), node);
}

function resolved(document: Node, schema: Node): Node {
  const { $ref } = schema;
  if (typeof $ref !== 'string') return schema;
  const found = member(document, ...$ref.replace(/^#\//, '').split('/'));
  return isNode(found) ? found : schema;
}

/** Kind of the resource: of the first operation on one of four paths that says one. */
function gvkOf(document: Node, { group, version, plural }: Resource): unknown {
  const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  for (const place of ['', '/namespaces/{namespace}']) {
    for (const name of ['', '/{name}']) {
      for (const method of METHODS) {
        const path = `${prefix}${place}/${plural}${name}`;
        const gvk = member(document, 'paths', path, method, 'x-kubernetes-group-version-kind');
        if (gvk !== undefined) return gvk;
      }
    }
  }
  return undefined;
}

function rootOf(document: Node, resource: Resource): Node | undefined {
  const gvk = JSON.stringify(gvkOf(document, resource));
  for (const schema of Object.values(Object(member(document, 'components', 'schemas')))) {
    const known = isNode(schema) ? schema['x-kubernetes-group-version-kind'] : undefined;
    if (isNode(schema) && Array.isArray(known) && known.some((one) => JSON.stringify(one) === gvk)) return schema;
  }
  return undefined;
}

function typeOf(document: Node, schema: Node): string {
  const { items, additionalProperties, allOf, properties, $ref } = schema;
  if (isNode(items)) return `[]${typeOf(document, items)}`;
  if (isNode(additionalProperties)) return `map[string]${typeOf(document, additionalProperties)}`;
  if (Array.isArray(allOf) && allOf.length === 1 && isNode(allOf[0]) && properties === undefined) {
    return typeOf(document, allOf[0]);
  }
  if (typeof $ref === 'string') {
    const { type } = resolved(document, schema);
    return typeof type === 'string' && type !== 'object' ? type : ($ref.split('/').at(-1) ?? '');
  }
  // Without a type kubectl guesses Object; that is an answer only where any value may stand.
  return typeof schema['type'] === 'string' ? schema['type'] : '';
}

function describe(document: Node, schema: Node): string {
  const node = resolved(document, schema);
  const below = [node['items'], node['additionalProperties'], ...(Array.isArray(node['allOf']) ? node['allOf'] : [])];
  const own = typeof node['description'] === 'string' ? node['description'] : '';
  return [own, ...below.filter(isNode).map((each) => describe(document, each))]
    .filter((text) => text !== '')
    .join('\n');
}

function follow(document: Node, schema: Node, path: readonly string[]): Node | undefined {
  const [first, ...rest] = path;
  if (first === undefined) return schema;
  const node = resolved(document, schema);
  const property = member(node, 'properties', first);
  if (isNode(property)) return rest.length === 0 ? property : follow(document, property, rest);
  for (const below of [node['items'], node['additionalProperties']]) {
    if (isNode(below)) return follow(document, below, path);
  }
  const { allOf } = node;
  for (const one of Array.isArray(allOf) ? allOf : []) {
    const found = isNode(one) ? follow(document, one, path) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What `kubectl explain <plural>.<path>` prints; undefined when it says that the field does not exist. */
export function explain(document: Node, resource: Resource, path: readonly string[]): Explained | undefined {
  const root = rootOf(document, resource);
  const found = root && follow(document, root, path);
  return found && { type: typeOf(document, found), description: describe(document, found) };
}
