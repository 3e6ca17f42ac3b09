import test from 'ava';
import type { ApiObject } from '../../../src/api/object.js';
import type { ObjectPatch } from '../../../src/kinds/write/patch.js';
import { preparePatch } from '../../../src/kinds/write/patch.js';
import { prepareReplace } from '../../../src/kinds/write/replace.js';
import { body, born, context, expectPrepared, memberOf, contextAt, NOW, sampleKind, verdict } from './sample.js';

type More = Parameters<typeof context>[0];

function replace(current: ApiObject, given: Record<string, unknown>, more: More = {}) {
  return prepareReplace(sampleKind, current, given, context({ currentVersion: 7, ...more }));
}

function patch(current: ApiObject, change: ObjectPatch, more: More = {}) {
  return preparePatch(sampleKind, current, change, context({ currentVersion: 7, ...more }));
}

function merge(current: ApiObject, change: Record<string, unknown>, more: More = {}) {
  return patch(current, { type: 'merge', patch: change }, more);
}

test('a replace with what is there already is a no-op and keeps its version', (t) => {
  const current = born({ timeout: '1h' }, { labels: { a: 'b' } });
  const result = expectPrepared(replace(current, body({ timeout: '1h' }, { labels: { a: 'b' } })));
  t.is(result.object, current);
  t.deepEqual([result.changed, result.specChanged, result.gone], [false, false, false]);
  const echoed = expectPrepared(replace(current, structuredClone({ ...current })));
  t.false(echoed.changed, 'also when the client sends back all that it read, status and managed fields');
});

test('generation rises with the spec and only with the spec', (t) => {
  const current = born();
  const labelled = expectPrepared(replace(current, body({}, { labels: { a: 'b' } })));
  t.deepEqual([labelled.changed, labelled.specChanged, labelled.object.metadata.generation], [true, false, 1]);
  t.is(labelled.object.spec, current.spec);
  const changed = expectPrepared(replace(current, body({ parallelism: 2 })));
  t.deepEqual([changed.changed, changed.specChanged, changed.object.metadata.generation], [true, true, 2]);
  t.is(changed.object.status, current.status);
  t.is(changed.object.metadata.uid, current.metadata.uid);
});

test('a replace takes away what it leaves out', (t) => {
  const current = born({ timeout: '1h', parallelism: 4 }, { labels: { a: 'b' }, generateName: 'x-' });
  const { object } = expectPrepared(replace(current, body()));
  t.is(memberOf(object.spec, 'timeout'), undefined);
  t.like(object.spec, { parallelism: 1 });
  t.false('labels' in object.metadata);
  t.is(object.metadata.generateName, 'x-');
});

test('a version that is not current is 409, If-Match that does not match is 412, neither is unconditional', (t) => {
  const current = born();
  t.is(verdict(replace(current, body({}, { resourceVersion: '7' }))), 'prepared');
  t.is(verdict(replace(current, body({}, { resourceVersion: '6' }))), 'Conflict');
  t.is(verdict(replace(current, body({}, { resourceVersion: '0' }))), 'prepared');
  t.is(verdict(replace(current, body({}, { resourceVersion: 'x' }))), 'BadRequest');
  t.is(verdict(replace(current, body(), { ifMatch: '7' })), 'prepared');
  t.is(verdict(replace(current, body(), { ifMatch: '6' })), 'PreconditionFailed');
  t.is(verdict(replace(current, body({ foo: 1 }), { ifMatch: '6' })), 'PreconditionFailed');
  t.is(verdict(merge(current, { metadata: { resourceVersion: '6' } })), 'Conflict');
  t.is(verdict(merge(current, { metadata: { resourceVersion: '7' } })), 'prepared');
});

