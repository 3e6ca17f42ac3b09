import test from 'ava';
import * as fc from 'fast-check';
import { applyPatch } from 'rfc6902';
import { equalJson, shareJson } from '../../src/api/equal.js';
import { jsonPatch, MAX_OPERATIONS, MAX_POINTERS } from '../../src/api/patches/json.js';
import { mergePatch } from '../../src/api/patches/merge.js';
import { isObject } from '../../src/api/safe-value.js';
import { tries } from '../support/extent.js';

test('merge patches do what the examples of RFC 7386 say', (t) => {
  const cases: [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, result] of cases) {
    const before = structuredClone(target);
    t.deepEqual(mergePatch(target, patch), result, JSON.stringify([target, patch]));
    t.deepEqual(target, before, 'the target is as it was');
  }
});

test('a merge patch leaves what it does not touch shared, and a patch that changes nothing gives the same object', (t) => {
  const target = { spec: { a: 1 }, metadata: { labels: { x: 'y' } } };
  const merged = mergePatch(target, { metadata: { labels: { x: 'z' } } });
  t.true(isObject(merged) && merged['spec'] === target.spec);
  t.is(mergePatch(target, { spec: { a: 1 }, gone: null }), target);
});

test('no patch reaches a prototype', (t) => {
  const evil: unknown = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
  mergePatch({}, evil);
  mergePatch({ a: {} }, { a: evil });
  const into = jsonPatch({}, [{ op: 'add', path: '/__proto__/polluted', value: 1 }]);
  t.regex(into.outcome === 'Refused' ? into.message : '', /__proto__/);
  jsonPatch({}, [{ op: 'add', path: '/constructor/prototype/polluted', value: 1 }]);
  jsonPatch({}, [{ op: 'add', path: '/toString/polluted', value: 1 }]);
  jsonPatch({ a: [] }, [{ op: 'add', path: '/a/push/polluted', value: 1 }]);
  t.is(({} as Record<string, unknown>)['polluted'], undefined);
  for (const builtIn of [Reflect.get({}, 'toString'), Reflect.get([], 'push')]) t.false('polluted' in builtIn);
});

function patched(target: unknown, ...operations: unknown[]): unknown {
  const before = structuredClone(target);
  const result = jsonPatch(target, operations);
  if (!equalJson(before, target)) throw new Error('the target was changed');
  return result.outcome === 'Patched' ? result.value : `${result.code}: ${result.message}`;
}

test('JSON patches add, remove, replace, move, copy and test', (t) => {
  t.deepEqual(patched({ a: 1 }, { op: 'add', path: '/b', value: 2 }), { a: 1, b: 2 });
  t.deepEqual(patched({ a: [1, 2] }, { op: 'add', path: '/a/1', value: 9 }), { a: [1, 9, 2] });
  t.deepEqual(patched({ a: [1] }, { op: 'add', path: '/a/-', value: 9 }), { a: [1, 9] });
  t.deepEqual(patched({ a: [1] }, { op: 'add', path: '/a/1', value: 9 }), { a: [1, 9] });
  t.deepEqual(patched({ a: [1, 2] }, { op: 'remove', path: '/a/0' }), { a: [2] });
  t.deepEqual(patched({ a: { b: 1 } }, { op: 'replace', path: '/a/b', value: null }), { a: { b: null } });
  t.deepEqual(patched({ a: 1 }, { op: 'move', from: '/a', path: '/b' }), { b: 1 });
  t.deepEqual(patched({ a: 1, b: {} }, { op: 'move', from: '/a', path: '/b/c' }), { b: { c: 1 } });
  t.deepEqual(patched({ a: { b: 1, c: { d: {} } } }, { op: 'move', from: '/a/b', path: '/a/c/d/e' }), {
    a: { c: { d: { e: 1 } } },
  });
  t.deepEqual(patched({ a: { x: 1 } }, { op: 'copy', from: '/a', path: '/b' }), { a: { x: 1 }, b: { x: 1 } });
  t.deepEqual(patched({ 'a/b': { '~': 1 } }, { op: 'replace', path: '/a~1b/~0', value: 2 }), { 'a/b': { '~': 2 } });
  t.deepEqual(patched({ constructor: 'x' }, { op: 'replace', path: '/constructor', value: 'y' }), { constructor: 'y' });
  t.deepEqual(patched({ a: { b: [1], c: 2 } }, { op: 'test', path: '/a', value: { c: 2, b: [1] } }), {
    a: { b: [1], c: 2 },
  });
});

