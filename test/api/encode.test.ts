import test from 'ava';
import * as fc from 'fast-check';
import {
  decodeObject,
  encodeObject,
  HOLE_BYTES,
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
