import test from 'ava';
import * as fc from 'fast-check';
import { sameAddress } from '../../src/api/address.js';
import {
  checkAnnotationKey,
  checkFieldManager,
  checkFinalizer,
  checkLabelKey,
  checkLabelName,
  checkLabelValue,
  checkSubdomainName,
  generateName,
} from '../../src/api/names.js';

test('names of objects are DNS-1123, with the limits of Kubernetes', (t) => {
  for (const good of ['a', 'a-b', '0', 'a'.repeat(63)]) t.is(checkLabelName(good), undefined, good);
  for (const bad of ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'a/b', '..', 'a'.repeat(64), 'a\n', 'é']) {
    t.truthy(checkLabelName(bad), bad);
  }
  for (const good of ['a.b', 'a-b.c', 'a'.repeat(253)]) t.is(checkSubdomainName(good), undefined, good);
  for (const bad of ['.', '..', 'a..b', '.a', 'a.', 'a.-b', 'a'.repeat(254), '../../etc', 'a%2f']) {
    t.truthy(checkSubdomainName(bad), bad);
  }
});

test('a long hostile name is judged in linear time', (t) => {
  const started = performance.now();
  t.truthy(checkSubdomainName(`${'a'.repeat(250)}!`));
  t.truthy(checkSubdomainName(`${'-'.repeat(250)}!`));
  t.true(performance.now() - started < 50);
});

test('label keys, label values, annotation keys and finalizers follow Kubernetes', (t) => {
  for (const good of ['a', 'A.b_c-d', 'example.com/a', 'a.b/A1']) t.is(checkLabelKey(good), undefined, good);
  for (const bad of ['', '/a', 'a/', 'a/b/c', '-a', 'A.com/x', 'a b', 'a'.repeat(64), `x/${'a'.repeat(64)}`]) {
    t.truthy(checkLabelKey(bad), bad);
  }
  for (const good of ['', 'a', 'A_b.c-1', 'a'.repeat(63)]) t.is(checkLabelValue(good), undefined, good);
  for (const bad of ['-', 'a-', 'a b', 'a/b', 'a'.repeat(64)]) t.truthy(checkLabelValue(bad), bad);
  t.is(checkAnnotationKey('Example.COM/a'), undefined, 'case of the prefix does not matter');
  t.is(checkFinalizer('foregroundDeletion'), undefined);
  t.is(checkFinalizer('orphan'), undefined);
  t.is(checkFinalizer('example.com/x'), undefined);
  t.truthy(checkFinalizer('mine'));
  t.truthy(checkFinalizer('example.com/'));
});

test('field managers are printable and at most 128 characters', (t) => {
  t.is(checkFieldManager('kubectl-client-side-apply'), undefined);
  t.is(checkFieldManager(''), undefined);
  t.truthy(checkFieldManager('a\nb'));
  t.truthy(checkFieldManager('a'.repeat(129)));
});

test('a generated name has five fair characters and at most 63 in all', (t) => {
  t.is(
    generateName('job-', () => new Uint8Array([0, 26, 27, 1, 2])),
    'job-b9bcd',
  );
  const bytes = [new Uint8Array([255, 250, 243, 0, 0]), new Uint8Array([1, 1, 1, 1, 1])];
  t.is(
    generateName('x-', () => bytes.shift() ?? new Uint8Array(5)),
    'x-bbccc',
    'unfair bytes are passed over',
  );
  fc.assert(
    fc.property(
      fc.string({ maxLength: 100 }),
      fc.uint8Array({ minLength: 5, maxLength: 5, max: 242 }),
      (base, random) => {
        const name = generateName(base, () => random);
        t.true(name.length <= 63);
        t.regex(name.slice(-5), /^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      },
    ),
  );
});

test('addresses are the same when all of their parts are', (t) => {
  const address = { org: 'o', kind: 'Job', project: 'p', name: 'n' };
  t.true(sameAddress(address, { ...address }));
  for (const part of ['org', 'kind', 'project', 'name'])
    t.false(sameAddress(address, { ...address, [part]: 'x' }), part);
});
