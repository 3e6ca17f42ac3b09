import test from 'ava';
import { z } from 'zod';
import { causesOf, invalid, isHidden, MAX_CAUSES, TELLING } from '../../src/api/causes.js';
import { checkChange, compileGuards } from '../../src/api/immutable.js';
import {
  zAbsolutePath,
  zBytes,
  zCpu,
  zDigest,
  zDuration,
  zMap,
  zName,
  zQuantity,
  zTimestamp,
  zUsd,
} from '../../src/api/schema.js';
import { compileShape } from '../../src/api/shape.js';
import { dropNulls, unknownFields } from '../../src/api/strict.js';
import { commandLine } from '../../src/kinds/shapes/program.js';
import { httpsUrl } from '../../src/kinds/shapes/sources.js';

const node: z.ZodType = z.object({
  name: z.string(),
  get children() {
    return z.array(node).optional();
  },
});

const schema = z.object({
  command: z.array(z.string()).optional(),
  env: z
    .array(z.object({ name: z.string(), value: z.string().optional() }))
    .max(3)
    .optional(),
  secrets: z.array(z.union([z.string(), z.object({ name: z.string(), version: z.int().optional() })])).optional(),
  source: z.union([z.object({ git: z.object({ repo: z.string() }) }), z.object({ blob: z.string() })]).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  stages: z.record(z.string(), z.object({ a: z.string().optional() })).optional(),
  free: z.unknown().optional(),
  open: z.looseObject({ known: z.string().optional() }).optional(),
  state: z.enum(['Running', 'Suspended']).default('Running'),
  nullable: z.array(z.string()).nullish(),
  tree: node.optional(),
  lazy: z.lazy(() => z.object({ x: z.string().optional() })).optional(),
  pre: z.preprocess((value) => value, z.object({ y: z.string().optional() })).optional(),
  piped: z
    .object({ from: z.string().optional() })
    .transform((value) => value)
    .optional(),
});
const shape = compileShape(schema);

test('unknown members are named with their paths, through lists, records, unions, pipes and recursion', (t) => {
  const value = {
    foo: 1,
    command: ['a'],
    env: [{ name: 'A' }, { name: 'B', vlaue: 'x' }],
    secrets: ['a', { name: 'b', versoin: 1 }],
    source: { blob: 'x', extra: 1 },
    labels: { anything: 'x' },
    stages: { one: { a: 'x', b: 'y' } },
    free: { deep: { er: 1 } },
    open: { known: 'x', other: { z: 1 } },
    tree: { name: 'r', children: [{ name: 'c', chlidren: [] }] },
    lazy: { x: '1', z: 2 },
    pre: { y: '1', z: 2 },
    piped: { from: 'a', to: 'b' },
    'odd key': 1,
    constructor: 1,
    toString: 2,
  };
  t.deepEqual(unknownFields(shape, value, 'spec'), [
    'spec.foo',
    'spec.env[1].vlaue',
    'spec.secrets[1].versoin',
    'spec.source.extra',
    'spec.stages.one.b',
    'spec.tree.children[0].chlidren',
    'spec.lazy.z',
    'spec.pre.z',
    'spec.piped.to',
    'spec[odd key]',
    'spec.constructor',
    'spec.toString',
  ]);
});

test('a value of the wrong type has no unknown members: its type is the complaint', (t) => {
  for (const value of [null, 1, 'x', [], { env: 'x' }, { env: { a: 1 } }, { source: [1] }]) {
    t.deepEqual(unknownFields(shape, value, 'spec'), []);
  }
});

test('the number of unknown members told is bounded', (t) => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`x${i}`, 1]));
  t.true(unknownFields(shape, many, 'spec').length <= 100);
});

test('null counts as absent where a member may be absent, and stays where null is a value', (t) => {
  const value = {
    command: null,
    env: [{ name: 'a', value: null }],
    nullable: null,
    free: null,
    state: null,
    labels: { a: null },
  };
  t.deepEqual(dropNulls(shape, value), {
    env: [{ name: 'a' }],
    nullable: null,
    free: null,
    labels: { a: null },
  });
  const clean = { env: [{ name: 'a' }] };
  t.is(dropNulls(shape, clean), clean);
});

