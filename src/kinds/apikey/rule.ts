/**
 * A key that acts as another member is made and deleted only by who may do as much as that member: an Admin neither makes
 * a key of the Owner's nor takes one away. The last key of the last Owner stays.
 */
import type { Author } from '../../api/access/author.js';
import type { Refusal } from '../../api/refusal.js';
import { roleBeyond } from '../member/beyond.js';
import { isOwner, keepsOwner, lastOwner, ownerOf } from '../member/rule.js';
import type { MemberSpec } from '../member/schema.js';
import type { OrgRule, OrgView } from '../rule.js';
import type { APIKeySpec } from './schema.js';

async function beyond(spec: APIKeySpec, by: Author, org: string, view: OrgView): Promise<Refusal | undefined> {
  const { member: name } = spec;
  if (name === undefined || name === by.member) return undefined;
  const member = await view.read('Member', name);
  const role = member && roleBeyond([(member.spec as MemberSpec).role], by, org);
  if (role === undefined) return undefined;
  return {
    code: 'Forbidden',
    message: `member ${name} with role ${role} may do more than you: only someone who may do as much can make or delete that member's keys`,
    fix: `Ask ${name} or an Owner of the org.`,
  };
}

export const apiKeyRule: OrgRule = async ({ org, by, before, after }, view) => {
  const spec = (after ?? before)?.spec as APIKeySpec;
  const refusal = await beyond(spec, by, org, view);
  if (refusal !== undefined || after !== undefined || before === undefined) return refusal;
  const owner = ownerOf(before);
  if (owner === undefined) return undefined;
  const member = await view.read('Member', owner);
  if (member === undefined || !isOwner(member)) return undefined;
  return (await keepsOwner(view, before)) ? undefined : lastOwner;
};
