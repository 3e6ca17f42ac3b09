/** API keys: shown once, cut to their maker, ended by their expiry. */
import test from 'ava';
import * as fc from 'fast-check';
import type { Author } from '../../../src/api/access/author.js';
import { credentialDetail } from '../../../src/api/access/credential.js';
import { may } from '../../../src/api/access/grant.js';
import { isScope } from '../../../src/api/access/scope.js';
import type { Effect } from '../../../src/kinds/effect.js';
import { apiKeyKind } from '../../../src/kinds/apikey/index.js';
import { bearerHash } from '../../../src/kinds/serviceaccount/machine.js';
import { ask, at, decided, contextAt, NOW, objectOf, owner, refusalOf } from '../decide.js';

const developer: Author = {
  name: 'dev@example.org',
  member: 'dev',
  scopes: ['jobs:*', 'keys:write'],
  projects: ['a', 'b'],
};
const robot: Author = {
  name: 'serviceaccount:a/robot',
  serviceAccount: { project: 'a', name: 'robot' },
  scopes: ['keys:write', 'jobs:read'],
  projects: ['a'],
};

const create = (spec: unknown, by: Author = owner) =>
  decided(apiKeyKind, at(objectOf(apiKeyKind, spec)), { type: 'Created', by });
const refusal = (spec: unknown, by?: Author) =>
  refusalOf(apiKeyKind, at(objectOf(apiKeyKind, spec)), { type: 'Created', by });

function detailOf(effects: readonly Effect[]): object | undefined {
  return effects.find((effect) => effect.type === 'GrantCredential')?.detail;
}

test('a key is revealed once, and only its hash and first characters are kept', (t) => {
  const made = create({});
  const key = String(made.reveal['key']);
  t.regex(key, /^svc_[A-Za-z0-9_-]{43}$/);
  t.deepEqual(made.object.status, { phase: 'Active', prefix: key.slice(0, 12), createdBy: 'ada@example.org' });
  t.deepEqual(made.effects, [
    { type: 'GrantCredential', sha256: bearerHash(key), detail: { actsAs: { member: 'ada' }, scopes: ['*:*'] } },
  ]);
  t.false(JSON.stringify([made.object, made.effects]).includes(key.slice(12)));
});

test('a key that is made with one that ends, ends no later', (t) => {
  const expires = NOW + 3_600_000;
  const lent = { ...owner, expires };
  const asked = (ms: number): string => new Date(ms).toISOString();
  t.is(refusal({}, lent), 'Invalid');
  t.is(refusal({ expirationTime: asked(expires + 1_000) }, lent), 'Invalid');
  t.is(refusal({ serviceAccount: { project: 'a', name: 'robot' } }, lent), 'Invalid');
  const made = create({ expirationTime: asked(expires) }, lent);
  t.like(
    made.effects.find(({ type }) => type === 'GrantCredential'),
    { expires },
  );
});

test('two keys are never the same', (t) => {
  const [first, second] = [1, 2].map((seed) => {
    const message = { type: 'Created', by: owner } as const;
    return decided(apiKeyKind, at(objectOf(apiKeyKind, {})), message, contextAt(undefined, seed)).reveal;
  });
  t.notDeepEqual(first, second);
});

test('scopes and projects are cut to those of the maker, and shown as they hold', (t) => {
  const made = create({ scopes: ['*:read', 'jobs:write'], projects: ['b', 'c'] }, developer);
  t.deepEqual(made.object.spec, { scopes: ['jobs:read', 'jobs:write'], projects: ['b'], member: 'dev' });
  t.deepEqual(detailOf(made.effects), {
    actsAs: { member: 'dev' },
    scopes: ['jobs:read', 'jobs:write'],
    projects: ['b'],
  });
});

test("a key that names nothing gets what its maker has, but never an operator's power", (t) => {
  const made = create({}, { ...owner, scopes: ['*:*', 'operator:*'] });
  t.deepEqual(made.object.spec, { scopes: ['*:*'], member: 'ada' });
  const asked = create({ scopes: ['operator:*'] }, { ...owner, scopes: ['*:*', 'operator:*'] });
  t.deepEqual(asked.object.spec, { scopes: ['operator:*'], member: 'ada' });
});

test('a key with nothing left of what was asked for is refused', (t) => {
  t.is(refusal({ scopes: ['operator:*'] }, owner), 'Forbidden');
  t.is(refusal({ projects: ['c'] }, developer), 'Forbidden');
  t.is(refusal({}, undefined), 'Forbidden');
});

