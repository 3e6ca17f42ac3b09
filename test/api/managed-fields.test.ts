import test from 'ava';
import * as fc from 'fast-check';
import { manageCreate, manageUpdate, MAX_ENTRIES } from '../../src/api/managed-fields.js';
import type { Owned } from '../../src/api/managed-fields.js';
import type { ManagedFieldsEntry } from '../../src/api/object.js';
import { tries } from '../support/extent.js';

const writer = (manager: string, now = 0) => ({ manager, apiVersion: 'svc.dev/v1', now });

function trees(entries: readonly ManagedFieldsEntry[]): Record<string, unknown> {
  return Object.fromEntries(entries.map((entry) => [entry.manager, entry.fieldsV1]));
}

test('lists are leaves, objects are trees, finalizers are values and owners are uids', (t) => {
  const owner = { apiVersion: 'v1', kind: 'Job', name: 'o', uid: 'u1' };
  const entries = manageCreate(writer('m'), {
    metadata: { finalizers: ['x.dev/a'], ownerReferences: [owner], annotations: { 'x.dev/n': '1' } },
    spec: { list: [{ a: 1 }], deep: { er: { x: 1 } }, empty: {}, absent: undefined },
  });
  t.deepEqual(trees(entries), {
    m: {
      'f:metadata': {
        'f:annotations': { '.': {}, 'f:x.dev/n': {} },
        'f:finalizers': { '.': {}, 'v:"x.dev/a"': {} },
        'f:ownerReferences': { '.': {}, 'k:{"uid":"u1"}': {} },
      },
      'f:spec': { 'f:list': {}, 'f:deep': { 'f:er': { 'f:x': {} } }, 'f:empty': {} },
    },
  });
});

test('a write that changes no field leaves the very same entries', (t) => {
  const owned: Owned = { metadata: { labels: { a: 'b' } }, spec: { x: 1, l: [1] } };
  const entries = manageCreate(writer('m'), owned);
  t.is(manageUpdate(entries, writer('n'), owned, structuredClone(owned)), entries);
});

test('a field that goes is owned by nobody, and a manager without fields has no entry', (t) => {
  const first: Owned = { metadata: {}, spec: { a: 1, b: { c: 1, d: 2 } } };
  const second: Owned = { metadata: {}, spec: { a: 2, b: { d: 3 } } };
  const entries = manageUpdate(manageCreate(writer('m'), first), writer('n', 1000), first, second);
  t.deepEqual(trees(entries), { n: { 'f:spec': { 'f:a': {}, 'f:b': { 'f:d': {} } } } });
});

test('a leaf that becomes an object, and the reverse, changes hands whole', (t) => {
  const scalar: Owned = { metadata: {}, spec: { x: 1, y: 1 } };
  const object: Owned = { metadata: {}, spec: { x: { a: 1 }, y: 1 } };
  const grown = manageUpdate(manageCreate(writer('m'), scalar), writer('n'), scalar, object);
  t.deepEqual(trees(grown), { m: { 'f:spec': { 'f:y': {} } }, n: { 'f:spec': { 'f:x': { 'f:a': {} } } } });
  const back = manageUpdate(grown, writer('m'), object, scalar);
  t.deepEqual(trees(back), { m: { 'f:spec': { 'f:y': {}, 'f:x': {} } } });
});

test('entries are bounded: the oldest become ancient changes and lose no field', (t) => {
  let spec: Record<string, number> = { base: 0 };
  let owned: Owned = { metadata: {}, spec };
  let entries = manageCreate(writer('m0'), owned);
  for (let i = 1; i <= 30; i++) {
    spec = { ...spec, [`k${i}`]: i };
    const next: Owned = { metadata: {}, spec };
    entries = manageUpdate(entries, writer(`m${i}`, i * 1000), owned, next);
    owned = next;
  }
  t.is(entries.length, MAX_ENTRIES);
  t.is(entries[0]?.manager, 'ancient-changes');
  t.is(leaves(entries[0]?.fieldsV1).length, 31 - (MAX_ENTRIES - 1));
  t.is(entries.at(-1)?.manager, 'm30');
});

test('up to the bound every manager keeps its entry, and one more makes one of the two oldest', (t) => {
  let owned: Owned = { metadata: {}, spec: {} };
  let entries: readonly ManagedFieldsEntry[] = [];
  const names = (): string[] => entries.map(({ manager }) => manager);
  // The last to write wrote the longest ago: clocks go back.
  for (let i = 0; i < MAX_ENTRIES; i++) {
    const next: Owned = { metadata: {}, spec: { ...Object(owned.spec), [`k${i}`]: i } };
    entries = manageUpdate(entries, writer(`m${i}`, 100_000 - i * 1000), owned, next);
    owned = next;
  }
  t.deepEqual(
    names(),
    Array.from({ length: MAX_ENTRIES }, (_, i) => `m${i}`),
  );
  entries = manageUpdate(entries, writer('new', 200_000), owned, {
    metadata: {},
    spec: { ...Object(owned.spec), z: 1 },
  });
  t.is(entries.length, MAX_ENTRIES);
  t.deepEqual(trees(entries)['ancient-changes'], { 'f:spec': { 'f:k9': {}, 'f:k8': {} } });
  t.false(names().includes('m9') || names().includes('m8'));
  t.is(names().at(-1), 'new');
});