test('a uid is a precondition: one of another object is a conflict, that of this one or none changes nothing', (t) => {
  const current = born();
  const { uid } = current.metadata;
  const at = '/metadata/uid';
  for (const [result, expected] of [
    [replace(current, body({}, { uid: 'other', resourceVersion: '7' })), 'Conflict'],
    [replace(current, body({}, { uid })), 'prepared'],
    [replace(current, body({}, { uid: '' })), 'prepared'],
    [merge(current, { metadata: { uid: 'other' } }), 'Conflict'],
    [merge(current, { metadata: { uid } }), 'prepared'],
    [merge(current, { metadata: { uid: null } }), 'prepared'],
    [patch(current, { type: 'json', operations: [{ op: 'replace', path: at, value: 'other' }] }), 'Conflict'],
    [patch(current, { type: 'json', operations: [{ op: 'replace', path: at, value: uid }] }), 'prepared'],
    [patch(current, { type: 'json', operations: [{ op: 'remove', path: at }] }), 'prepared'],
  ] as const) {
    t.is(verdict(result), expected);
  }
  const refused = merge(current, { metadata: { uid: 'other' } });
  const said = `UID in precondition: other, UID in object meta: ${uid}`;
  t.true(refused.outcome === 'Refused' && refused.refusal.message.endsWith(`Precondition failed: ${said}`));
});

test('immutable fields alone are FieldImmutable, with others Invalid, and all are told', (t) => {
  const current = born({ maxCostUSD: '10' });
  t.is(
    verdict(replace(current, body({ command: ['false'], completions: 2, maxCostUSD: '10' }))),
    'FieldImmutable spec.command/FieldImmutable spec.completions/FieldImmutable',
  );
  t.is(
    verdict(replace(current, body({ command: ['false'], maxCostUSD: '9.99' }))),
    'Invalid spec.command/FieldImmutable spec.maxCostUSD/FieldValueInvalid',
  );
  t.is(verdict(replace(current, body({ maxCostUSD: '9.99' }))), 'Invalid spec.maxCostUSD/FieldValueInvalid');
  t.is(verdict(replace(current, body())), 'Invalid spec.maxCostUSD/FieldValueInvalid', 'a cap is not dropped silently');
  t.is(verdict(replace(current, body({ maxCostUSD: '10.01' }))), 'prepared');
  t.is(
    verdict(replace(current, body({ command: ['false'], maxCostUSD: '10', foo: 1 }))),
    'Invalid spec.command/FieldImmutable spec.foo/FieldValueInvalid',
  );
});

test('a merge patch that changes nothing, or only what the service owns, is a no-op on the very same object', (t) => {
  const current = born({ timeout: '1h' }, { labels: { a: 'b' } });
  for (const change of [
    {},
    { spec: { timeout: '1h' } },
    { spec: { args: null } },
    { status: { phase: 'Succeeded' } },
    { metadata: { generation: 99, creationTimestamp: null, managedFields: null, selfLink: 'x' } },
    { metadata: { labels: { a: 'b' } } },
    { metadata: { annotations: {} } },
    { metadata: { name: 'a', namespace: 'default' } },
  ]) {
    const result = expectPrepared(merge(current, change));
    t.false(result.changed, JSON.stringify(change));
    t.is(result.object, current, JSON.stringify(change));
  }
});

test('a patch of labels does not read the spec again', (t) => {
  const current = born();
  let parses = 0;
  const spy = sampleKind.schema.spec.refine(() => (parses += 1) > 0);
  const kind = { ...sampleKind, schema: { ...sampleKind.schema, spec: spy } };
  const change: ObjectPatch = { type: 'merge', patch: { metadata: { labels: { x: 'y' } } } };
  const { object } = expectPrepared(preparePatch(kind, current, change, context({ currentVersion: 7 })));
  t.is(object.spec, current.spec);
  t.is(parses, 0);
  expectPrepared(preparePatch(kind, current, { type: 'merge', patch: { spec: { timeout: '2h' } } }, context()));
  t.is(parses, 1);
});

