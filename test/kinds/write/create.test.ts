import test from 'ava';
import * as fc from 'fast-check';
import type { KindDefinition } from '../../../src/kinds/kind.js';
import { prepareCreate } from '../../../src/kinds/write/create.js';
import { nameForCreate } from '../../../src/kinds/write/identity.js';
import { address, body, context, expectPrepared, memberOf, sampleKind, verdict } from './sample.js';
import { tries } from '../../support/extent.js';

function create(given: Record<string, unknown>, more: Parameters<typeof context>[0] = {}) {
  return prepareCreate(sampleKind, address, given, context(more));
}

test('a created object has its defaults, identity, first generation, managed fields and the status of its birth', (t) => {
  const { object, warnings, specChanged, changed, gone } = expectPrepared(
    create(body({ timeout: '1h', resources: { cpu: 2 } }, { labels: { app: 'x' }, generateName: 'a-' })),
  );
  t.deepEqual(object, {
    apiVersion: 'svc.dev/v1',
    kind: 'Job',
    metadata: {
      name: 'a',
      generateName: 'a-',
      namespace: 'default',
      uid: 'uid-1',
      generation: 1,
      creationTimestamp: '2026-01-02T03:04:05Z',
      labels: { app: 'x' },
      managedFields: [
        {
          manager: 'kubectl',
          operation: 'Update',
          apiVersion: 'svc.dev/v1',
          time: '2026-01-02T03:04:05Z',
          fieldsType: 'FieldsV1',
          fieldsV1: {
            'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
            'f:spec': {
              'f:command': {},
              'f:completions': {},
              'f:parallelism': {},
              'f:backoffLimit': {},
              'f:timeout': {},
              'f:resources': { 'f:cpu': {}, 'f:memory': {}, 'f:disk': {} },
              'f:recovery': { 'f:maxAttempts': {}, 'f:onInterruption': {} },
              'f:state': {},
            },
          },
        },
      ],
    },
    spec: {
      command: ['true'],
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      timeout: '1h',
      resources: { cpu: '2', memory: '512Mi', disk: '10Gi' },
      recovery: { maxAttempts: 8, onInterruption: 'Resume' },
      state: 'Running',
    },
    status: { phase: 'Pending' },
  });
  t.deepEqual(
    { warnings, specChanged, changed, gone },
    { warnings: [], specChanged: true, changed: true, gone: false },
  );
});

test('what the service owns is ignored in a create, whatever its form', (t) => {
  const { object } = expectPrepared(
    create({
      ...body(
        {},
        {
          uid: 'mine',
          generation: 'x',
          creationTimestamp: null,
          deletionTimestamp: '2020-01-01T00:00:00Z',
          deletionGracePeriodSeconds: {},
          managedFields: [{ manager: 'me' }],
          selfLink: 5,
          resourceVersion: '',
        },
      ),
      status: { phase: 'Succeeded', nonsense: [1] },
    }),
  );
  t.is(object.metadata.uid, 'uid-1');
  t.is(object.metadata.generation, 1);
  t.is(object.metadata.creationTimestamp, '2026-01-02T03:04:05Z');
  t.false('deletionTimestamp' in object.metadata);
  t.false('selfLink' in object.metadata);
  t.is(object.metadata.managedFields?.[0]?.manager, 'kubectl');
  t.deepEqual(object.status, { phase: 'Pending' });
});

test('identity in the body must match the URL where it is given, and is filled where it is not', (t) => {
  t.is(verdict(create({ spec: { command: ['x'] } })), 'prepared');
  t.is(verdict(create({ ...body(), apiVersion: 'svc.dev/v2' })), 'BadRequest');
  t.is(verdict(create({ ...body(), apiVersion: 5 })), 'BadRequest');
  t.is(verdict(create({ ...body(), kind: 'Pod' })), 'BadRequest');
  t.is(verdict(create(body({}, { name: 'b' }))), 'BadRequest');
  t.is(verdict(create(body({}, { namespace: 'other' }))), 'BadRequest');
  t.is(verdict(create(body({}, { namespace: 'default' }))), 'prepared');
  t.is(verdict(create(body({}, { resourceVersion: '5' }))), 'BadRequest');
  const org = prepareCreate({ ...sampleKind, scope: 'org' }, { ...address, project: '' }, body(), context());
  t.false('namespace' in expectPrepared(org).object.metadata);
  t.is(
    verdict(prepareCreate(sampleKind, { ...address, project: '' }, body({}, { namespace: 'default' }), context())),
    'BadRequest',
  );
});

