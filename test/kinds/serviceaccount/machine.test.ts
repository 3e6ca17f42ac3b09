/** ServiceAccounts: scopes are cut to their writer, and tokens are bound to their issuer. */
import test from 'ava';
import type { Author } from '../../../src/api/access/author.js';
import { bearerHash } from '../../../src/kinds/serviceaccount/machine.js';
import { serviceAccountKind } from '../../../src/kinds/serviceaccount/index.js';
import { ask, at, decided, NOW, objectOf, owner, refusalOf, contextAt } from '../decide.js';

const developer: Author = {
  name: 'dev@example.org',
  member: 'dev',
  scopes: ['jobs:*', 'serviceaccounts:*'],
  projects: ['a'],
};

const account = (spec: unknown) => objectOf(serviceAccountKind, spec, { namespace: 'a' });

test('scopes are cut to what the creator may do', (t) => {
  const made = decided(serviceAccountKind, at(account({ scopes: ['jobs:read', 'budgets:write', '*:exec'] })), {
    type: 'Created',
    by: developer,
  });
  t.deepEqual(made.object.spec, { scopes: ['jobs:read', 'jobs:exec', 'serviceaccounts:exec'] });
});

test('a writer who is nobody grants nothing', (t) => {
  const made = decided(serviceAccountKind, at(account({ scopes: ['*:*'] })), { type: 'Created' });
  t.deepEqual(made.object.spec, { scopes: [] });
});

test('no scopes stay no scopes', (t) => {
  t.deepEqual(decided(serviceAccountKind, at(account({ scopes: null })), { type: 'Created', by: owner }).object.spec, {
    scopes: null,
  });
});

test('someone who may less keeps what an account has, and adds nothing beyond himself', (t) => {
  const before = account({ scopes: ['budgets:*'] });
  const object = account({ description: 'new', scopes: ['budgets:write', 'members:write', 'jobs:read'] });
  const after = decided(serviceAccountKind, at(object), { type: 'Updated', before, by: developer });
  t.deepEqual(after.object.spec, { description: 'new', scopes: ['budgets:write', 'jobs:read'] });
});

test('a token whose life is no duration is refused, and none is granted', (t) => {
  for (const input of [{ expiresIn: 'soon' }, { expiresIn: '' }, undefined])
    t.is(
      refusalOf(serviceAccountKind, at(account({ scopes: ['*:*'] })), {
        type: 'Action',
        action: 'IssueToken',
        input,
        by: developer,
      }),
      'Invalid',
    );
});

test('a token is shown once and stored as a hash, bound to its issuer', (t) => {
  const stored = at(account({ scopes: ['*:*'] }));
  const issued = decided(serviceAccountKind, stored, {
    type: 'Action',
    action: 'IssueToken',
    input: { expiresIn: '2h' },
    by: developer,
  });
  const token = issued.reveal['token'];
  t.regex(String(token), /^svc_[A-Za-z0-9_-]{43}$/);
  t.is(issued.reveal['expirationTime'], '2026-01-02T05:04:05Z');
  t.deepEqual(issued.effects, [
    {
      type: 'GrantCredential',
      sha256: bearerHash(String(token)),
      expires: Math.floor(NOW / 1000) * 1000 + 7_200_000,
      detail: {
        actsAs: { serviceAccount: { project: 'a', name: 'one' } },
        scopes: ['jobs:*', 'serviceaccounts:*'],
        projects: ['a'],
      },
    },
  ]);
  t.false(JSON.stringify(issued.object).includes(String(token)));
  t.false(JSON.stringify(issued.effects).includes(String(token)));
});

test('a token lives an hour unless told otherwise, between a minute and a year', (t) => {
  const input = serviceAccountKind.actions?.[0]?.input;
  t.deepEqual(input?.parse({}), { expiresIn: '1h' });
  for (const bad of ['59s', '8761h', 'x', '-1h']) t.false(input?.safeParse({ expiresIn: bad }).success, bad);
});

test('an account under deletion issues no token, nor does nobody get one', (t) => {
  const going = objectOf(serviceAccountKind, {}, { namespace: 'a', deletionTimestamp: '2026-01-02T00:00:00Z' });
  const issue = { type: 'Action', action: 'IssueToken', input: {} } as const;
  t.is(refusalOf(serviceAccountKind, at(going), { ...issue, by: owner }), 'Conflict');
  t.is(refusalOf(serviceAccountKind, at(account({})), issue), 'Forbidden');
});

test('use is noted at most once a minute', (t) => {
  const from = { address: { org: 'o-1', kind: 'ServiceAccount', project: 'a', name: 'one' }, uid: 'uid-0', version: 0 };
  const used = (time: number) => ({ type: 'MessageReceived', from, content: { type: 'Used', time } }) as const;
  const first = decided(serviceAccountKind, at(account({})), used(NOW));
  t.deepEqual(first.object.status, { lastUsedTime: '2026-01-02T03:04:05Z' });
  t.is(ask(serviceAccountKind, first, used(NOW + 30_000), contextAt()).outcome, 'Ignored');
  t.is(ask(serviceAccountKind, first, used(NOW + 61_000), contextAt()).outcome, 'Next');
});

test('a token that is asked for with a credential that ends, ends no later, and its end is in whole seconds', (t) => {
  const issue = (expiresIn: string, by: Author) =>
    ({ type: 'Action', action: 'IssueToken', input: { expiresIn }, by }) as const;
  const lent = { ...owner, expires: NOW + 3_600_000 };
  const refused = ask(serviceAccountKind, at(account({})), issue('2h', lent));
  t.is(refused.outcome, 'Refused');
  t.regex(refused.outcome === 'Refused' ? (refused.refusal.fix ?? '') : '', /at most 3600s/);
  const { effects } = decided(serviceAccountKind, at(account({})), issue('1h', lent));
  t.like(
    effects.find(({ type }) => type === 'GrantCredential'),
    { expires: Math.floor((NOW + 3_600_000) / 1000) * 1000 },
  );
});