function complaints(type: z.ZodType, value: unknown): string[] {
  const parsed = type.safeParse(value, TELLING);
  if (parsed.success) return [];
  return causesOf(parsed.error.issues, value, 'spec').map(
    (cause) => `${cause.reason} ${cause.field}: ${cause.message}`,
  );
}

test('complaints have the paths, reasons and words of Kubernetes', (t) => {
  const type = z.object({
    need: z.string(),
    state: z.enum(['A', 'B']).optional(),
    count: z.int().min(1).max(3).optional(),
    text: z.string().max(2).optional(),
    list: z.array(z.string()).min(1).max(1).optional(),
    env: z.array(z.object({ name: z.string().regex(/^[A-Z]+$/), value: z.string().optional() })).optional(),
    mixed: z.union([z.string(), z.object({ name: z.string() })]).optional(),
    kind: z
      .discriminatedUnion('type', [z.object({ type: z.literal('a') }), z.object({ type: z.literal('b') })])
      .optional(),
    cap: zUsd({ max: '1000' }).optional(),
    map: z.record(z.string(), z.int()).optional(),
  });
  const value = {
    state: 'C',
    count: 9,
    text: 'abc',
    list: ['1', '2'],
    env: [{ name: 'A' }, { name: 'a' }, { name: 5 }],
    mixed: { name: 5 },
    kind: { type: 'c' },
    cap: '2000',
    map: { x: 'y' },
  };
  t.deepEqual(complaints(type, value), [
    'FieldValueRequired spec.need: Required value: must be a string',
    'FieldValueNotSupported spec.state: Unsupported value: "C": must be one of "A", "B"',
    'FieldValueInvalid spec.count: Invalid value: 9: must be at most 3',
    'FieldValueTooLong spec.text: Too long: may not be more than 2 characters',
    'FieldValueTooMany spec.list: Too many: 2: must have at most 1 item',
    'FieldValueInvalid spec.env[1].name: Invalid value: "a": must match /^[A-Z]+$/',
    'FieldValueTypeInvalid spec.env[2].name: Invalid value: 5: must be a string, not a number',
    'FieldValueTypeInvalid spec.mixed.name: Invalid value: 5: must be a string, not a number',
    'FieldValueInvalid spec.kind.type: Invalid value: must be one of "a", "b"',
    'FieldValueInvalid spec.cap: Invalid value: "2000": must be an amount in USD as a decimal string such as 12.50 from 0 to 1000 with at most 9 decimals',
    'FieldValueTypeInvalid spec.map.x: Invalid value: "y": must be an integer, not a string',
  ]);
  t.deepEqual(complaints(type, 5), ['FieldValueTypeInvalid spec: Invalid value: 5: must be an object, not a number']);
  t.deepEqual(complaints(type, { need: '', mixed: 5 }), [
    'FieldValueTypeInvalid spec.mixed: Invalid value: must be a string or an object, not a number',
  ]);
  t.deepEqual(complaints(z.object({ count: z.int() }), { count: 1.5 }), [
    'FieldValueTypeInvalid spec.count: Invalid value: 1.5: must be an integer',
  ]);
});

test('what is wrong is told in words, with an example where the form has one', (t) => {
  const type = z.object({
    command: commandLine.optional(),
    names: z.array(z.string()).optional(),
    ports: z.array(z.int()).optional(),
    mounts: z.array(z.preprocess((value) => value, z.object({}))).optional(),
    count: z.int().optional(),
    word: z
      .string()
      .regex(/^[a-z]+$/, 'must be lower case letters, for example abc')
      .optional(),
    email: z.email().optional(),
  });
  const value = { command: 'sh -c x', names: 'a', ports: 1, mounts: {}, count: '5', word: 'A', email: 'ada' };
  t.deepEqual(complaints(type, value), [
    'FieldValueTypeInvalid spec.command: Invalid value: "sh -c x": must be a list of strings, for example ["sh", "-c", "echo hello"]',
    'FieldValueTypeInvalid spec.names: Invalid value: "a": must be a list of strings, not a string',
    'FieldValueTypeInvalid spec.ports: Invalid value: 1: must be a list of numbers, not a number',
    'FieldValueTypeInvalid spec.mounts: Invalid value: must be a list of objects, not an object',
    'FieldValueTypeInvalid spec.count: Invalid value: "5": must be an integer, not a string',
    'FieldValueInvalid spec.word: Invalid value: "A": must be lower case letters, for example abc',
    'FieldValueInvalid spec.email: Invalid value: "ada": must be an email address, for example ada@example.org',
  ]);
});