test('patches change, remove and refuse like the replace that they stand for', (t) => {
  const current = born({ timeout: '1h' }, { labels: { a: 'b', c: 'd' } });
  const { object } = expectPrepared(
    merge(current, { spec: { timeout: null, resources: { cpu: 2 } }, metadata: { labels: { a: null, e: 'f' } } }),
  );
  t.like(object.spec, { resources: { cpu: '2', memory: '512Mi', disk: '10Gi' } });
  t.is(memberOf(object.spec, 'timeout'), undefined);
  t.deepEqual(object.metadata.labels, { c: 'd', e: 'f' });
  t.is(object.metadata.generation, 2);
  t.is(verdict(merge(current, { spec: { command: ['x'] } })), 'FieldImmutable spec.command/FieldImmutable');
  t.is(verdict(merge(current, { spec: { parallelism: 'x' } })), 'Invalid spec.parallelism/FieldValueTypeInvalid');
  t.is(verdict(merge(current, { spec: { foo: 1 } })), 'Invalid spec.foo/FieldValueInvalid');
  t.is(verdict(merge(current, { foo: 1 })), 'Invalid foo/FieldValueInvalid');
  t.is(verdict(merge(current, { spec: null })), 'Invalid spec.command/FieldValueRequired');
  t.is(verdict(merge(current, { kind: 'Pod' })), 'BadRequest');
  t.is(verdict(merge(current, { metadata: { name: 'b' } })), 'BadRequest');
  t.is(verdict(merge(current, { metadata: null })), 'prepared', 'what it is called is known from the URL');
  t.is(verdict(merge(current, { metadata: 'x' })), 'Invalid metadata/FieldValueTypeInvalid');
  const warned = expectPrepared(merge(current, { spec: { foo: 1, parallelism: 3 } }, { fieldValidation: 'Warn' }));
  t.deepEqual(warned.warnings, ['unknown field "spec.foo"']);
  const idle = expectPrepared(merge(current, { spec: { foo: 1 } }, { fieldValidation: 'Warn' }));
  t.deepEqual([idle.changed, idle.warnings], [false, ['unknown field "spec.foo"']]);
});

test('JSON patches see the version, and a failed test is Invalid', (t) => {
  const current = born({}, { labels: { a: 'b' } });
  const json = (...operations: unknown[]) => patch(current, { type: 'json', operations });
  t.is(verdict(json({ op: 'test', path: '/metadata/resourceVersion', value: '7' })), 'prepared');
  t.is(
    verdict(json({ op: 'test', path: '/metadata/resourceVersion', value: '6' })),
    'Invalid metadata.resourceVersion/FieldValueInvalid',
  );
  t.is(verdict(json({ op: 'replace', path: '/metadata/resourceVersion', value: '6' })), 'Conflict');
  const { object } = expectPrepared(
    json(
      { op: 'add', path: '/spec/env', value: [] },
      { op: 'remove', path: '/spec/env' },
      { op: 'replace', path: '/spec/parallelism', value: 9 },
    ),
  );
  t.like(object.spec, { parallelism: 9 });
  t.is(verdict(json({ op: 'replace', path: '', value: [] })), 'BadRequest');
  t.is(verdict(json({ op: 'replace', path: '', value: {} })), 'Invalid spec.command/FieldValueRequired');
  t.is(verdict(json({ op: 'frob', path: '' })), 'BadRequest');
  t.is(verdict(json({ op: 'remove', path: '/spec/nothing' })), 'Invalid spec.nothing/FieldValueInvalid');
});

