/** What a write may do to an object that was stored before a rule of its spec. */
import test from 'ava';
import type { ApiObject } from '../../../src/api/object.js';
import { jobKind } from '../../../src/kinds/job/index.js';
import { preparePatch } from '../../../src/kinds/write/patch.js';
import { prepareReplace } from '../../../src/kinds/write/replace.js';
import { objectOf } from '../decide.js';
import { context, expectPrepared, verdict } from './sample.js';

const KEYLESS = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys' } } };

/** As a version stored it that did not ask for the key of a Secret. */
function stored(more: object = {}): ApiObject {
  const job = objectOf(jobKind, { command: ['true'], secrets: ['a'], completions: 2, ...more });
  return { ...job, spec: { ...(job.spec as object), env: [KEYLESS] } };
}

function patch(current: ApiObject, spec: object) {
  return preparePatch(jobKind, current, { type: 'merge', patch: { spec } }, context({ currentVersion: 7 }));
}

test('an object that breaks a younger rule can still be changed elsewhere, and keeps what it has', (t) => {
  const current = stored();
  const { object } = expectPrepared(patch(current, { state: 'Cancelled' }));
  t.deepEqual(object.spec, { ...(current.spec as object), state: 'Cancelled' });
  const same = expectPrepared(prepareReplace(jobKind, current, { ...structuredClone(current) }, context({})));
  t.false(same.changed);
});

test('a replace that leaves defaults and short forms out gets them beside what breaks the rule', (t) => {
  const current = stored();
  const spec = { command: ['true'], secrets: ['a'], completions: 2, env: [KEYLESS], backoffLimit: 1 };
  const { object } = expectPrepared(prepareReplace(jobKind, current, { ...current, spec }, context({})));
  t.deepEqual(object.spec, { ...(current.spec as object), backoffLimit: 1 });
});

test('a younger rule binds every value that a write brings', (t) => {
  const current = stored({ parallelism: 2 });
  const other = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'other' } } };
  for (const env of [[other], [KEYLESS, { ...KEYLESS, name: 'B' }], [{ name: 'A', value: 'x' }, KEYLESS]]) {
    const result = patch(current, { env });
    t.true(verdict(result).startsWith('Invalid '), JSON.stringify([env, verdict(result)]));
  }
  t.is(verdict(patch(current, { backoffLimit: -1 })), 'Invalid spec.backoffLimit/FieldValueInvalid');
  t.is(verdict(patch(stored(), { parallelism: 3 })), 'Invalid spec.parallelism/FieldValueInvalid');
});
