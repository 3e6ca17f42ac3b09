/** Members: nobody hands out, changes or takes a role above his own. */
import test from 'ava';
import type { Author } from '../../../src/api/access/author.js';
import { BOOTSTRAP_ORG, ROLES, roleScopes, type Role } from '../../../src/api/access/role.js';
import { memberKind } from '../../../src/kinds/member/index.js';
import { at, decided, objectOf, owner, refusalOf } from '../decide.js';

const member = (role: Role) => objectOf(memberKind, { email: 'new@example.org', role });
const withRole = (role: Role): Author => ({ name: role, member: role.toLowerCase(), scopes: roleScopes(role, 'o-1') });

const ranks: readonly [by: Role, gives: Role, outcome: string][] = [
  ['Owner', 'Owner', 'Next'],
  ['Owner', 'Billing', 'Next'],
  ['Admin', 'Admin', 'Next'],
  ['Admin', 'Developer', 'Next'],
  ['Admin', 'Viewer', 'Next'],
  ['Admin', 'Owner', 'Forbidden'],
  ['Admin', 'Billing', 'Forbidden'],
  ['Viewer', 'Developer', 'Forbidden'],
];

for (const [by, gives, outcome] of ranks) {
  test(`${by} making ${gives}: ${outcome}`, (t) => {
    t.is(refusalOf(memberKind, at(member(gives)), { type: 'Created', by: withRole(by) }), outcome);
  });
}

test('an Admin neither demotes nor removes an Owner', (t) => {
  const by = withRole('Admin');
  t.is(refusalOf(memberKind, at(member('Viewer')), { type: 'Updated', before: member('Owner'), by }), 'Forbidden');
  t.is(refusalOf(memberKind, at(member('Owner')), { type: 'DeletionRequested', by }), 'Forbidden');
  t.is(refusalOf(memberKind, at(member('Owner')), { type: 'DeletionRequested', by: owner }), 'Next');
});

test('nobody gives any role', (t) => {
  for (const role of ROLES) t.is(refusalOf(memberKind, at(member(role)), { type: 'Created' }), 'Forbidden', role);
});

test('an Owner of the bootstrap org is an operator too, so only an operator makes one', (t) => {
  t.is(refusalOf(memberKind, at(member('Owner')), { type: 'Created', by: owner }, BOOTSTRAP_ORG), 'Forbidden');
  const operator = { ...owner, scopes: ['*:*', 'operator:*'] };
  t.is(refusalOf(memberKind, at(member('Owner')), { type: 'Created', by: operator }, BOOTSTRAP_ORG), 'Next');
});

test('the status says which generation it speaks of', (t) => {
  t.deepEqual(decided(memberKind, at(member('Developer')), { type: 'Created', by: owner }).object.status, {
    observedGeneration: 1,
  });
});

test('an e-mail address and a known role are needed', (t) => {
  t.false(memberKind.schema.spec.safeParse({ role: 'Viewer' }).success);
  t.false(memberKind.schema.spec.safeParse({ email: 'nobody', role: 'Viewer' }).success);
  t.false(memberKind.schema.spec.safeParse({ email: 'a@example.org', role: 'Root' }).success);
});
