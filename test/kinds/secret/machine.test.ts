/** Secrets: versions, what a patch keeps, and that no value stays anywhere in the decided object. */
import test from 'ava';
import * as fc from 'fast-check';
import { causesOf } from '../../../src/api/causes.js';
import type { Effect } from '../../../src/kinds/effect.js';
import { secretKind } from '../../../src/kinds/secret/index.js';
import { APPLIED } from '../../../src/kinds/secret/applied.js';
import { KEPT_VALUE, secretSpec, secretStatus, type SecretStatus } from '../../../src/kinds/secret/schema.js';
import { ask, at, decided, objectOf, owner, refusalOf, type Next, type Stored } from '../decide.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const statusOf = (stored: Stored): SecretStatus => secretStatus.parse(stored.object.status);

function create(spec: unknown, annotations?: Record<string, string>): Next {
  const object = objectOf(secretKind, spec, annotations === undefined ? {} : { annotations });
  return decided(secretKind, at(object), { type: 'Created', by: owner });
}

/** A write that leaves this spec, as `write.ts` hands it to the machine. */
function write(before: Stored, spec: unknown, annotations?: Record<string, string>): Next {
  const { metadata } = before.object;
  const object = {
    ...before.object,
    spec,
    metadata: { ...metadata, annotations: annotations ?? metadata.annotations },
  };
  return decided(
    secretKind,
    { object, private: before.private },
    { type: 'Updated', before: before.object, by: owner },
  );
}

/** A merge patch of `data` against what a patch sees. */
function patchData(before: Stored, data: Record<string, string | null>, more: object = {}): Next {
  const seen = secretKind.patchBase?.(before.object) ?? before.object;
  const spec = secretSpec.parse(seen.spec);
  const merged: Record<string, string | null> = { ...spec.data, ...data };
  const kept = Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  return write(before, { ...spec, data: kept, ...more });
}

function sealOf(
  effects: readonly Effect[],
): { version: number; values: Record<string, string>; keep: unknown } | undefined {
  const seal = effects.find((effect) => effect.type === 'SealSecret');
  if (seal === undefined) return undefined;
  const values = Object.fromEntries([...seal.values].map(([key, value]) => [key, Buffer.from(value).toString()]));
  return { version: seal.version, values, keep: seal.keep };
}

test('a create seals its values as version 1 and keeps the names of the keys only', (t) => {
  const made = create({ data: { B: base64('b') }, stringData: { A: 'a' } });
  t.deepEqual(made.object.spec, { type: 'Opaque' });
  t.deepEqual(statusOf(made), {
    phase: 'Ready',
    keys: ['A', 'B'],
    version: 1,
    versions: [{ createTime: '2026-01-02T03:04:05Z', version: 1, keys: ['A', 'B'], createdBy: 'ada@example.org' }],
  });
  t.deepEqual(sealOf(made.effects), { version: 1, values: { A: 'a', B: 'b' }, keep: undefined });
});

test('stringData wins over data', (t) => {
  const made = create({ data: { A: base64('old') }, stringData: { A: 'new' } });
  t.deepEqual(sealOf(made.effects)?.values, { A: 'new' });
});

test('a create without values has an empty version 1, so it can be mounted', (t) => {
  const made = create({});
  t.is(statusOf(made).version, 1);
  t.deepEqual(sealOf(made.effects), { version: 1, values: {}, keep: undefined });
});

test('a write without values keeps the version and seals nothing', (t) => {
  const made = create({ stringData: { A: 'a' } });
  const again = write(made, { type: 'Opaque' });
  t.is(statusOf(again).version, 1);
  t.deepEqual(again.effects, []);
  t.deepEqual(again.private, made.private);
});

test('a PUT with values replaces the whole set', (t) => {
  const made = create({ stringData: { A: 'a', B: 'b' } });
  const put = write(made, { type: 'Opaque', data: { C: base64('c') } });
  t.deepEqual(statusOf(put).keys, ['C']);
  t.deepEqual(sealOf(put.effects), { version: 2, values: { C: 'c' }, keep: undefined });
});

test('a patch of one key keeps the others without knowing them', (t) => {
  const made = create({ stringData: { A: 'a', B: 'b' } });
  const patched = patchData(made, {}, { stringData: { A: 'new' } });
  t.deepEqual(statusOf(patched).keys, ['A', 'B']);
  t.deepEqual(sealOf(patched.effects), { version: 2, values: { A: 'new' }, keep: { from: 1, keys: ['B'] } });
});

test('a patch with null removes that key and keeps the rest', (t) => {
  const made = create({ stringData: { A: 'a', B: 'b' } });
  const patched = patchData(made, { A: null });
  t.deepEqual(statusOf(patched).keys, ['B']);
  t.deepEqual(sealOf(patched.effects), { version: 2, values: {}, keep: { from: 1, keys: ['B'] } });
});

test('a patch of something else keeps the version', (t) => {
  const made = create({ stringData: { A: 'a' } });
  const patched = patchData(made, {});
  t.is(statusOf(patched).version, 1);
  t.deepEqual(patched.object.spec, { type: 'Opaque' });
});

