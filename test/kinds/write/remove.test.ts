import test from 'ava';
import { prepareRemove } from '../../../src/kinds/write/remove.js';
import type { RemoveOptions } from '../../../src/kinds/write/remove.js';
import type { ApiObject } from '../../../src/api/object.js';
import { born, context, expectPrepared, contextAt, NOW, sampleKind, verdict } from './sample.js';

type More = Parameters<typeof context>[0];

function remove(current: ApiObject, options: RemoveOptions = {}, more: More = {}) {
  return prepareRemove(sampleKind, current, options, context({ currentVersion: 7, ...more }));
}

test('an object without finalizers goes at once, marked and one generation on', (t) => {
  const result = expectPrepared(remove(born()));
  t.deepEqual([result.changed, result.gone, result.specChanged], [true, true, false]);
  t.is(result.object.metadata.deletionTimestamp, '2026-01-02T03:04:05Z');
  t.is(result.object.metadata.generation, 2);
  t.false('deletionGracePeriodSeconds' in result.object.metadata);
});

test('an object with finalizers stays, marked once; a repeat is a no-op', (t) => {
  const first = expectPrepared(remove(born({}, { finalizers: ['x.dev/a'] }), { gracePeriodSeconds: 30 }));
  t.deepEqual([first.changed, first.gone], [true, false]);
  t.like(first.object.metadata, { finalizers: ['x.dev/a'], deletionGracePeriodSeconds: 30, generation: 2 });
  const later = { context: contextAt(NOW + 60_000) };
  const again = expectPrepared(remove(first.object, {}, later));
  t.deepEqual([again.changed, again.gone, again.object], [false, false, first.object]);
  const longer = expectPrepared(remove(first.object, { gracePeriodSeconds: 60 }, later));
  t.false(longer.changed, 'the grace only gets shorter');
  const shorter = expectPrepared(remove(first.object, { gracePeriodSeconds: 5 }, later));
  t.like(shorter.object.metadata, {
    deletionGracePeriodSeconds: 5,
    generation: 2,
    deletionTimestamp: '2026-01-02T03:04:05Z',
  });
});

test('the propagation policy becomes a finalizer, and a later one replaces it', (t) => {
  const object = born({}, { finalizers: ['x.dev/a'] });
  const foreground = expectPrepared(remove(object, { propagationPolicy: 'Foreground' }));
  t.deepEqual(foreground.object.metadata.finalizers, ['x.dev/a', 'foregroundDeletion']);
  const orphan = expectPrepared(remove(foreground.object, { propagationPolicy: 'Orphan' }));
  t.deepEqual([orphan.changed, orphan.object.metadata.finalizers], [true, ['x.dev/a', 'orphan']]);
  const background = expectPrepared(remove(orphan.object, { propagationPolicy: 'Background' }));
  t.deepEqual(background.object.metadata.finalizers, ['x.dev/a']);
  const silent = expectPrepared(remove(foreground.object));
  t.false(silent.changed);
  const alone = expectPrepared(remove(born(), { propagationPolicy: 'Foreground' }));
  t.deepEqual([alone.gone, alone.object.metadata.finalizers], [false, ['foregroundDeletion']]);
  t.true(expectPrepared(remove(alone.object, { propagationPolicy: 'Background' })).gone);
});

test('preconditions are 409, If-Match is 412, a bad grace is 422', (t) => {
  const object = born();
  t.is(verdict(remove(object, { preconditions: { uid: 'uid-1', resourceVersion: '7' } })), 'prepared');
  t.is(verdict(remove(object, { preconditions: { uid: 'other' } })), 'Conflict');
  t.is(verdict(remove(object, { preconditions: { resourceVersion: '6' } })), 'Conflict');
  t.is(verdict(remove(object, {}, { ifMatch: '6' })), 'PreconditionFailed');
  t.is(verdict(remove(object, {}, { ifMatch: '7' })), 'prepared');
  for (const seconds of [-1, 1.5, Number.NaN, 1e12]) {
    t.is(verdict(remove(object, { gracePeriodSeconds: seconds })), 'Invalid gracePeriodSeconds/FieldValueInvalid');
  }
});
