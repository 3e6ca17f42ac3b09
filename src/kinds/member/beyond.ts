/** Who may hand out, take away or act in a role: only who may do at least as much. */
import type { Author } from '../../api/access/author.js';
import { roleScopes, type Role } from '../../api/access/role.js';
import { allCover } from '../../api/access/scope.js';

/** The first of the roles that goes beyond what `by` may do; undefined when none does. Nobody may do nothing. */
export function roleBeyond(roles: readonly Role[], by: Author | undefined, org: string): Role | undefined {
  const held = by?.scopes ?? [];
  return roles.find((role) => !roleScopes(role, org).every((scope) => allCover(held, scope)));
}