test('what was never there cannot be kept', (t) => {
  t.is(
    refusalOf(secretKind, at(objectOf(secretKind, { data: { A: KEPT_VALUE } })), { type: 'Created', by: owner }),
    'Invalid',
  );
  const made = create({ stringData: { A: 'a' } });
  const object = { ...made.object, spec: { type: 'Opaque', data: { toString: KEPT_VALUE } } };
  t.is(refusalOf(secretKind, { object, private: made.private }, { type: 'Updated', before: made.object }), 'Invalid');
});

test('ten versions are listed, newest first, and older ones are forgotten', (t) => {
  let stored: Next = create({ stringData: { A: '1' } });
  const dropped: unknown[] = [];
  for (let round = 2; round <= 12; round += 1) {
    stored = write(stored, { type: 'Opaque', stringData: { A: String(round) } });
    for (const effect of stored.effects) if (effect.type === 'DropSecretVersions') dropped.push([round, effect.below]);
  }
  t.deepEqual(
    statusOf(stored).versions?.map((entry) => entry.version),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
  );
  t.deepEqual(dropped, [
    [11, 2],
    [12, 3],
  ]);
});

test('values of more than 1 MiB together are refused, kept ones counted', (t) => {
  const half = 'x'.repeat(600 * 1024);
  const made = create({ stringData: { A: half } });
  const object = { ...made.object, spec: { type: 'Opaque', data: { A: KEPT_VALUE }, stringData: { B: half } } };
  const decision = ask(
    secretKind,
    { object, private: made.private },
    { type: 'Updated', before: made.object, by: owner },
  );
  t.is(decision.outcome, 'Refused');
  t.false(JSON.stringify(decision).includes('xxxx'));
});

test("kubectl apply's note keeps the keys and loses the values", (t) => {
  const note = JSON.stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Secret',
    metadata: { name: 'one', namespace: 'default', annotations: {} },
    spec: { data: { B: base64('hunter2') }, stringData: { A: 'hunter2' }, type: 'Opaque' },
    stringData: { misplaced: 'hunter2' },
  });
  const made = create({ stringData: { A: 'hunter2' } }, { [APPLIED]: `${note}\n`, other: 'stays' });
  const annotations = made.object.metadata.annotations ?? {};
  t.is(annotations['other'], 'stays');
  t.deepEqual(JSON.parse(annotations[APPLIED] ?? ''), {
    apiVersion: 'svc.dev/v1',
    kind: 'Secret',
    metadata: { name: 'one', namespace: 'default', annotations: {} },
    spec: { data: { A: KEPT_VALUE, B: KEPT_VALUE }, type: 'Opaque' },
  });
  t.false(JSON.stringify(made.object).includes('hunter2'));
  t.is(write(made, { type: 'Opaque' }).object.metadata.annotations?.[APPLIED], annotations[APPLIED]);
});

test('a note that cannot be read is not kept: nobody knows what is in it', (t) => {
  const made = create({ stringData: { A: 'hunter2' } }, { [APPLIED]: '{"spec":{"stringData":{"A":"hunter2"' });
  t.is(made.object.metadata.annotations?.[APPLIED], undefined);
});

const key = fc.constantFrom('A', 'B', 'c.d', '__proto__', 'constructor');
const value = fc.string({ minLength: 8, maxLength: 20 }).map((text) => `SECRET-${text}`);

test('no value is ever found in the decided object, whatever is written', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('data', 'stringData'), key, value), { maxLength: 8 }), (writes) => {
      let stored: Next | undefined;
      for (const [field, name, text] of writes) {
        const entries = [[name, field === 'data' ? base64(text) : text]];
        const spec = { type: 'Opaque', [field]: Object.fromEntries(entries) };
        const note = { [APPLIED]: JSON.stringify({ kind: 'Secret', spec }) };
        stored = stored === undefined ? create(spec, note) : write(stored, spec, note);
        const shown = JSON.stringify([stored.object, stored.private, stored.reveal]);
        if (shown.includes('SECRET-') || shown.includes(base64(text).slice(0, 12))) return false;
      }
      return true;
    }),
  );
  t.pass();
});

test('no complaint about a Secret repeats what was sent as a value', (t) => {
  for (const bad of [
    'hunter2!',
    ['hunter2!'],
    { A: 12345 },
    { A: ['hunter2!'] },
    { 'a/b': 'hunter2!' },
    { A: { B: 'hunter2!' } },
  ]) {
    for (const field of ['data', 'stringData']) {
      const read = secretKind.schema.spec.safeParse({ [field]: bad });
      t.false(read.success);
      const causes = JSON.stringify(causesOf(read.error?.issues ?? [], { [field]: bad }, 'spec'));
      t.notRegex(causes, /hunter2|12345/);
    }
  }
});

test('keys that are no file names, and data that is no base64, are refused without being repeated', (t) => {
  for (const name of ['', '.', '..', 'a/b', 'a b', '../x', 'ä', 'x'.repeat(254)]) {
    t.false(secretKind.schema.spec.safeParse({ stringData: { [name]: 'v' } }).success, name);
  }
  const bad = secretKind.schema.spec.safeParse({ data: { A: 'not base64!', B: 'abc' } });
  t.false(bad.success);
  t.false(JSON.stringify(bad.error?.issues).includes('not base64!'));
  t.deepEqual(
    bad.error?.issues.map((issue) => issue.path),
    [
      ['data', 'A'],
      ['data', 'B'],
    ],
  );
});