test('only who may write members makes keys of another member', (t) => {
  t.is(refusal({ member: 'ada' }, developer), 'Forbidden');
  t.deepEqual(detailOf(create({ member: 'dev' }).effects), {
    actsAs: { member: 'dev' },
    scopes: ['*:*'],
    boundTo: ['ada'],
    passesOn: [],
  });
  const chained = create({}, { ...developer, boundTo: ['ada'] });
  t.deepEqual(detailOf(chained.effects), {
    actsAs: { member: 'dev' },
    scopes: ['jobs:*', 'keys:write'],
    projects: ['a', 'b'],
    boundTo: ['ada'],
    passesOn: ['ada'],
  });
});

test('only who may write a ServiceAccount makes keys of it, and it may make its own', (t) => {
  const serviceAccount = { project: 'a', name: 'robot' };
  t.is(refusal({ serviceAccount }, developer), 'Forbidden');
  t.deepEqual(create({ serviceAccount }).object.spec, { serviceAccount, scopes: ['*:*'] });
  t.deepEqual(create({}, robot).object.spec, { serviceAccount, scopes: ['keys:write', 'jobs:read'], projects: ['a'] });
});

test('a key cannot act as two', (t) => {
  const spec = { member: 'dev', serviceAccount: { project: 'a', name: 'robot' } };
  t.false(apiKeyKind.schema.spec.safeParse(spec).success);
});

test('a key ends at its time: the credential carries it, and the timer revokes it', (t) => {
  const made = create({ expirationTime: '2026-02-01T00:00:00Z' });
  const expires = Date.parse('2026-02-01T00:00:00Z');
  t.like(made.effects[0], { type: 'GrantCredential', expires });
  t.deepEqual(made.effects[1], { type: 'ArmTimer', timer: 'expire', at: expires });
  const ended = decided(apiKeyKind, made, { type: 'TimerFired', timer: 'expire', generation: 1 });
  t.like(ended.object.status, { phase: 'Expired' });
  t.deepEqual(ended.effects, [{ type: 'RevokeCredentials' }]);
  t.is(ask(apiKeyKind, ended, { type: 'TimerFired', timer: 'expire', generation: 1 }).outcome, 'Ignored');
});

test('a key that would be born expired is refused', (t) => {
  t.is(refusal({ expirationTime: '2026-01-01T00:00:00Z' }, owner), 'Invalid');
});

const lefts = ['*', 'jobs', 'secrets', 'keys', 'operator', 'members'];
const patterns = lefts.flatMap((left) => ['*', 'read', 'write'].map((right) => `${left}:${right}`)).filter(isScope);
const scopes = fc.uniqueArray(fc.constantFrom(...patterns), { minLength: 1, maxLength: 5 });
const projects = fc.constantFrom(undefined, null, [], ['a'], ['a', 'b'], ['c']);

test('whatever is asked for, no key may do what its maker may not', (t) => {
  fc.assert(
    fc.property(scopes, projects, fc.option(scopes, { nil: null }), projects, (held, within, asked, where) => {
      const by: Author = { name: 'x', member: 'x', scopes: held, projects: within ?? undefined };
      const decision = ask(apiKeyKind, at(objectOf(apiKeyKind, { scopes: asked, projects: where })), {
        type: 'Created',
        by,
      });
      if (decision.outcome !== 'Next') return true;
      const detail = credentialDetail(detailOf(decision.effects) ?? {});
      if (detail === undefined) return false;
      return patterns
        .filter((scope) => !scope.includes('*') || scope === 'operator:*')
        .every((scope) =>
          ['', 'a', 'b', 'c'].every((project) => !may(detail, scope, project) || may(by, scope, project)),
        );
    }),
  );
  t.pass();
});

test('a ServiceAccount makes keys of itself only in its own project', (t) => {
  t.is(create({ serviceAccount: { project: 'a', name: 'robot' } }, robot).object.status && 'made', 'made');
  t.is(refusal({ serviceAccount: { project: 'b', name: 'robot' } }, robot), 'Forbidden');
  t.is(refusal({ serviceAccount: { project: 'a', name: 'other' } }, robot), 'Forbidden');
});

test('a key that has ended is not ended again, and another timer ends none', (t) => {
  const made = create({ expirationTime: new Date(NOW + 3_600_000).toISOString() });
  const fired = (timer: string) => ({ type: 'TimerFired', timer, generation: 1 }) as const;
  t.is(ask(apiKeyKind, made, fired('other')).outcome, 'Ignored');
  const ended = decided(apiKeyKind, made, fired('expire'));
  t.is(ask(apiKeyKind, ended, fired('expire')).outcome, 'Ignored');
});
