/** What each member role may do, as scope patterns. Pure tables; `grant.ts` combines them with keys. */
import { ORG_PLURALS, PROJECT_PLURALS } from './plurals.js';
import { OPERATOR_SCOPE } from './scope.js';

export const ROLES = ['Owner', 'Admin', 'Developer', 'Viewer', 'Billing'] as const;
export type Role = (typeof ROLES)[number];

/** The org that the first start makes. Only its keys can carry `operator:*`. */
export const BOOTSTRAP_ORG = 'bootstrap';

const SCOPES: Readonly<Record<Role, readonly string[]>> = {
  Owner: ['*:*'],
  // All but `operator:*` and `billing:write`, so its write half has to be spelled out.
  Admin: [
    '*:read',
    '*:exec',
    'inference:invoke',
    'keys:write',
    'blobs:write',
    ...[...PROJECT_PLURALS, ...ORG_PLURALS].map((plural) => `${plural}:write`),
  ],
  Developer: [
    ...PROJECT_PLURALS.map((plural) => `${plural}:*`),
    'blobs:*',
    'events:read',
    'inference:invoke',
    'namespaces:read',
    'offerings:read',
  ],
  Viewer: ['*:read'],
  Billing: ['billing:*', 'budgets:*', 'topups:*'],
};

/** An Owner of the bootstrap org may also be an operator: `operator:*` literally, since no star covers it. */
export function roleScopes(role: Role, org: string): readonly string[] {
  return role === 'Owner' && org === BOOTSTRAP_ORG ? [...SCOPES.Owner, OPERATOR_SCOPE] : SCOPES[role];
}