test('values of secrets and of environment are never quoted, nor is long text', (t) => {
  const type = z.object({
    data: z.record(z.string(), z.int()),
    env: z.array(z.object({ value: z.int() })),
    long: z.int(),
  });
  const text = complaints(type, { data: { a: 'hunter2' }, env: [{ value: 'hunter2' }], long: 'x'.repeat(500) }).join(
    '\n',
  );
  t.notRegex(text, /hunter2|xxxx/);
});

test('one refusal carries all causes; only immutable ones make it FieldImmutable', (t) => {
  const target = { kind: 'Job', name: 'a', group: 'svc.dev' };
  const immutable = { field: 'spec.a', reason: 'FieldImmutable', message: 'field is immutable after create' };
  const other = { field: 'spec.b', reason: 'FieldValueRequired', message: 'Required value' };
  t.like(invalid(target, [immutable]), {
    code: 'FieldImmutable',
    message: 'Job.svc.dev "a" is invalid: spec.a: field is immutable after create',
  });
  t.like(invalid(target, [immutable, other]), {
    code: 'Invalid',
    message: 'Job.svc.dev "a" is invalid: [spec.a: field is immutable after create, spec.b: Required value]',
    causes: [immutable, other],
  });
  t.like(invalid({ ...target, group: '' }, [other]), { message: 'Job "a" is invalid: spec.b: Required value' });
});

test('immutable fields are compared deeply, raise-only ones as exact decimals', (t) => {
  const guards = compileGuards(
    ['spec.command', 'spec.recovery.checkpoint.path', 'spec.stages[].name'],
    ['spec.maxCostUSD', 'spec.sealed'],
  );
  const check = (before: unknown, after: unknown) =>
    checkChange(guards, before, after).map((cause) => `${cause.reason} ${cause.field}`);
  t.deepEqual(check({ command: ['a', 'b'] }, { command: ['a', 'b'], other: 1 }), []);
  t.deepEqual(check({ command: ['a', 'b'] }, { command: ['b', 'a'] }), ['FieldImmutable spec.command']);
  t.deepEqual(check({ command: ['a'] }, {}), ['FieldImmutable spec.command']);
  t.deepEqual(check({}, { command: ['a'] }), ['FieldImmutable spec.command']);
  t.deepEqual(
    check(
      { recovery: { checkpoint: { path: { x: 1, y: 2 } } } },
      { recovery: { checkpoint: { path: { y: 2, x: 1 } } } },
    ),
    [],
  );
  t.deepEqual(check({ recovery: { checkpoint: { path: '/a' } } }, {}), [
    'FieldImmutable spec.recovery.checkpoint.path',
  ]);
  t.deepEqual(check({ stages: [{ name: 'a' }, { name: 'b' }] }, { stages: [{ name: 'a' }, { name: 'c' }] }), [
    'FieldImmutable spec.stages[1].name',
  ]);
  t.deepEqual(check({ maxCostUSD: '10' }, { maxCostUSD: '9.999999999' }), ['FieldValueInvalid spec.maxCostUSD']);
  t.deepEqual(check({ maxCostUSD: '9' }, { maxCostUSD: '10' }), [], 'as decimals, not as text');
  t.deepEqual(check({ maxCostUSD: '1.0' }, { maxCostUSD: '1.00' }), []);
  t.deepEqual(
    check({ maxCostUSD: '1.0' }, {}),
    ['FieldValueInvalid spec.maxCostUSD'],
    'a cap is not dropped by leaving it out',
  );
  t.deepEqual(check({}, { maxCostUSD: '1.0' }), []);
  t.deepEqual(check({ sealed: true }, { sealed: false }), ['FieldValueInvalid spec.sealed']);
  t.deepEqual(check({ sealed: false }, { sealed: true }), []);
  t.throws(() => compileGuards(['status.x'], []));
});