test('all that is wrong with a body is told at once, also unknown and duplicate fields', (t) => {
  const wrong = {
    ...body(
      { command: 'x', completions: 0, timeout: '5', env: [{ name: '1A' }, { name: 'B', vlaue: 'x' }], foo: 1 },
      {
        labels: { '-a': 'b', c: '-' },
        finalizers: ['mine'],
        nmae: 'x',
      },
    ),
    extra: {},
  };
  t.is(
    verdict(create(wrong, { duplicates: ['spec.timeout'] })),
    [
      'Invalid',
      'metadata.labels/FieldValueInvalid',
      'metadata.labels.c/FieldValueInvalid',
      'metadata.finalizers[0]/FieldValueInvalid',
      'spec.command/FieldValueTypeInvalid',
      'spec.env[0].name/FieldValueInvalid',
      'spec.completions/FieldValueInvalid',
      'spec.timeout/FieldValueInvalid',
      'extra/FieldValueInvalid',
      'metadata.nmae/FieldValueInvalid',
      'spec.env[1].vlaue/FieldValueInvalid',
      'spec.foo/FieldValueInvalid',
      'spec.timeout/FieldValueDuplicate',
    ].join(' '),
  );
});

test('a missing or misshapen spec or metadata is told by field', (t) => {
  t.is(verdict(create({ metadata: { name: 'a' } })), 'Invalid spec.command/FieldValueRequired');
  t.is(verdict(create({ ...body(), spec: [] })), 'Invalid spec/FieldValueTypeInvalid');
  t.is(verdict(create({ ...body(), spec: 'x' })), 'Invalid spec/FieldValueTypeInvalid');
  t.is(verdict(create({ ...body(), metadata: 'x' })), 'Invalid metadata/FieldValueTypeInvalid');
  t.is(verdict(create(body({}, { name: 5 }))), 'Invalid metadata.name/FieldValueTypeInvalid');
  t.is(verdict(create(body({}, { labels: [] }))), 'Invalid metadata.labels/FieldValueTypeInvalid');
  t.is(verdict(create(body({}, { labels: { a: 5 } }))), 'Invalid metadata.labels.a/FieldValueTypeInvalid');
  t.is(
    verdict(create(body({}, { labels: null, annotations: null, finalizers: null, ownerReferences: null }))),
    'prepared',
  );
});

test('field validation: Strict refuses, Warn tells and drops, Ignore drops', (t) => {
  const given = body({ foo: 1, env: [{ name: 'A', bar: 2 }] });
  const duplicates = ['spec.command'];
  t.is(
    verdict(create(given, { duplicates })),
    'Invalid spec.foo/FieldValueInvalid spec.env[0].bar/FieldValueInvalid spec.command/FieldValueDuplicate',
  );
  const warned = expectPrepared(create(given, { duplicates, fieldValidation: 'Warn' }));
  t.deepEqual(warned.warnings, [
    'unknown field "spec.foo"',
    'unknown field "spec.env[0].bar"',
    'duplicate field "spec.command"',
  ]);
  t.false(JSON.stringify(warned.object.spec).includes('foo'));
  t.deepEqual(memberOf(warned.object.spec, 'env'), [{ name: 'A' }]);
  t.deepEqual(expectPrepared(create(given, { duplicates, fieldValidation: 'Ignore' })).warnings, []);
});

test('a null where a field may be absent counts as absent, as clients in Go send it', (t) => {
  const { object } = expectPrepared(create(body({ args: null, completions: null, env: [{ name: 'A', value: null }] })));
  t.like(object.spec, { completions: 1, env: [{ name: 'A' }] });
  t.is(memberOf(object.spec, 'args'), undefined);
  t.is(verdict(create(body({ command: null }))), 'Invalid spec.command/FieldValueTypeInvalid');
});

test('a valid field that is not built is 501 by name, unless it is a dry run', (t) => {
  const given = body({ network: { policy: 'Open' } });
  t.is(verdict(create(given)), 'Unsupported spec.network/Unsupported');
  t.is(verdict(create(given, { dryRun: true })), 'prepared');
  t.is(verdict(create(body({ network: { policy: 'Maybe' } }))), 'Invalid spec.network.policy/FieldValueNotSupported');
});

