/**
 * The decision who may do what: a grant (scopes within projects), what two grants have in common, and the check.
 *
 * A key or token acts with what is common to three things, so it can never do more than its maker:
 * 1. what was written down for it, cut when it was made to what its maker could do then;
 * 2. what its member's role, or its ServiceAccount's scopes, allow now;
 * 3. the projects of both.
 * Nothing here knows a clock, a store or a request.
 */
import { CATALOG_PROJECT } from '../../brand.js';
import type { Grant } from './author.js';
import { CATALOG_PLURALS } from './plurals.js';
import { roleScopes, type Role } from './role.js';
import { anyCovers, cutScopes } from './scope.js';

/** Nothing at all: what remains of a key whose member or ServiceAccount is gone. */
export const NOTHING: Grant = { scopes: [], projects: [] };

/** What the service itself may do when it writes for nobody (children, catalogs, the first start). */
export const EVERYTHING: Grant = { scopes: ['*:*', 'operator:*'] };

/** True when the project half of the grant allows it; the scope half is not looked at. */
function reaches(grant: Grant, scope: string, project: string): boolean {
  const reads = scope.endsWith(':read');
  // Only the service writes into the catalog; everybody reads it.
  if (project === CATALOG_PROJECT) return reads;
  if (grant.projects === undefined) return true;
  if (project !== '') return grant.projects.includes(project);
  const left = scope.slice(0, scope.indexOf(':'));
  if (CATALOG_PLURALS.has(left)) return reads;
  // Inference on the shared base has no project: the scope alone decides.
  return left === 'inference';
}

/**
 * May the holder do this? `scope` is a plain scope such as `jobs:write`; `project` is `''` at org level.
 * A Namespace counts as being in the project of its own name.
 */
export function may(grant: Grant, scope: string, project: string): boolean {
  return anyCovers(grant.scopes, scope) && reaches(grant, scope, project);
}

/** What both grants allow. */
export function cutGrant(asked: Grant, ceiling: Grant): Grant {
  const projects =
    asked.projects === undefined
      ? ceiling.projects
      : ceiling.projects === undefined
        ? asked.projects
        : asked.projects.filter((project) => ceiling.projects?.includes(project) ?? false);
  return { scopes: cutScopes(asked.scopes, ceiling.scopes), projects };
}

/** What a member may do: the role, in the member's projects (none named: all). */
export function memberGrant(
  member: { readonly role: Role; readonly projects?: readonly string[] | null | undefined },
  org: string,
): Grant {
  return { scopes: roleScopes(member.role, org), projects: namedProjects(member.projects) };
}

/** What a ServiceAccount may do: its scopes, in its own project. */
export function serviceAccountGrant(account: {
  readonly scopes?: readonly string[] | null | undefined;
  readonly project: string;
}): Grant {
  return { scopes: account.scopes ?? [], projects: [account.project] };
}

/** A list of projects as it stands in a spec: absent, null and empty mean every project. */
export function namedProjects(projects: readonly string[] | null | undefined): readonly string[] | undefined {
  return projects === undefined || projects === null || projects.length === 0 ? undefined : projects;
}

/** A check for one holder that remembers its answers; bounded, since scopes times projects is small but clients choose names. */
export function checker(grant: Grant): (scope: string, project: string) => boolean {
  const known = new Map<string, boolean>();
  return (scope, project) => {
    const key = `${scope} ${project}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const answer = may(grant, scope, project);
    // Full (512 questions, about 50 kB): forget everything and start again; the answers are cheap to find anew.
    if (known.size >= 512) known.clear();
    known.set(key, answer);
    return answer;
  };
}
