/**
 * What a Member does: a caller gives, changes or takes no role that goes beyond what the caller may do.
 * Without it an Admin could make an Owner and act as one.
 */
import type { Author } from '../../api/access/author.js';
import type { Role } from '../../api/access/role.js';
import type { Refusal } from '../../api/refusal.js';
import type { Machine } from '../machine.js';
import { next, plain, refused } from '../plain-machine.js';
import { roleBeyond } from './rule.js';
import type { MemberSpec, MemberStatus } from './schema.js';

/** Why `by` may not hand out or touch these roles; undefined when he may. */
function beyond(roles: readonly Role[], by: Author | undefined, org: string): Refusal | undefined {
  const role = roleBeyond(roles, by, org);
  if (role === undefined) return undefined;
  return {
    code: 'Forbidden',
    message: `a member with role ${role} may do more than you: only someone who may do as much can make, change or remove one`,
    fix: 'Ask an Owner of the org.',
  };
}

export const memberMachine: Machine<MemberSpec, MemberStatus, undefined, undefined, never> = {
  decide(current, _side, message) {
    const { object, address } = current;
    const { role } = object.spec;
    switch (message.type) {
      case 'Created':
      case 'Updated': {
        const before = message.type === 'Updated' ? [message.before.spec.role] : [];
        const refusal = beyond([role, ...before], message.by, address.org);
        if (refusal !== undefined) return refused(refusal);
        return next<MemberStatus>({ ...object.status, observedGeneration: object.metadata.generation });
      }
      case 'DeletionRequested': {
        const refusal = beyond([role], message.by, address.org);
        return refusal === undefined ? next<MemberStatus>(object.status) : refused(refusal);
      }
      default:
        return plain(current, message);
    }
  },
};