test('a patch that does not fit is Invalid, one that is malformed is BadRequest', (t) => {
  for (const operation of [
    { op: 'test', path: '/a', value: 2 },
    { op: 'remove', path: '/b' },
    { op: 'replace', path: '/b', value: 1 },
    { op: 'add', path: '/b/c', value: 1 },
    { op: 'add', path: '/a/c', value: 1 },
    { op: 'move', from: '/b', path: '/c' },
    { op: 'copy', from: '/b', path: '/c' },
    { op: 'move', from: '/o', path: '/o/x' },
    { op: 'move', from: '/l/0', path: '/l/0/x' },
    { op: 'add', path: '/l/3', value: 1 },
    { op: 'add', path: '/l/01', value: 1 },
    { op: 'remove', path: '/l/-' },
    { op: 'add', path: '/toString/x', value: 1 },
    { op: 'copy', from: '/toString', path: '/x' },
  ]) {
    t.regex(String(patched({ a: 1, o: {}, l: [{}, {}] }, operation)), /^Invalid: /, JSON.stringify(operation));
  }
  for (const operation of [
    null,
    'x',
    {},
    { op: 'add', path: '/a' },
    { op: 'add', path: 'a', value: 1 },
    { op: 'add', path: '/~2', value: 1 },
    { op: 'add', path: 5, value: 1 },
    { op: 'frob', path: '/a' },
    { op: 'copy', path: '/a' },
    { op: 'remove', path: '' },
    { op: 'add', path: '/a'.repeat(100), value: 1 },
  ]) {
    t.regex(String(patched({ a: 1 }, operation)), /^BadRequest: operation 0/, JSON.stringify(operation));
  }
});

test('a patch is bounded in operations, in what it copies and in depth', (t) => {
  const path = `/${'~0'.repeat(MAX_POINTERS / 4)}`;
  const asks = [{ op: 'add', path, value: 1 }];
  t.regex(
    String(patched({}, ...asks, { op: 'copy', from: path, path: '/a' })),
    /RequestEntityTooLarge: paths of a JSON patch/,
  );
  t.like(patched({}, ...asks), { ['~'.repeat(MAX_POINTERS / 4)]: 1 });
  const longest = `/${'a'.repeat(MAX_POINTERS - 1)}`;
  t.like(patched({}, { op: 'add', path: longest, value: 1 }), { [longest.slice(1)]: 1 });
  t.regex(String(patched({}, { op: 'add', path: `${longest}a`, value: 1 })), /^RequestEntityTooLarge/);
  const many = Array.from({ length: MAX_OPERATIONS }, () => ({ op: 'test', path: '', value: {} }));
  t.is(MAX_OPERATIONS, 1000);
  t.deepEqual(patched({}, ...many), {});
  t.regex(String(patched({}, ...many, ...many.slice(0, 1))), /^RequestEntityTooLarge/);
  const doubling = Array.from({ length: 60 }, (_, i) => ({ op: 'copy', from: '/a', path: `/a/${i}` }));
  const started = performance.now();
  t.regex(String(patched({ a: { text: 'x'.repeat(1000) } }, ...doubling)), /^Invalid: .*copies too much/);
  t.true(performance.now() - started < 1000);
  const nesting = Array.from({ length: 100 }, () => ({ op: 'copy', from: '', path: '/a' }));
  t.regex(String(patched({ a: 1 }, ...nesting)), /^Invalid: .*nests deeper/);
  const hostile = { constructor: 'function Array() { [native code] }', length: 4_294_967_295 };
  t.deepEqual(patched({}, { op: 'add', path: '/a', value: hostile }, { op: 'copy', from: '/a', path: '/b' }), {
    a: hostile,
    b: hostile,
  });
});