test('value formats accept what the spec accepts and keep the text', (t) => {
  const good: [z.ZodType, unknown, unknown][] = [
    [zDuration({ min: '1m', max: '6h', also: ['auto'] }), 'auto', 'auto'],
    [zDuration({ min: '1m', max: '6h' }), '360m', '360m'],
    [zDuration({ min: '1m', max: '24h', also: ['0s'] }), '0s', '0s'],
    [zCpu(), '500m', '500m'],
    [zCpu(), 2, '2'],
    [zBytes({ max: '2Ti' }), '2048Gi', '2048Gi'],
    [zQuantity(), '1e3', '1e3'],
    [zUsd({ min: '5', max: '1000', wholeCents: true }), '5.00', '5.00'],
    [zName(), 'a.b', 'a.b'],
    [zTimestamp(), '2026-01-02T03:04:05+01:00', '2026-01-02T03:04:05+01:00'],
    [zAbsolutePath(), '/a/..b/c', '/a/..b/c'],
    [zDigest(), `sha256:${'0'.repeat(64)}`, `sha256:${'0'.repeat(64)}`],
  ];
  for (const [type, value, kept] of good) t.is(type.parse(value), kept);
  const bad: [z.ZodType, unknown][] = [
    [zDuration({ min: '1m', max: '6h', also: ['auto'] }), '59s'],
    [zDuration({ max: '6h' }), '6h1s'],
    [zDuration(), 'auto'],
    [zDuration(), 5],
    [zCpu(), '-1'],
    [zCpu(), {}],
    [zBytes({ max: '2Ti' }), '3Ti'],
    [zBytes(), 1e300],
    [zUsd({ above: '0' }), '0.00'],
    [zUsd(), '-1'],
    [zUsd({ wholeCents: true }), '5.001'],
    [zUsd(), 5],
    [zName({ form: 'label' }), 'a.b'],
    [zTimestamp(), '2026-02-30T00:00:00Z'],
    [zAbsolutePath(), 'a'],
    [zAbsolutePath(), '/a/../b'],
    [zAbsolutePath(), '/a/.'],
    [zDigest(), `sha256:${'A'.repeat(64)}`],
  ];
  for (const [type, value] of bad) t.false(type.safeParse(value, TELLING).success, JSON.stringify(value));
  t.throws(() => zDuration({ min: 'soon' }), undefined, 'a bad bound fails at start');
});

test('value formats appear in OpenAPI as strings with format, pattern and description', (t) => {
  const document = z.toJSONSchema(
    z.object({ duration: zDuration({ also: ['auto'] }), cpu: zCpu(), usd: zUsd(), time: zTimestamp() }),
    { target: 'openapi-3.0', io: 'input' },
  );
  for (const property of Object.values(document.properties ?? {})) {
    t.like(property, { type: 'string' });
    t.true(
      typeof property === 'object' && typeof property.description === 'string' && typeof property.format === 'string',
    );
  }
});

test('a field that is described by itself keeps its words in front of the rule of its format', (t) => {
  t.regex(zDuration({ description: 'Warm reuse.' }).description ?? '', /^Warm reuse\. Duration with unit suffixes/);
  t.regex(zDuration().description ?? '', /^Duration with unit suffixes/);
});

test('the message about an integer out of its range names its bound', (t) => {
  const said = (value: number): string =>
    z.int().min(1).max(3).safeParse(value, TELLING).error?.issues[0]?.message ?? '';
  t.regex(said(0), /^Too small/);
  t.regex(said(4), /^Too big/);
  t.is(said(1.5), 'must be an integer');
});

test('a quantity that is too large and a port that is none are told as what they are', (t) => {
  const said = (read: z.ZodType, value: string): string =>
    read.safeParse(value, TELLING).error?.issues[0]?.message ?? '';
  t.is(said(zBytes(), '100Pi'), 'must be less than 8Pi');
  t.is(said(zBytes(), '7Pi'), '');
  t.regex(said(zBytes(), 'much'), /^must be a number of bytes such as/);
  t.is(said(zCpu(), '1E'), 'must be at most 9007199254740 cores');
  t.is(said(httpsUrl, 'https://x.org:99999/'), 'must have a port from 1 to 65535, or none');
  t.is(said(httpsUrl, 'http://x.org:99999/'), 'must be an https URL without credentials');
  t.is(said(httpsUrl, 'https://x.org:8443/'), '');
});

