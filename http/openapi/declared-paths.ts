/** The OpenAPI paths of routes that are declared and not served yet. Pure. */
import type { KindDefinition } from '../../src/kinds/kind.js';
import { declaredSubresources } from '../routes/declared/index.js';
import { openapiPath, type SubresourceRoute } from '../routes/declared/declared.js';
import { objectPathOf } from './operations.js';
import { NAME, NAMESPACE } from './parameters.js';
import { route } from './route.js';
import type { Node } from './schema.js';

/** Said by every one of them, so that a reader of the document is not surprised. */
const NOT_SERVED = 'Not served yet: answers 501 Unsupported.';

function operation(of: SubresourceRoute, names: readonly object[]): Node {
  const { id, tag, summary, parameters = [], body, answer } = of;
  const all = [...names, ...parameters].map((parameter): Node => ({ ...parameter }));
  return route({
    id,
    tag,
    summary,
    description: NOT_SERVED,
    answer,
    ...(all.length === 0 ? {} : { parameters: all }),
    ...(body === undefined ? {} : { body }),
  });
}

export function declaredPaths(group: string, kinds: readonly KindDefinition[]): Record<string, Node> {
  const paths: Record<string, Record<string, Node>> = {};
  const add = (at: string, of: SubresourceRoute, names: readonly object[]): void => {
    (paths[openapiPath(at)] ??= {})[of.method.toLowerCase()] = operation(of, names);
  };
  for (const kind of kinds) {
    const place = kind.scope === 'org' ? [NAME] : [NAMESPACE, NAME];
    for (const of of declaredSubresources(kind)) add(`${objectPathOf(group, kind)}/${of.path}`, of, place);
  }
  return paths;
}