test('each copy weighs what it takes to make, and the heaviest that may be is made', (t) => {
  const MOST = 2 ** 20;
  const made = (value: unknown): string => {
    const result = patched({}, { op: 'add', path: '/a', value }, { op: 'copy', from: '/a', path: '/b' });
    return isObject(result) && equalJson(result['a'], result['b']) ? 'made' : String(result);
  };
  // Containers weigh 64, texts and names what JSON writes, other values 4.
  for (const [what, most, make] of [
    ['lists', MOST / 64 - 1, (n: number) => Array.from({ length: n }, () => [])],
    ['objects', MOST / 64 - 1, (n: number) => Array.from({ length: n }, () => ({}))],
    ['numbers', (MOST - 64) / 4, (n: number) => Array(n).fill(1)],
    ['nulls', (MOST - 64) / 4, (n: number) => Array(n).fill(null)],
    ['text', MOST - 64 - 2, (n: number) => ['x'.repeat(n)]],
    ['name', MOST - 64 - 3 - 4, (n: number) => ({ ['x'.repeat(n)]: 1 })],
  ] as const) {
    t.is(made(make(most)), 'made', what);
    t.regex(made(make(most + 1)), /^Invalid: .*copies too much/, what);
  }
});

test('64 levels are copied and 65 are not, and a path may have 64 parts', (t) => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const nested = (levels: number): unknown => JSON.parse(`${open.repeat(levels)}0${close.repeat(levels)}`);
    const copied = (levels: number): unknown =>
      patched({}, { op: 'add', path: '/a', value: nested(levels) }, { op: 'copy', from: '/a', path: '' });
    t.deepEqual(copied(64), nested(64));
    t.regex(String(copied(65)), /^Invalid: .*nests deeper than 64 levels/);
    t.deepEqual(patched({}, { op: 'add', path: '', value: nested(64) }), nested(64));
    t.regex(String(patched({}, { op: 'add', path: '', value: nested(65) })), /^BadRequest: .*deeper than 64 levels/);
  }
  for (const field of ['path', 'from']) {
    const at = (parts: number): unknown =>
      patched({ a: 1 }, { op: 'copy', path: '/b', from: '/a', [field]: '/x'.repeat(parts) });
    t.regex(String(at(64)), /^Invalid: .*names nothing/, field);
    t.regex(String(at(65)), /^BadRequest: .*at most 64 parts/, field);
  }
});

test('a member named __proto__ is refused on both ways of an operation, and in a value it is a member like others', (t) => {
  for (const operation of [
    { op: 'add', path: '/__proto__', value: 1 },
    { op: 'add', path: '/a/__proto__/b', value: 1 },
    { op: 'copy', path: '/b', from: '/__proto__' },
    { op: 'copy', path: '/__proto__', from: '/a' },
  ]) {
    t.regex(String(patched({ a: {} }, operation)), /^BadRequest: .*must not name a member "__proto__"/);
  }
  const text = '{"__proto__":{"x":1,"__proto__":2}}';
  const plain = { enumerable: true, configurable: true, writable: true };
  for (const [target, patch] of [
    [{}, text],
    [{ ['__proto__']: { x: 0 } }, text],
    [{}, '{"__proto__":{"x":1,"__proto__":2,"y":null},"z":null}'],
    [undefined, '{"__proto__":{"x":1,"__proto__":2,"y":null},"z":null}'],
  ] as const) {
    const merged = mergePatch(target, JSON.parse(patch));
    t.is(JSON.stringify(merged), text);
    t.like(Object.getOwnPropertyDescriptor(merged, '__proto__'), plain);
  }
});

const name = fc.constantFrom('a', 'b', '0', '1', '-', 'x/y');
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(1, 'x', null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
})).value;
const pointer = fc
  .array(name, { minLength: 1, maxLength: 3 })
  .map((tokens) => tokens.map((token) => `/${token.replaceAll('/', '~1')}`).join(''));
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path: pointer, value: json }),
  fc.record({ op: fc.constant('remove'), path: pointer }),
  fc.record({ op: fc.constantFrom('move', 'copy'), from: pointer, path: pointer }),
);

