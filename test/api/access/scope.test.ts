/** Scopes: what a pattern covers, and that cutting one list to another is exactly what both allow. */
import test from 'ava';
import * as fc from 'fast-check';
import { ORG_PLURALS, PROJECT_PLURALS } from '../../../src/api/access/plurals.js';
import { allCover, anyCovers, covers, cutScopes, isScope, scopeOf } from '../../../src/api/access/scope.js';
import { tries } from '../../support/extent.js';

const lefts = ['*', 'jobs', 'secrets', 'apikeys', 'budgets', 'inference', 'billing', 'keys', 'operator', 'blobs'];
const rights = ['*', 'read', 'write', 'exec', 'invoke'];
const allPatterns = lefts.flatMap((left) => rights.map((right) => `${left}:${right}`)).filter(isScope);
const pattern = fc.constantFrom(...allPatterns);
const plain = fc.constantFrom(...allPatterns.filter((scope) => !scope.includes('*') || scope === 'operator:*'));
const patterns = fc.array(pattern, { maxLength: 6 });

const table: readonly [held: string, wanted: string, answer: boolean][] = [
  ['jobs:read', 'jobs:read', true],
  ['jobs:read', 'jobs:write', false],
  ['jobs:*', 'jobs:exec', true],
  ['*:read', 'secrets:read', true],
  ['*:read', 'billing:read', true],
  ['*:*', 'keys:write', true],
  ['*:*', 'inference:invoke', true],
  ['*:*', 'operator:*', false],
  ['operator:*', 'operator:*', true],
  ['operator:*', 'jobs:read', false],
  ['jobs:*', 'job:read', false],
  ['keys:write', 'apikeys:write', false],
];

for (const [held, wanted, answer] of table) {
  test(`${held} ${answer ? 'covers' : 'does not cover'} ${wanted}`, (t) => {
    t.is(covers(held, wanted), answer);
  });
}

test('a scope names a plural or a known word, and a verb that it has', (t) => {
  for (const good of [
    'jobs:read',
    '*:*',
    '*:invoke',
    'inference:invoke',
    'billing:write',
    'keys:write',
    'operator:*',
  ]) {
    t.true(isScope(good), good);
  }
  for (const bad of [
    '',
    'jobs',
    'jobs:',
    ':read',
    'jobs:invoke',
    'job:read',
    'keys:read',
    'operator:read',
    'jobs:read ',
    'JOBS:read',
    'jobs:read:x',
    '__proto__:read',
    'billing:exec',
  ]) {
    t.false(isScope(bad), bad);
  }
});

test('every plural has its three scopes, and keys are made with keys:write', (t) => {
  for (const plural of [...PROJECT_PLURALS, ...ORG_PLURALS]) {
    t.true(isScope(scopeOf(plural, 'read')));
    t.true(isScope(scopeOf(plural, 'write')));
    t.true(isScope(scopeOf(plural, 'exec')));
  }
  t.is(scopeOf('apikeys', 'write'), 'keys:write');
  t.is(scopeOf('apikeys', 'read'), 'apikeys:read');
  t.is(scopeOf('jobs', 'write'), 'jobs:write');
});

test('what is cut allows exactly what both sides allow', (t) => {
  fc.assert(
    fc.property(patterns, patterns, plain, (asked, ceiling, wanted) => {
      const both = anyCovers(asked, wanted) && anyCovers(ceiling, wanted);
      return anyCovers(cutScopes(asked, ceiling), wanted) === both;
    }),
    { numRuns: tries(5000) },
  );
  t.pass();
});

test('what is cut is made of scopes, holds none twice and none that another covers', (t) => {
  fc.assert(
    fc.property(patterns, patterns, (asked, ceiling) => {
      const cut = cutScopes(asked, ceiling);
      t.true(cut.every(isScope));
      t.is(new Set(cut).size, cut.length);
      t.true(cut.every((scope) => !cut.some((other) => other !== scope && covers(other, scope))));
    }),
  );
});

test('patterns together cover what each alone does not', (t) => {
  t.true(allCover(['*:read', '*:exec', 'jobs:write'], 'jobs:*'));
  t.false(allCover(['*:read', 'jobs:write'], 'jobs:*'));
  t.false(allCover(['*:*'], 'operator:*'));
  fc.assert(
    fc.property(patterns, pattern, plain, (held, wide, narrow) => {
      return !allCover(held, wide) || !covers(wide, narrow) || anyCovers(held, narrow);
    }),
  );
});

test('only a literal operator:* on both sides leaves operator:*', (t) => {
  fc.assert(
    fc.property(patterns, patterns, (asked, ceiling) => {
      const both = asked.includes('operator:*') && ceiling.includes('operator:*');
      return cutScopes(asked, ceiling).includes('operator:*') === both;
    }),
  );
  t.pass();
});
