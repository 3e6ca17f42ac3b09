/**
 * The rules of membership: a role is handed out, taken away or acted in only by a caller who may do at least as much, and an org keeps an
 * Owner with a key that does not end by itself. Nobody of the org could undo the loss of the last one, so such a write is refused.
 */
import type { Author } from '../../api/access/author.js';
import { type Role, roleScopes } from '../../api/access/role.js';
import { allCover, anyCovers } from '../../api/access/scope.js';
import type { ApiObject } from '../../api/object.js';
import type { Refusal } from '../../api/refusal.js';
import type { APIKeySpec, APIKeyStatus } from '../apikey/schema.js';
import type { OrgRule, OrgView } from '../rule.js';
import type { MemberSpec } from './schema.js';

/** True for a member who may do everything everywhere, and whom no garbage collection takes. */
export function isOwner(member: ApiObject): boolean {
  const { role, projects } = member.spec as MemberSpec;
  return role === 'Owner' && (projects ?? []).length === 0 && stays(member);
}

/** The Owner that this key may stand for: it may do everything, and nothing but its deletion ends it. */
export function ownerOf(key: ApiObject): string | undefined {
  const { member, scopes, projects, expirationTime } = key.spec as APIKeySpec;
  const whole = anyCovers(scopes ?? [], '*:*') && (projects ?? []).length === 0;
  return whole && expirationTime === undefined && stays(key) ? member : undefined;
}

function stays({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp === undefined && (metadata.ownerReferences ?? []).length === 0;
}

/** Whether the org has an Owner with a key once this object is gone (or is an Owner's no more), and those of its kind named beside it. */
export async function keepsOwner(view: OrgView, without: ApiObject, alongside?: ReadonlySet<string>): Promise<boolean> {
  const isGone = ({ kind, metadata: { name } }: ApiObject): boolean =>
    kind === without.kind && (name === without.metadata.name || alongside?.has(name) === true);
  const owners = new Set<string>();
  for await (const member of view.list('Member')) {
    if (isOwner(member) && !isGone(member)) owners.add(member.metadata.name);
  }
  if (owners.size === 0) return false;
  for await (const key of view.list('APIKey')) {
    const owner = ownerOf(key);
    if (owner === undefined || !owners.has(owner) || isGone(key)) continue;
    // A key that others made ends with them.
    if (((key.status as APIKeyStatus).boundTo ?? []).every((name) => owners.has(name))) return true;
  }
  return false;
}

export const lastOwner: Refusal = {
  code: 'Forbidden',
  message: 'the org would be left without an Owner who has a key that does not expire: nobody could get in again',
  fix: 'Make another member Owner and an API key for that member first.',
};

export const memberRule: OrgRule = async ({ before, after, alongside }, view) => {
  if (before === undefined || !isOwner(before) || (after !== undefined && isOwner(after))) return undefined;
  return (await keepsOwner(view, before, alongside)) ? undefined : lastOwner;
};

/** The first of the roles that goes beyond what `by` may do; undefined when none does. Nobody may do nothing. */
export function roleBeyond(roles: readonly Role[], by: Author | undefined, org: string): Role | undefined {
  const held = by?.scopes ?? [];
  return roles.find((role) => !roleScopes(role, org).every((scope) => allCover(held, scope)));
}
