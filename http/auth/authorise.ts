/**
 * Where a route's objects live and whether the caller may touch them. Another org's objects cannot be named at all:
 * the org of every address comes from the caller (I12), except for the catalog, which everybody reads and nobody writes.
 */
import { scopeOf } from '../../src/api/access/scope.js';
import type { Address } from '../../src/api/address.js';
import { refuse } from '../../src/api/refusal.js';
import { CATALOG_ORG, CATALOG_PROJECT } from '../../src/brand.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/resource-service.js';

export type AccessVerb = 'read' | 'write' | 'exec';

/** Projects are themselves objects: core Namespaces. Each org has its own, `svc` too. */
export function isProjectKind(kind: KindDefinition): boolean {
  return kind.group === 'core' && kind.plural === 'namespaces';
}

/** A Namespace counts as being in the project of its own name. */
function placeOf(kind: KindDefinition, project: string, name: string): string {
  return isProjectKind(kind) ? name : project;
}

/** What nobody but the service writes: catalog kinds, and all of the catalog's project. */
export function isCatalog(kind: KindDefinition, project: string): boolean {
  return kind.catalog === true || project === CATALOG_PROJECT;
}

/**
 * The org whose objects a route of this kind and project is about.
 * I12: every address that a request can name begins with the caller's own org, or the catalog's.
 */
export function homeOrg(caller: Caller, kind: KindDefinition, project: string): string {
  return isCatalog(kind, project) ? CATALOG_ORG : caller.org;
}

/** Refuses with Forbidden; in the catalog, which nobody may write, with MethodNotAllowed. `name` is empty for a collection. */
export function authorise(caller: Caller, kind: KindDefinition, project: string, name: string, verb: AccessVerb): void {
  const place = placeOf(kind, project, name);
  if (verb !== 'read' && isCatalog(kind, place)) {
    throw catalogIsReadOnly({ kind: kind.kind, name });
  }
  requireScope(caller, scopeOf(kind.plural, verb), place);
}

export function catalogIsReadOnly(target?: { readonly kind: string; readonly name: string }): Error {
  return refuse('MethodNotAllowed', 'the catalog is read-only', {
    fix: 'Write into a project of your own: the catalog is kept by the operator of this deployment.',
    target,
  });
}

export function requireScope(caller: Caller, scope: string, project: string): void {
  if (caller.may(scope, project)) return;
  const where = project === '' ? '' : ` in project "${project}"`;
  throw refuse('Forbidden', `${caller.name} needs the scope ${scope}${where}`, {
    fix: `Use a key that carries the scope ${scope}${where}.`,
  });
}

/** The address of an object, after authorisation. */
export function addressOf(
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
  verb: AccessVerb,
): Address {
  authorise(caller, kind, project, name, verb);
  return { org: homeOrg(caller, kind, project), kind: kind.kind, project, name };
}

/** What `authorise` asked, to be asked again of the caller of a stream as long as it is open. */
export function stillMay(
  kind: KindDefinition,
  project: string,
  name: string,
  verb: AccessVerb,
): (caller: Caller) => boolean {
  const scope = scopeOf(kind.plural, verb);
  const place = placeOf(kind, project, name);
  return (caller) => caller.may(scope, place);
}

/**
 * The projects whose objects a list over every project shows: undefined for all of them, else only these.
 * Refuses when the caller may read none.
 */
export function visibleProjects(caller: Caller, kind: KindDefinition): readonly string[] | undefined {
  const scope = scopeOf(kind.plural, 'read');
  if (caller.projects === undefined || kind.catalog === true) {
    requireScope(caller, scope, '');
    return undefined;
  }
  const visible = caller.projects.filter((project) => caller.may(scope, project));
  if (visible.length === 0) requireScope(caller, scope, '');
  return visible;
}