test('labels, annotations, finalizers and owners change hands one by one, and a map that goes takes all with it', (t) => {
  const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'Job', name: uid, uid });
  const before: Owned = {
    metadata: {
      labels: { a: '1', b: '1' },
      annotations: { n: '1' },
      finalizers: ['x.dev/a', 'x.dev/b'],
      ownerReferences: [owner('u1'), owner('u2')],
    },
    spec: { l: [1, 2] },
  };
  const after: Owned = {
    metadata: {
      labels: { a: '2', b: '1' },
      finalizers: ['x.dev/b', 'x.dev/c'],
      ownerReferences: [owner('u2'), owner('u3')],
    },
    spec: { l: [1, 3] },
  };
  const entries = manageUpdate(manageCreate(writer('m'), before), writer('n'), before, after);
  t.deepEqual(trees(entries), {
    m: {
      'f:metadata': {
        'f:labels': { '.': {}, 'f:b': {} },
        'f:finalizers': { '.': {}, 'v:"x.dev/b"': {} },
        'f:ownerReferences': { '.': {}, 'k:{"uid":"u2"}': {} },
      },
    },
    n: {
      'f:metadata': {
        'f:labels': { 'f:a': {} },
        'f:finalizers': { 'v:"x.dev/c"': {} },
        'f:ownerReferences': { 'k:{"uid":"u3"}': {} },
      },
      'f:spec': { 'f:l': {} },
    },
  });
});

test('who brings the first label, finalizer or owner owns the map or list itself, too', (t) => {
  const before: Owned = { metadata: {}, spec: { a: 1 } };
  const owner = { apiVersion: 'v1', kind: 'Job', name: 'o', uid: 'u1' };
  const metadata = { labels: { a: '1' }, finalizers: ['x.dev/a'], ownerReferences: [owner] };
  const entries = manageUpdate(manageCreate(writer('m'), before), writer('n'), before, { ...before, metadata });
  t.deepEqual(trees(entries)['n'], {
    'f:metadata': {
      'f:labels': { '.': {}, 'f:a': {} },
      'f:finalizers': { '.': {}, 'v:"x.dev/a"': {} },
      'f:ownerReferences': { '.': {}, 'k:{"uid":"u1"}': {} },
    },
  });
});

test('a list that is written again with the same elements changes no hands, whatever else the write does', (t) => {
  const before: Owned = { metadata: {}, spec: { same: [1, { a: 2 }], longer: [1] } };
  const after: Owned = { metadata: {}, spec: { same: [1, { a: 2 }], longer: [1, 1] } };
  const entries = manageUpdate(manageCreate(writer('m'), before), writer('n'), before, after);
  t.deepEqual(trees(entries), { m: { 'f:spec': { 'f:same': {} } }, n: { 'f:spec': { 'f:longer': {} } } });
});

test('an entry of a subresource stays apart from that of the same manager for all of the object', (t) => {
  const before: Owned = { metadata: {}, spec: { a: 1 } };
  const status = { ...manageCreate(writer('m'), { metadata: {}, spec: { s: 1 } })[0], subresource: 'status' };
  const entries = manageUpdate([status as ManagedFieldsEntry], writer('m'), before, { metadata: {}, spec: { a: 2 } });
  t.deepEqual(
    entries.map(({ subresource, fieldsV1 }) => [subresource, fieldsV1]),
    [
      ['status', { 'f:spec': { 'f:s': {} } }],
      [undefined, { 'f:spec': { 'f:a': {} } }],
    ],
  );
});

test('a write of more names of fields than are remembered keeps every one of them', (t) => {
  const spec = (from: number) => Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${from + i}`, 1]));
  for (const from of [0, 5000, 0]) {
    const entries = manageCreate(writer('m'), { metadata: {}, spec: spec(from) });
    t.deepEqual(
      leaves(entries[0]?.fieldsV1),
      Object.keys(spec(from)).map((key) => `/f:spec/f:${key}`),
    );
  }
});

test('after any writes each field of the spec has exactly one manager', (t) => {
  const spec = fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.oneof(
      fc.nat({ max: 2 }),
      fc.dictionary(fc.constantFrom('x', 'y'), fc.nat({ max: 2 }), { minKeys: 1 }),
      fc.array(fc.nat({ max: 1 }), { maxLength: 2 }),
    ),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('m', 'n', 'o'), spec), { minLength: 1, maxLength: 12 }), (writes) => {
      let owned: Owned = { metadata: {}, spec: {} };
      let entries: readonly ManagedFieldsEntry[] = [];
      for (const [manager, next] of writes) {
        const after: Owned = { metadata: {}, spec: next };
        entries = manageUpdate(entries, writer(manager), owned, after);
        owned = after;
      }
      const managed = entries.flatMap((entry) => leaves(entry.fieldsV1['f:spec'])).toSorted();
      t.deepEqual(managed, leaves(keyed(owned.spec)).toSorted());
    }),
    { numRuns: tries(500) },
  );
});

/** The spec as the tree that one manager of everything would have. */
function keyed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [`f:${key}`, keyed(member)]));
}

function leaves(tree: unknown, path = ''): string[] {
  if (typeof tree !== 'object' || tree === null) return [];
  const members = Object.entries(tree);
  if (members.length === 0) return path === '' ? [] : [path];
  return members.flatMap(([key, member]) => leaves(member, `${path}/${key}`));
}
