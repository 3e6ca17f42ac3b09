/** Discovery in one document (`apidiscovery.k8s.io`), which newer clients ask for. v2 and v2beta1 have the same shape. Pure. */
import type { KindDefinition } from '../../src/kinds/kind.js';
import { EVENTS, kindsOf, verbsOf, versionsOf } from './legacy.js';

function resource(kind: KindDefinition, groupName: string): unknown {
  const responseKind = { group: groupName, version: kind.version, kind: kind.kind };
  return {
    resource: kind.plural,
    responseKind,
    scope: kind.scope === 'project' ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    shortNames: kind.shortNames,
    categories: kind.categories,
    ...(kind.operations.has('readStatus')
      ? { subresources: [{ subresource: 'status', responseKind, verbs: ['get'] }] }
      : {}),
  };
}

const CORE_EVENTS = {
  resource: EVENTS.name,
  responseKind: { group: '', version: 'v1', kind: EVENTS.kind },
  scope: 'Namespaced',
  singularResource: EVENTS.singularName,
  verbs: EVENTS.verbs,
  shortNames: EVENTS.shortNames,
  categories: EVENTS.categories,
};

function versions(groupName: string, group: 'core' | 'api', kinds: readonly KindDefinition[]): unknown[] {
  const names = group === 'core' ? ['v1'] : versionsOf(kinds);
  return names.map((version) => ({
    version,
    resources: [
      ...(group === 'core' ? [CORE_EVENTS] : []),
      ...kindsOf(kinds, group, version).map((kind) => resource(kind, groupName)),
    ],
    freshness: 'Current',
  }));
}

/** `/api` with `core`, `/apis` with `api`. */
export function aggregated(
  apiVersion: 'v2' | 'v2beta1',
  group: 'core' | 'api',
  apiGroup: string,
  kinds: readonly KindDefinition[],
): unknown {
  const item =
    group === 'core'
      ? { metadata: { creationTimestamp: null }, versions: versions('', 'core', kinds) }
      : { metadata: { name: apiGroup, creationTimestamp: null }, versions: versions(apiGroup, 'api', kinds) };
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${apiVersion}`,
    metadata: {},
    items: [item],
  };
}
