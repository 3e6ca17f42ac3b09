/** Grants: roles, projects, and that a key can never do more than whoever made it. */
import test from 'ava';
import * as fc from 'fast-check';
import type { Author, Grant } from '../../../src/api/access/author.js';
import { effectiveGrant, credentialDetail, type Principal } from '../../../src/api/access/credential.js';
import {
  checker,
  cutGrant,
  EVERYTHING,
  may,
  memberGrant,
  namedProjects,
  NOTHING,
} from '../../../src/api/access/grant.js';
import { ORG_PLURALS, PROJECT_PLURALS } from '../../../src/api/access/plurals.js';
import { BOOTSTRAP_ORG, ROLES, roleScopes } from '../../../src/api/access/role.js';
import { anyCovers, isScope } from '../../../src/api/access/scope.js';
import { tries } from '../../support/extent.js';

const words = [
  'jobs',
  'secrets',
  'apikeys',
  'members',
  'offerings',
  'namespaces',
  'billing',
  'inference',
  'keys',
  'operator',
];
const rights = ['*', 'read', 'write', 'exec', 'invoke'];
const everyScope = ['*', ...words].flatMap((left) => rights.map((right) => `${left}:${right}`)).filter(isScope);
const scopes = fc.array(fc.constantFrom(...everyScope), { maxLength: 5 });
const plain = fc.constantFrom(...everyScope.filter((scope) => !scope.includes('*') || scope === 'operator:*'));
const project = fc.constantFrom('', 'default', 'a', 'b', 'svc');
const projects = fc.option(fc.subarray(['default', 'a', 'b']), { nil: undefined });
const grant: fc.Arbitrary<Grant> = fc.record({ scopes, projects });

const roleTable: readonly [role: (typeof ROLES)[number], scope: string, may: boolean][] = [
  ['Owner', 'billing:write', true],
  ['Owner', 'keys:write', true],
  ['Owner', 'operator:*', false],
  ['Admin', 'members:write', true],
  ['Admin', 'budgets:write', true],
  ['Admin', 'keys:write', true],
  ['Admin', 'billing:read', true],
  ['Admin', 'billing:write', false],
  ['Admin', 'operator:*', false],
  ['Admin', 'inference:invoke', true],
  ['Developer', 'jobs:write', true],
  ['Developer', 'sandboxes:exec', true],
  ['Developer', 'secrets:write', true],
  ['Developer', 'offerings:read', true],
  ['Developer', 'namespaces:read', true],
  ['Developer', 'namespaces:write', false],
  ['Developer', 'members:read', false],
  ['Developer', 'keys:write', false],
  ['Developer', 'budgets:write', false],
  ['Viewer', 'jobs:read', true],
  ['Viewer', 'jobs:write', false],
  ['Viewer', 'sandboxes:exec', false],
  ['Viewer', 'inference:invoke', false],
  ['Billing', 'billing:write', true],
  ['Billing', 'topups:write', true],
  ['Billing', 'jobs:read', false],
];

for (const [role, scope, answer] of roleTable) {
  test(`a member with role ${role} ${answer ? 'may' : 'may not'} ${scope}`, (t) => {
    t.is(may(memberGrant({ role }, 'o-00000001'), scope, ''), answer);
  });
}

test('every scope of every role is a scope', (t) => {
  for (const role of ROLES) t.true(roleScopes(role, BOOTSTRAP_ORG).every(isScope), role);
});

test('an Admin may write every kind, so a kind that is added to the plurals is not forgotten', (t) => {
  const admin = memberGrant({ role: 'Admin' }, 'o-1');
  for (const plural of [...PROJECT_PLURALS, ...ORG_PLURALS]) t.true(may(admin, `${plural}:write`, ''));
});

test('only an Owner of the bootstrap org can be an operator', (t) => {
  for (const role of ROLES) {
    t.is(may(memberGrant({ role }, BOOTSTRAP_ORG), 'operator:*', ''), role === 'Owner');
    t.false(may(memberGrant({ role }, 'o-1'), 'operator:*', ''));
  }
});

test('a grant for some projects reaches those, the catalog to read, and nothing at org level', (t) => {
  const held: Grant = { scopes: ['*:*'], projects: ['a'] };
  t.true(may(held, 'jobs:write', 'a'));
  t.false(may(held, 'jobs:read', 'b'));
  t.true(may(held, 'environments:read', 'svc'));
  t.false(may(held, 'environments:write', 'svc'));
  t.true(may(held, 'offerings:read', ''));
  t.false(may(held, 'members:read', ''));
  t.false(may(held, 'keys:write', ''));
  t.false(may(held, 'jobs:read', ''));
  t.true(may(held, 'namespaces:read', 'a'));
  t.true(may(held, 'inference:invoke', ''));
});

