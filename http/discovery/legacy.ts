/** Discovery in its old shape: version and group lists, and one APIResourceList per group version. Pure. */
import { deletesCollections } from '../../src/kinds/declare.js';
import type { KindDefinition, Operation } from '../../src/kinds/kind.js';

const VERBS: readonly (readonly [Operation, readonly string[]])[] = [
  ['create', ['create']],
  ['delete', ['delete', 'deletecollection']],
  ['read', ['get']],
  ['list', ['list', 'watch']],
  ['patch', ['patch']],
  ['replace', ['update']],
];

/** Verbs as Kubernetes names them. */
export function verbsOf(kind: KindDefinition): string[] {
  return VERBS.filter(([operation]) => kind.operations.has(operation))
    .flatMap(([, verbs]) => verbs)
    .filter((verb) => verb !== 'deletecollection' || deletesCollections(kind))
    .toSorted();
}

/** `v1` before `v1beta1`. */
export function versionsOf(kinds: readonly KindDefinition[]): string[] {
  return [...new Set(kinds.filter((kind) => kind.group === 'api').map((kind) => kind.version))].toSorted(
    (a, b) => a.length - b.length || a.localeCompare(b),
  );
}

export function kindsOf(kinds: readonly KindDefinition[], group: 'core' | 'api', version: string): KindDefinition[] {
  return kinds
    .filter((kind) => kind.group === group && kind.version === version)
    .toSorted((a, b) => a.plural.localeCompare(b.plural));
}

export function coreVersions(): unknown {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [],
  };
}

export function apiGroup(group: string, kinds: readonly KindDefinition[]): Record<string, unknown> {
  const versions = versionsOf(kinds).map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions, preferredVersion: versions[0] };
}

export function apiGroupList(group: string, kinds: readonly KindDefinition[]): unknown {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: [apiGroup(group, kinds)] };
}

export function resourceList(groupVersion: string, kinds: readonly KindDefinition[]): unknown {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion,
    resources: [...(groupVersion === 'v1' ? [EVENTS] : []), ...kinds.flatMap(resourcesOf)],
  };
}

/** Of `../routes/core-events.ts`. */
export const EVENTS = {
  ...{ name: 'events', singularName: 'event', namespaced: true, kind: 'Event', verbs: ['get', 'list', 'watch'] },
  ...{ shortNames: ['ev'], categories: [] },
};

function resourcesOf(kind: KindDefinition): object[] {
  const namespaced = kind.scope === 'project';
  const resource = {
    name: kind.plural,
    singularName: kind.singular,
    namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    shortNames: kind.shortNames,
    categories: kind.categories,
  };
  const status = { name: `${kind.plural}/status`, singularName: '', namespaced, kind: kind.kind, verbs: ['get'] };
  return kind.operations.has('readStatus') ? [resource, status] : [resource];
}