test('what is below a hidden member is not shown, at any depth, and what has its name elsewhere is', (t) => {
  for (const keys of [
    ['spec', 'data', 'a'],
    ['env', 0, 'value'],
    ['stdin'],
    ['credentials', 'password'],
    ['env', 'PATH'],
    ['spec', 'env', 'A'],
  ])
    t.true(isHidden(keys), keys.join('.'));
  for (const keys of [['spec', 'name'], ['env'], ['env', 0], ['env', 0, 'name'], ['values', 'x'], [0], []]) {
    t.false(isHidden(keys), keys.join('.'));
  }
});

test('a value is quoted up to 80 characters, and null as null', (t) => {
  const type = z.object({ word: z.string().regex(/^a*$/).optional(), list: z.array(z.int()).optional() });
  t.true(complaints(type, { word: 'b'.repeat(80) })[0]?.includes(`"${'b'.repeat(80)}"`));
  t.false(complaints(type, { word: 'b'.repeat(81) })[0]?.includes('bbb'));
  t.deepEqual(complaints(type, { list: [null, true] }), [
    'FieldValueTypeInvalid spec.list[0]: Invalid value: null: must be an integer, not null',
    'FieldValueTypeInvalid spec.list[1]: Invalid value: true: must be an integer, not a boolean',
  ]);
});

test('a cause names the bound that was broken, and calls what is empty or absent required', (t) => {
  const type = z.object({
    above: z.number().gt(1).optional(),
    below: z.number().lt(9).optional(),
    from: z.number().min(1).optional(),
    by: z.number().multipleOf(5).optional(),
    short: z.string().min(2).optional(),
    few: z.array(z.int()).min(2).optional(),
    map: zMap(z.string().regex(/^[a-z]$/, 'must be a letter'), z.int(), 2).optional(),
    either: z.union([z.literal('a'), z.int()]),
    strict: z.strictObject({ a: z.int().optional() }).optional(),
  });
  t.deepEqual(
    complaints(type, {
      above: 1,
      below: 9,
      from: 0,
      by: 7,
      short: 'a',
      few: [1],
      map: { a: 1, b: 2, c: 3 },
      strict: { x: 1, y: 2 },
    }),
    [
      'FieldValueInvalid spec.above: Invalid value: 1: must be more than 1',
      'FieldValueInvalid spec.below: Invalid value: 9: must be less than 9',
      'FieldValueInvalid spec.from: Invalid value: 0: must be at least 1',
      'FieldValueInvalid spec.by: Invalid value: 7: must be a multiple of 5',
      'FieldValueInvalid spec.short: Invalid value: "a": must have at least 2 characters',
      'FieldValueInvalid spec.few: Too few: 1: must have at least 2 items',
      'FieldValueTooMany spec.map: Too many: must have at most 2 items',
      'FieldValueRequired spec.either: Required value: must be "a" or a number',
      'FieldValueInvalid spec.strict.x: unknown field "spec.strict.x"',
      'FieldValueInvalid spec.strict.y: unknown field "spec.strict.y"',
    ],
  );
  t.deepEqual(complaints(type, { either: 1, short: '', map: { a: 1, 1: 2 } }), [
    'FieldValueRequired spec.short: Required value: must not be empty',
    'FieldValueInvalid spec.map.1: Invalid key: must be a letter',
  ]);
  t.is(complaints(z.array(z.int()), Array(150).fill('x')).length, MAX_CAUSES);
});