const random = (length: number) => new Uint8Array(length);

test('names that cannot be stored, routed or used as labels are refused', (t) => {
  const name = (metadata: unknown) => {
    const result = nameForCreate(sampleKind, { metadata }, random);
    return result.outcome === 'Named' ? result.name : verdict(result);
  };
  t.is(name({ name: 'a' }), 'a');
  t.is(name({ generateName: 'a-' }), 'a-bbbbb');
  t.is(name({ name: '', generateName: 'a-' }), 'a-bbbbb');
  t.is(name({ name: null }), 'Invalid metadata.name/FieldValueRequired');
  t.is(name(undefined), 'Invalid metadata.name/FieldValueRequired');
  t.is(name('x'), 'Invalid metadata.name/FieldValueRequired');
  t.is(name({ name: 5 }), 'Invalid metadata.name/FieldValueTypeInvalid');
  t.is(name({ generateName: {} }), 'Invalid metadata.generateName/FieldValueTypeInvalid');
  for (const bad of ['A', '../x', 'a/b', 'a'.repeat(254), 'a_b', '-a', '%2e%2e', 'a\u0000b']) {
    t.is(name({ name: bad }), 'Invalid metadata.name/FieldValueInvalid', bad);
  }
  const fromBase = 'Invalid metadata.generateName/FieldValueInvalid';
  t.is(name({ generateName: 'G_' }), fromBase);
  const asNamed = (made: string, base: string) =>
    verdict(
      prepareCreate(sampleKind, { ...address, name: made }, body({}, { name: made, generateName: base }), context()),
    );
  t.is(asNamed('G_bbbbb', 'G_'), fromBase);
  t.is(asNamed('chosen', 'G_ garbage'), fromBase, 'it would be stored beside the name');
  t.is(asNamed('chosen', 'a'.repeat(300)), 'prepared');
  t.is(asNamed('B_bbbbb', 'a-'), 'Invalid metadata.name/FieldValueInvalid', 'a name that a client chose');
  const running = { ...sampleKind, runsWork: true };
  t.is(nameForCreate(running, { metadata: { name: 'a'.repeat(64) } }, random).outcome, 'Refused');
  t.is(nameForCreate(sampleKind, { metadata: { name: 'a'.repeat(64) } }, random).outcome, 'Named');
  t.is(nameForCreate({ ...sampleKind, group: 'core' }, { metadata: { name: 'a.b' } }, random).outcome, 'Refused');
});

test('kinds of the core group are v1, and beta kinds v1beta1', (t) => {
  const core = { ...sampleKind, group: 'core' as const };
  t.is(expectPrepared(prepareCreate(core, address, { spec: { command: ['x'] } }, context())).object.apiVersion, 'v1');
  const beta = { ...sampleKind, version: 'v1beta1' as const };
  t.is(verdict(prepareCreate(beta, address, body(), context())), 'BadRequest');
});

test('owners are complete, few, and at most one controls', (t) => {
  const owner = { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'o', uid: 'u', controller: true };
  t.is(verdict(create(body({}, { ownerReferences: [owner] }))), 'prepared');
  t.is(
    verdict(create(body({}, { ownerReferences: [owner, { ...owner, uid: 'v' }] }))),
    'Invalid metadata.ownerReferences/FieldValueInvalid',
  );
  t.is(
    verdict(create(body({}, { ownerReferences: [{ ...owner, uid: undefined }] }))),
    'Invalid metadata.ownerReferences[0].uid/FieldValueRequired',
  );
  t.is(
    verdict(create(body({}, { ownerReferences: Array.from({ length: 33 }, () => ({ ...owner, controller: false })) }))),
    'Invalid metadata.ownerReferences/FieldValueTooMany',
  );
  t.is(
    verdict(create(body({}, { annotations: { a: 'x'.repeat(256 * 1024) } }))),
    'Invalid metadata.annotations/FieldValueTooLong',
  );
});