test('nobody writes into the catalog', (t) => {
  t.false(may(EVERYTHING, 'images:write', 'svc'));
  t.true(may(EVERYTHING, 'images:read', 'svc'));
});

test('no projects named in a spec means all, no projects in a grant means none', (t) => {
  t.is(namedProjects(undefined), undefined);
  t.is(namedProjects(null), undefined);
  t.is(namedProjects([]), undefined);
  t.false(may({ scopes: ['*:*'], projects: [] }, 'jobs:read', 'a'));
});

test('what two grants have in common allows exactly what both allow', (t) => {
  fc.assert(
    fc.property(grant, grant, plain, project, (a, b, scope, where) => {
      const common = may(cutGrant(a, b), scope, where);
      return common === (may(a, scope, where) && may(b, scope, where));
    }),
    { numRuns: tries(5000) },
  );
  t.pass();
});

test('a remembered answer is the answer', (t) => {
  fc.assert(
    fc.property(grant, fc.array(fc.tuple(plain, project)), (held, questions) => {
      const ask = checker(held);
      return [...questions, ...questions].every(([scope, where]) => ask(scope, where) === may(held, scope, where));
    }),
  );
  t.pass();
});

const principal: fc.Arbitrary<Principal | undefined> = fc.option(
  fc.oneof(
    fc.record({
      kind: fc.constant('Member' as const),
      spec: fc.record({ role: fc.constantFrom(...ROLES, 'Nobody'), projects: fc.constantFrom(null, ['a'], []) }),
    }),
    fc.record({
      kind: fc.constant('ServiceAccount' as const),
      project: fc.constantFrom('default', 'a'),
      spec: fc.record({ scopes: fc.option(scopes, { nil: null }) }),
    }),
  ),
  { nil: undefined },
);

test('a key can never do more than its maker could, nor more than whom it acts as may now', (t) => {
  fc.assert(
    fc.property(grant, grant, principal, plain, project, (maker, asked, whom, scope, where) => {
      const detail = { actsAs: { member: 'm' }, ...cutGrant(asked, maker) };
      const held = effectiveGrant(detail, [whom], 'o-1');
      if (!may(held, scope, where)) return true;
      const role = ROLES.find((one) => whom?.kind === 'Member' && whom.spec.role === one);
      const allowed =
        whom?.kind === 'ServiceAccount' ? (whom.spec.scopes ?? []) : role === undefined ? [] : roleScopes(role, 'o-1');
      return may(maker, scope, where) && anyCovers(allowed, scope);
    }),
    { numRuns: tries(5000) },
  );
  t.pass();
});

test('a chain of keys made by keys only ever loses power', (t) => {
  fc.assert(
    fc.property(fc.array(grant, { minLength: 2, maxLength: 6 }), plain, project, (asks, scope, where) => {
      const first = asks[0] ?? NOTHING;
      const last = asks.slice(1).reduce<Grant>((maker, ask) => cutGrant(ask, maker), first);
      return !may(last, scope, where) || may(first, scope, where);
    }),
  );
  t.pass();
});

test('the key of a member or ServiceAccount that is gone may do nothing', (t) => {
  const detail = { actsAs: { member: 'gone' }, scopes: ['*:*'] };
  t.deepEqual(effectiveGrant(detail, [undefined], BOOTSTRAP_ORG), NOTHING);
  const member: Principal = { kind: 'Member', spec: { role: 'Owner' } };
  t.deepEqual(effectiveGrant({ ...detail, boundTo: ['maker'] }, [member, undefined], BOOTSTRAP_ORG), NOTHING);
});

test("an attempt's credential is not taken for a key", (t) => {
  t.is(credentialDetail({ attempt: 'uid', epoch: 1 }), undefined);
  t.deepEqual(credentialDetail({ actsAs: { member: 'm' }, scopes: [] }), { actsAs: { member: 'm' }, scopes: [] });
});

test('an author is a grant, so that the service itself can be one', (t) => {
  const service: Author = { name: 'system', ...EVERYTHING };
  t.true(may(service, 'members:write', ''));
});