test('an amount that may only rise may not become what is no amount, and a list is judged by position', (t) => {
  const guards = compileGuards(['spec.stages[].name'], ['spec.max']);
  const fields = (before: unknown, after: unknown) => checkChange(guards, before, after).map((cause) => cause.field);
  t.deepEqual(fields({ max: 1 }, { max: 'soon' }), ['spec.max']);
  t.deepEqual(fields({ max: '0.5' }, { max: {} }), ['spec.max']);
  t.deepEqual(fields({ max: 0 }, { max: {} }), [], 'what is no amount ranks as nothing');
  t.deepEqual(fields({ max: null }, {}), []);
  t.deepEqual(fields({ max: 1 }, { max: null }), ['spec.max']);
  t.deepEqual(fields({ stages: [{ name: 'a' }] }, { stages: [{ name: 'a' }, { name: 'b' }] }), []);
  t.deepEqual(fields({ stages: [{ name: 'a' }] }, { stages: 'x' }), []);
});

test('amounts, lengths and names are taken at their bounds and refused beyond them', (t) => {
  const fits = (type: z.ZodType, ...values: unknown[]) => values.map((value) => type.safeParse(value, TELLING).success);
  t.deepEqual(fits(zDuration({ min: '1m', max: '6h' }), '59999ms', '1m', '6h', '21600001ms'), [
    false,
    true,
    true,
    false,
  ]);
  t.deepEqual(fits(zDuration(), '0s', '1ms', '1.0ms', '0.5ms', '0.0005s'), [true, true, true, false, false]);
  t.deepEqual(fits(zCpu({ min: '500m', max: '2' }), '499m', '500m', '2', '2001m'), [false, true, true, false]);
  t.deepEqual(fits(zBytes(), '0', '7Pi', '8Pi'), [true, true, false]);
  t.deepEqual(fits(zBytes({ min: '4', orZero: true }), '0', '1', '3', '4'), [true, false, false, true]);
  t.deepEqual(fits(zBytes({ min: '4' }), '0', '3', '4'), [false, false, true]);
  t.deepEqual(fits(zUsd({ min: '5', max: '10' }), '4.99', '5', '10.00', '10.000000001'), [false, true, true, false]);
  t.deepEqual(fits(zUsd({ above: '1' }), '1', '1.000000001'), [false, true]);
  t.deepEqual(fits(zUsd({ wholeCents: true }), '0.01', '0.010', '0.001'), [true, true, false]);
  t.deepEqual(fits(zAbsolutePath(), `/${'a'.repeat(4095)}`, `/${'a'.repeat(4096)}`, '/a\0b'), [true, false, false]);
  t.deepEqual(fits(zName(), 'a'.repeat(253), 'a'.repeat(254)), [true, false]);
  t.deepEqual(fits(zName({ form: 'label' }), 'a'.repeat(63), 'a'.repeat(64)), [true, false]);
  t.deepEqual(fits(zMap(z.string(), z.int(), 1), { a: 1 }, { a: 1, b: 1 }), [true, false]);
});

test('the pattern and the words of a duration tell what is taken beside durations', (t) => {
  const patternOf = (type: z.ZodType): RegExp => new RegExp(String(z.toJSONSchema(type, { io: 'input' })['pattern']));
  const said = (type: z.ZodType): string => type.safeParse('x', TELLING).error?.issues[0]?.message ?? '';
  const plain = zDuration({ min: '1m', max: '6h' });
  const also = zDuration({ max: '6h', also: ['auto', '0s'] });
  for (const [type, text, taken] of [
    [plain, '15m', true],
    [plain, 'auto', false],
    [plain, '', false],
    [also, '15m', true],
    [plain, '1.5h', true],
    [plain, '0.5ms', false],
    [plain, '60.0005s', false],
    [plain, '60000.0ms', true],
    [also, 'auto', true],
    [also, 'autos', false],
    [also, '', false],
  ] as const) {
    t.is(patternOf(type).test(text), taken, text);
  }
  t.is(said(plain), 'must be a duration such as 30s, 15m or 1h30m from 1m to 6h');
  t.is(
    plain.safeParse('60000.5ms', TELLING).error?.issues[0]?.message,
    'must be a duration in whole milliseconds from 1m to 6h',
  );
  t.is(said(zDuration({ min: '1m' })), 'must be a duration such as 30s, 15m or 1h30m from 1m to 876000h');
  t.is(said(also), 'must be a duration such as 30s, 15m or 1h30m from 0s to 6h, or auto, or 0s');
});