test('once deletion was asked for, finalizers go and none comes; with the last one the object goes', (t) => {
  const object = born({}, { finalizers: ['x.dev/a', 'x.dev/b'] });
  const dying: ApiObject = { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } };
  t.is(
    verdict(merge(dying, { metadata: { finalizers: ['x.dev/a', 'x.dev/b', 'x.dev/c'] } })),
    'Invalid metadata.finalizers/FieldValueForbidden',
  );
  const one = expectPrepared(merge(dying, { metadata: { finalizers: ['x.dev/b'] } }));
  t.deepEqual([one.changed, one.gone, one.object.metadata.finalizers], [true, false, ['x.dev/b']]);
  const last = expectPrepared(merge(dying, { metadata: { finalizers: null } }));
  t.deepEqual([last.changed, last.gone, last.object.metadata.finalizers], [true, true, undefined]);
  t.is(last.object.metadata.deletionTimestamp, '2026-01-02T03:04:05Z', 'which no client changes');
  t.is(verdict(merge(object, { metadata: { finalizers: ['x.dev/c'] } })), 'prepared');
  t.false(expectPrepared(merge(object, { metadata: { finalizers: null } })).gone);
});

test('a client adds no finalizer of the service to what is there; those that are there may be sent back, and taken away', (t) => {
  const { metadata, ...rest } = born({}, { finalizers: ['x.dev/a'] });
  const object: ApiObject = { ...rest, metadata: { ...metadata, finalizers: ['x.dev/a', 'svc.dev/attempt'] } };
  const added = merge(object, { metadata: { finalizers: ['svc.dev/attempt', 'x.dev/a', 'svc.dev/lease'] } });
  t.is(verdict(added), 'Invalid metadata.finalizers[2]/FieldValueForbidden');
  t.regex(
    (added.outcome === 'Refused' && added.refusal.fix) || '',
    /^Leave svc\.dev\/lease out of metadata\.finalizers/,
  );
  const back = expectPrepared(merge(object, { metadata: { finalizers: ['x.dev/a', 'svc.dev/attempt'] } }));
  t.false(back.changed);
  const more = ['svc.dev/attempt', 'x.dev/b'];
  t.deepEqual(expectPrepared(merge(object, { metadata: { finalizers: more } })).object.metadata.finalizers, more);
  t.is(verdict(merge(object, { metadata: { finalizers: null } })), 'prepared');
  const dying = { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } };
  t.is(
    verdict(merge(dying, { metadata: { finalizers: ['x.dev/c', 'svc.dev/lease'] } })),
    'Invalid metadata.finalizers[1]/FieldValueForbidden metadata.finalizers/FieldValueForbidden',
  );
});

test('a field that is not built is 501 when a change brings it, and stays out of the way otherwise', (t) => {
  const kind = { ...sampleKind, schema: { ...sampleKind.schema, immutable: [] } };
  const change = { type: 'merge' as const, patch: { spec: { network: { policy: 'Open' } } } };
  t.is(
    verdict(preparePatch(kind, born(), change, context({ currentVersion: 1 }))),
    'Unsupported spec.network/Unsupported',
  );
  t.is(verdict(preparePatch(kind, born(), change, context({ currentVersion: 1, dryRun: true }))), 'prepared');
});

test('who changes a field owns it; others keep the rest', (t) => {
  const current = born({ timeout: '1h' }, { labels: { a: 'b', c: 'd' } });
  const { object } = expectPrepared(
    merge(
      current,
      { spec: { timeout: '2h' }, metadata: { labels: { a: 'x', c: null } } },
      {
        fieldManager: 'other',
        context: contextAt(NOW + 5000),
      },
    ),
  );
  const [first, second] = object.metadata.managedFields ?? [];
  t.is(first?.manager, 'kubectl');
  t.is(first?.time, '2026-01-02T03:04:05Z');
  t.is(memberOf(first, 'fieldsV1', 'f:spec', 'f:timeout'), undefined);
  t.deepEqual(memberOf(first, 'fieldsV1', 'f:spec', 'f:command'), {});
  t.is(first?.fieldsV1['f:metadata'], undefined);
  t.like(second, {
    manager: 'other',
    time: '2026-01-02T03:04:10Z',
    fieldsV1: { 'f:metadata': { 'f:labels': { 'f:a': {} } }, 'f:spec': { 'f:timeout': {} } },
  });
});
