/**
 * Owns what is written down beside a credential's hash, and how it becomes a grant when the credential is used.
 * The row itself (hash, expiry, object) belongs to storage; a value is only ever seen by its first answer.
 */
import type { Grant } from './author.js';
import { cutGrant, memberGrant, NOTHING, serviceAccountGrant } from './grant.js';
import { ROLES, type Role } from './role.js';

/** `detail` of a credential that stands for an APIKey or a ServiceAccount. JSON. */
export interface CredentialDetail {
  /** Whose role or scopes bound it at each use. */
  readonly actsAs:
    | { readonly member: string }
    | { readonly serviceAccount: { readonly project: string; readonly name: string } };
  /** What its maker could do when it was made, cut to what was asked for. */
  readonly scopes: readonly string[];
  readonly projects?: readonly string[] | undefined;
}

/** Reads a stored detail, as `decide` wrote it; undefined for one of another use (an attempt's token). */
export function credentialDetail(stored: object): CredentialDetail | undefined {
  return isOurs(stored) ? stored : undefined;
}

function isOurs(stored: object): stored is CredentialDetail {
  return 'actsAs' in stored && 'scopes' in stored && Array.isArray(stored.scopes);
}

/** Specs of the objects that a credential acts as, as far as they matter here. */
export type Principal =
  | {
      readonly kind: 'Member';
      readonly spec: { readonly role?: unknown; readonly projects?: readonly string[] | null };
    }
  | {
      readonly kind: 'ServiceAccount';
      readonly project: string;
      readonly spec: { readonly scopes?: readonly string[] | null };
    };

function isRole(role: unknown): role is Role {
  return ROLES.some((known) => known === role);
}

/** What the credential may do now. `principal` undefined: its member or ServiceAccount is gone, and it may do nothing. */
export function effectiveGrant(detail: CredentialDetail, principal: Principal | undefined, org: string): Grant {
  if (principal === undefined) return NOTHING;
  if (principal.kind === 'ServiceAccount') {
    return cutGrant(detail, serviceAccountGrant({ scopes: principal.spec.scopes, project: principal.project }));
  }
  const { role, projects } = principal.spec;
  return isRole(role) ? cutGrant(detail, memberGrant({ role, projects }, org)) : NOTHING;
}