test('a JSON patch that is accepted does what the rfc6902 package does', (t) => {
  let accepted = 0;
  fc.assert(
    fc.property(
      fc.dictionary(name, json, { minKeys: 1, maxKeys: 4 }),
      fc.array(operation, { minLength: 1, maxLength: 4 }),
      (target, operations) => {
        const ours = jsonPatch(target, operations);
        if (ours.outcome !== 'Patched') return;
        accepted += 1;
        const oracle = structuredClone(target);
        const errors = applyPatch(oracle, structuredClone(operations));
        t.true(errors.every((error) => error === null));
        t.deepEqual(ours.value, oracle);
      },
    ),
    { numRuns: 5000 },
  );
  t.true(accepted > 100);
});

test('JSON equality ignores the order of members and nothing else', (t) => {
  t.true(equalJson({ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }));
  t.true(equalJson({ a: undefined }, {}));
  t.false(equalJson([1, 2], [2, 1]));
  t.false(equalJson({ a: 1 }, { a: 1, b: 1 }));
  t.false(equalJson({ a: 1, b: 1 }, { a: 1 }));
  t.false(equalJson([], {}));
  for (const plain of [null, undefined, 0, '', 'a', false]) {
    for (const container of [{}, [], { a: 1 }, ['a']]) {
      t.false(equalJson(plain, container));
      t.false(equalJson(container, plain));
    }
  }
  t.false(equalJson({ toString: 1 }, {}));
  fc.assert(fc.property(fc.jsonValue(), (value) => equalJson(value, structuredClone(value))));
});

test('sharing keeps the value, and what is equal is the very same part', (t) => {
  const before = { a: { x: 1 }, l: [{ y: 1 }, { z: 1 }], gone: 1 };
  const after = { a: { x: 1 }, l: [{ y: 1 }, { z: 2 }] };
  const shared = shareJson(before, after);
  t.deepEqual(shared, after);
  t.true(isObject(shared) && shared['a'] === before.a);
  t.true(isObject(shared) && Array.isArray(shared['l']) && shared['l'][0] === before.l[0]);
  t.is(shareJson(before, structuredClone(before)), before);
  t.deepEqual(after, { a: { x: 1 }, l: [{ y: 1 }, { z: 2 }] });
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      t.true(equalJson(shareJson(one, other), other));
      t.is(shareJson(one, structuredClone(one)), one);
    }),
  );
  fc.assert(
    fc.property(json, json, (one, other) => {
      t.true(equalJson(shareJson(one, other), other));
      t.is(shareJson(one, other) === one, equalJson(one, other));
    }),
    { numRuns: tries(2000) },
  );
});

const MANY = 100_000;

test('a patch copies a container once, however many of its operations change it', (t) => {
  const keys = Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`k${i}`, '']));
  const list = Array.from({ length: MANY }, () => 0);
  const into = (path: string) =>
    Array.from({ length: 999 }, (_, i) => ({ op: 'add', path: `${path}/x${i}`, value: '' }));
  const cases: readonly (readonly [unknown, readonly unknown[]])[] = [
    [{ metadata: {} }, [{ op: 'add', path: '/metadata/annotations', value: keys }, ...into('/metadata/annotations')]],
    [{ metadata: { annotations: keys } }, into('/metadata/annotations')],
    [{ a: keys }, Array.from({ length: 999 }, (_, i) => ({ op: 'remove', path: `/a/k${i}` }))],
    [{ a: keys }, Array.from({ length: 999 }, (_, i) => ({ op: 'replace', path: `/a/k${i}`, value: 1 }))],
    [
      { a: { b: keys } },
      Array.from({ length: 500 }, (_, i) => ({ op: 'move', from: `/a${'/b'.repeat(1)}/k${i}`, path: `/a/n${i}` })),
    ],
    [{ l: list }, Array.from({ length: 999 }, () => ({ op: 'add', path: '/l/-', value: 1 }))],
  ];
  for (const [target, operations] of cases) {
    const result = jsonPatch(target, operations);
    if (result.outcome === 'Refused') return t.fail(result.message);
    t.true(result.touched <= MANY + 2_000, `${result.touched} members`);
  }
  t.is(keys['x0'], undefined, 'a value of the patch is as it was: the patch may have to be applied again');
});