test('metadata is taken up to its bounds, each in the words of its own field, and refused one beyond', (t) => {
  const owners = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ apiVersion: 'svc.dev/v1', kind: 'Job', name: 'o', uid: `u${at}` }));
  const finalizers = (count: number) => Array.from({ length: count }, (_, at) => `x.dev/f${at}`);
  const map = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, '']));
  for (const [most, field, make] of [
    [32, 'ownerReferences', owners],
    [32, 'finalizers', finalizers],
    [1024, 'labels', map],
    [4096, 'annotations', map],
  ] as const) {
    t.is(verdict(create(body({}, { [field]: make(most) }))), 'prepared', field);
    t.is(verdict(create(body({}, { [field]: make(most + 1) }))), `Invalid metadata.${field}/FieldValueTooMany`, field);
  }
  const text = (bytes: number): string => 'é'.repeat(bytes / 2);
  const both = { labels: { b: 'x' }, annotations: { a: text(256 * 1024 - 4), c: '' } };
  t.is(verdict(create(body({}, both))), 'prepared', 'keys and values of both are 256 KiB of UTF-8');
  const more = { ...both, annotations: { ...both.annotations, c: 'x' } };
  t.is(verdict(create(body({}, more))), 'Invalid metadata.annotations/FieldValueTooLong');
});

test('a key that is wrong is named, a long one by its first 80 characters', (t) => {
  const said = (field: 'labels' | 'annotations', key: string): string => {
    const result = create(body({}, { [field]: { [key]: '' } }));
    return result.outcome === 'Refused' ? (result.refusal.causes?.[0]?.message ?? '') : result.outcome;
  };
  for (const field of ['labels', 'annotations'] as const) {
    t.true(said(field, '-'.repeat(80)).includes(`"${'-'.repeat(80)}"`), field);
    t.true(said(field, '-'.repeat(81)).includes(`"${'-'.repeat(80)}…"`), field);
  }
});

test('any JSON object is prepared or refused, never thrown at, and changes neither itself nor prototypes', (t) => {
  fc.assert(
    fc.property(
      fc.record(
        {
          apiVersion: fc.oneof(fc.constant('svc.dev/v1'), fc.jsonValue()),
          kind: fc.oneof(fc.constant('Job'), fc.jsonValue()),
          metadata: fc.oneof(
            fc.dictionary(
              fc.constantFrom('name', 'labels', 'finalizers', 'annotations', 'ownerReferences', 'x'),
              fc.jsonValue(),
            ),
            fc.jsonValue(),
          ),
          spec: fc.oneof(
            fc.dictionary(
              fc.constantFrom('command', 'env', 'completions', 'resources', 'timeout', 'x'),
              fc.jsonValue(),
            ),
            fc.jsonValue(),
          ),
        },
        { requiredKeys: [] },
      ),
      (given) => {
        const before = structuredClone(given);
        const result = prepareCreate(sampleKind, address, given, context());
        t.true(result.outcome === 'Prepared' || ['Invalid', 'BadRequest'].includes(result.refusal.code));
        t.deepEqual(given, before);
      },
    ),
    { numRuns: tries(1000) },
  );
  t.deepEqual(Object.keys(Object.prototype), []);
});

test('a client places no finalizer of the service, which nobody would take away again', (t) => {
  const refused = create(body({}, { finalizers: ['x.dev/a', 'svc.dev/attempt', 'deep.svc.dev/b', 'other-svc.dev/c'] }));
  t.is(
    verdict(refused),
    'Invalid metadata.finalizers[1]/FieldValueForbidden metadata.finalizers[2]/FieldValueForbidden',
  );
  t.is(
    refused.outcome === 'Refused' && refused.refusal.fix,
    'Leave svc.dev/attempt and deep.svc.dev/b out of metadata.finalizers: the service places finalizers of svc.dev and takes them away itself.',
  );
});

test('an object that no client can change takes no finalizer', (t) => {
  const held = body({}, { finalizers: ['example.org/held'] });
  t.is(verdict(create(held)), 'prepared');
  for (const operation of ['patch', 'replace'] as const) {
    const changed = { ...sampleKind, operations: new Set([operation]) };
    t.is(verdict(prepareCreate(changed, address, held, context())), 'prepared', operation);
  }
  const fixed: KindDefinition = { ...sampleKind, operations: new Set(['list', 'create', 'read', 'delete']) };
  const refused = prepareCreate(fixed, address, held, context());
  t.is(verdict(refused), 'Invalid metadata.finalizers/FieldValueForbidden');
  t.is(refused.outcome === 'Refused' && refused.refusal.fix, 'Create the Job without metadata.finalizers.');
  t.is(verdict(prepareCreate(fixed, address, body({}, { finalizers: [] }), context())), 'prepared');
});
