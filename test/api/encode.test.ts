import test from 'ava';
import * as fc from 'fast-check';
import {
  decodeObject,
  encodeObject,
  HOLE_BYTES,
  MAX_OBJECT_BYTES,
  readVersion,
  stampVersion,
  versionHole,
} from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';

function sample(more: Partial<ApiObject> = {}): ApiObject {
  return {
    apiVersion: 'svc.dev/v1',
    kind: 'Job',
    metadata: {
      name: 'a',
      namespace: 'default',
      uid: 'u',
      generation: 1,
      creationTimestamp: '2026-01-02T03:04:05Z',
      labels: { 'a{b': '{' },
    },
    spec: { command: ['x'] },
    status: { phase: 'Pending' },
    ...more,
  };
}

test('the hole is where versionHole says it is, for any kind', (t) => {
  const body = encodeObject(sample());
  const hole = versionHole('svc.dev/v1', 'Job');
  t.is(body.toString('utf8', hole, hole + HOLE_BYTES), ' '.repeat(HOLE_BYTES));
  stampVersion(body, 42);
  t.is(body.toString('utf8', hole, hole + 4), '"42"');
});

test('a stamped object is plain JSON with the version as a decimal string, and can be stamped again', (t) => {
  const body = encodeObject(sample());
  t.is(readVersion(body), undefined);
  t.is(stampVersion(body, Number.MAX_SAFE_INTEGER), body, 'in place, no copy');
  t.is(readVersion(body), Number.MAX_SAFE_INTEGER);
  stampVersion(body, 7);
  t.is(readVersion(body), 7, 'digits of the longer version are gone');
  t.deepEqual(JSON.parse(body.toString()), {
    ...sample(),
    metadata: { ...sample().metadata, resourceVersion: '7' },
  });
});

test('bytes from the store, with a blank hole, can be decoded and have no version', (t) => {
  t.deepEqual(decodeObject(encodeObject(sample())), sample());
});

test('a resourceVersion in the object is not encoded: only the commit knows it', (t) => {
  const object = sample();
  const body = encodeObject({ ...object, metadata: { ...object.metadata, resourceVersion: '9' } });
  t.is(readVersion(body), undefined);
  t.deepEqual(decodeObject(body), object);
});

test('line separators are escaped, so that readers of lines never lose a watch event', (t) => {
  const object = sample({ spec: { text: 'a\u2028b\u2029c\nd' } });
  const body = encodeObject(object);
  t.notRegex(body.toString('utf8'), /[\u2028\u2029\n]/);
  t.deepEqual(decodeObject(stampVersion(body, 1)).spec, object.spec);
});

test('any JSON value in spec and status survives encode, stamp and decode', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.nat(), (spec, status, version) => {
      const object = sample({ spec: JSON.parse(JSON.stringify(spec)), status: JSON.parse(JSON.stringify(status)) });
      const decoded = decodeObject(stampVersion(encodeObject(object), version));
      t.deepEqual(decoded, { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
    }),
  );
});

test('bytes that are no object are refused instead of stamped over', (t) => {
  t.throws(() => stampVersion(Buffer.from('{"a":{"b":1}}'), 1));
  t.throws(() => stampVersion(Buffer.from(''), 1));
});

test('a hole takes the largest version that a number counts exactly, and refuses what is longer', (t) => {
  const body = encodeObject(sample());
  t.is(stampVersion(body, Number.MAX_SAFE_INTEGER), body);
  t.is(JSON.parse(body.toString()).metadata.resourceVersion, String(Number.MAX_SAFE_INTEGER));
  const before = body.toString();
  t.throws(() => stampVersion(body, 1e17), { instanceOf: RangeError });
  t.is(body.toString(), before, 'nothing was written');
});

test('an object without spec and status is encoded, and a body that ends with its hole is refused', (t) => {
  const bare = encodeObject(sample({ spec: undefined, status: undefined }));
  t.deepEqual(Object.keys(decodeObject(bare)), ['apiVersion', 'kind', 'metadata']);
  const hole = versionHole('svc.dev/v1', 'Job');
  t.notThrows(() => stampVersion(Buffer.from(bare.subarray(0, hole + HOLE_BYTES)), 1));
  t.throws(() => stampVersion(Buffer.from(bare.subarray(0, hole + HOLE_BYTES - 1)), 1));
});

test('an object that was read back, with its version first, is encoded as one that has none', (t) => {
  const read = decodeObject(stampVersion(encodeObject(sample()), 12));
  t.deepEqual(encodeObject(read), encodeObject(sample()));
  t.is(readVersion(encodeObject(read)), undefined);
});

test('a stored object may be as large as a request body, and that is three mebibytes', (t) => {
  t.is(MAX_OBJECT_BYTES, 3_145_728);
});
