/**
 * What is written down beside a credential's hash, and how it becomes a grant when the credential is used.
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
  /** Names of Members who made it for another: what they may do bounds it as well. */
  readonly boundTo?: readonly string[] | undefined;
  /** Those of them to whom a key that is made with this one is bound as well. */
  readonly passesOn?: readonly string[] | undefined;
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

/**
 * What the credential may do now. `principals` are the member or ServiceAccount that it acts as and the members that it is
 * bound to; where one is undefined it is gone, and the credential may do nothing.
 */
export function effectiveGrant(
  detail: CredentialDetail,
  principals: readonly (Principal | undefined)[],
  org: string,
): Grant {
  let grant: Grant = detail;
  for (const principal of principals) {
    const most = principal && grantOf(principal, org);
    if (most === undefined) return NOTHING;
    grant = cutGrant(grant, most);
  }
  return grant;
}

function grantOf(principal: Principal, org: string): Grant | undefined {
  if (principal.kind === 'ServiceAccount') {
    return serviceAccountGrant({ scopes: principal.spec.scopes, project: principal.project });
  }
  const { role, projects } = principal.spec;
  return isRole(role) ? memberGrant({ role, projects }, org) : undefined;
}