test('a merge patch of a new part is that part, and its merging into parts that exist is bounded', (t) => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, {}]));
  const patch = { a: { b: members(30_000), c: [null] }, d: { e: null, f: { g: null } } };
  const merged = mergePatch({ x: 1 }, patch) as typeof patch;
  t.is(merged.a, patch.a, 'not copied');
  t.deepEqual(merged.d as unknown, { f: {} });
  t.is(patch.d.e, null, 'a patch is as it was: it may have to be applied again');
  const refusal = { message: 'the patch merges more than 20000 members of objects' };
  t.is(Object.keys(mergePatch({}, members(20_000)) as object).length, 20_000);
  t.throws(() => mergePatch({}, members(20_001)), refusal);
  t.throws(() => mergePatch({ a: {}, b: {} }, { a: members(10_001), b: members(10_001) }), refusal);
});

test('what a patch moves up and down in lists, and what it copies, is bounded', (t) => {
  const list = Array.from({ length: MANY }, () => 0);
  const shifts = Array.from({ length: 999 }, () => ({ op: 'add', path: '/l/0', value: 1 }));
  t.regex(String(patched({ l: list }, ...shifts)), /^Invalid: .*more than 2000000 members/);
  // The one member and the list are copied, the list is moved up once, and then its last element goes: two millions.
  const million = { l: Array.from({ length: 999_999 }, () => 0) };
  const most = [...shifts.slice(0, 1), { op: 'remove', path: '/l/999999' }, { op: 'add', path: '/l/-', value: 1 }];
  t.like(jsonPatch(million, most), { outcome: 'Patched', touched: 2_000_000 });
  t.is(jsonPatch(million, [...most, { op: 'remove', path: '/l/999999' }]).outcome, 'Refused', 'one element more');
  const copies = Array.from({ length: 999 }, (_, i) => ({ op: 'copy', from: '/l', path: `/c${i}` }));
  t.regex(String(patched({ l: list }, ...copies)), /^Invalid: .*copies (?:too much|or moves more than)/);
  t.deepEqual(
    patched({ l: [1] }, { op: 'copy', from: '/l', path: '/c' }, { op: 'add', path: '/c/-', value: 2 }),
    { l: [1], c: [1, 2] },
    'a copy changes on its own',
  );
});

test('what a patch copies of objects is bounded apart, since each member costs a thousand times as much', (t) => {
  const members = (count: number, value: unknown = '') =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]));
  const add = { op: 'add', path: '/a/x', value: 1 };
  const most = patched({}, { op: 'add', path: '/a', value: members(20_000) }, add);
  t.is(Object.keys((most as { a: object }).a).length, 20_001);
  const refusals = [
    patched({}, { op: 'add', path: '/a', value: members(20_001) }, add),
    patched({ a: members(20_001) }, { op: 'remove', path: '/a/k1' }),
    patched({ a: members(20_001) }, { op: 'copy', from: '/a', path: '/b' }),
    patched(
      { a: members(2), b: members(10_001), c: members(10_001) },
      { op: 'add', path: '/b/x', value: 1 },
      { op: 'add', path: '/c/x', value: 1 },
    ),
    patched({ l: Array.from({ length: 10_001 }, () => ({ a: 1, b: 2 })) }, { op: 'copy', from: '/l', path: '/m' }),
  ];
  for (const refusal of refusals) t.regex(String(refusal), /^Invalid: .*copies more than 20000 members of objects/);
  t.is(typeof patched({ a: members(30_000) }, { op: 'replace', path: '/a', value: {} }), 'object', 'not copied');
});
