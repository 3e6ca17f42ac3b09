import test from 'ava';
import * as fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { RefusalError } from '../../src/api/refusal.js';
import { byteSealer } from '../../storage/envelope/bytes.js';
import { masterKey, masterKeys } from '../../storage/envelope/master-key.js';
import { openSecretVersions } from '../../storage/envelope/secret-versions.js';
import { openValues, rewrapValues, sealValues } from '../../storage/envelope/values.js';
import { tries } from '../support/extent.js';

const keys = masterKeys(masterKey(Buffer.alloc(32, 1)));
const values = new Map([
  ['password', Buffer.from('correct horse')],
  ['empty', Buffer.alloc(0)],
  ['naïve.ключ', Buffer.from([0, 255, 1])],
]);

function refusedWith(t: import('ava').ExecutionContext, work: () => unknown): void {
  const error = t.throws(work, { instanceOf: RefusalError });
  t.is(error.refusal.code, 'EncryptionFailed');
  t.notRegex(error.message, /correct horse/);
}

test('a secret version opens to the bytes that were sealed', (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.uint8Array({ maxLength: 500 })), fc.nat(), (given, version) => {
      const map = new Map(Object.entries(given));
      const opened = openValues(keys, 'o-1', 'u', version, sealValues(keys, 'o-1', 'u', version, map));
      t.deepEqual(
        [...opened].map(([name, value]) => [name, [...value]]),
        [...map].map(([name, value]) => [name, [...value]]),
      );
    }),
    { numRuns: tries(50) },
  );
});

test('a sealed version that was moved to another org, object or version does not open', (t) => {
  const sealed = sealValues(keys, 'o-1', 'u', 3, values);
  refusedWith(t, () => openValues(keys, 'o-2', 'u', 3, sealed));
  refusedWith(t, () => openValues(keys, 'o-1', 'v', 3, sealed));
  refusedWith(t, () => openValues(keys, 'o-1', 'u', 4, sealed));
  // Parts that run together to the same text are still told apart.
  refusedWith(t, () => openValues(keys, 'o-1u', '', 3, sealed));
});

test('a change of any byte of a sealed version is noticed', (t) => {
  const sealed = sealValues(keys, 'o-1', 'u', 1, values);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    refusedWith(t, () => openValues(keys, 'o-1', 'u', 1, changed));
  }
  for (let length = 0; length < sealed.length; length += 1) {
    refusedWith(t, () => openValues(keys, 'o-1', 'u', 1, sealed.subarray(0, length)));
  }
});

test('sealed bytes hold neither names nor values in the clear, and no two sealings are equal', (t) => {
  const sealed = sealValues(keys, 'o-1', 'u', 1, values);
  t.is(sealed.indexOf('correct horse'), -1);
  t.is(sealed.indexOf('password'), -1);
  t.notDeepEqual(sealed, sealValues(keys, 'o-1', 'u', 1, values));
});

test('after a rotation old versions open, and rewrapped ones no longer need the old key', (t) => {
  const next = masterKey(Buffer.alloc(32, 2));
  const both = masterKeys(next, [keys.current]);
  const sealed = sealValues(keys, 'o-1', 'u', 1, values);
  t.deepEqual(openValues(both, 'o-1', 'u', 1, sealed), values);
  const rewrapped = rewrapValues(both, 'o-1', 'u', 1, sealed);
  t.truthy(rewrapped);
  if (rewrapped === undefined) return;
  t.deepEqual(openValues(masterKeys(next), 'o-1', 'u', 1, rewrapped), values);
  t.is(rewrapValues(both, 'o-1', 'u', 1, rewrapped), undefined);
  refusedWith(t, () => openValues(masterKeys(next), 'o-1', 'u', 1, sealed));
});

test('stored versions are opened through the fetch given, and an absent one is undefined', async (t) => {
  const rows = new Map([['o-1/u/1', sealValues(keys, 'o-1', 'u', 1, values)]]);
  const secrets = openSecretVersions(keys, (org, uid, version) =>
    Promise.resolve(rows.get(`${org}/${uid}/${version}`)),
  );
  t.deepEqual(await secrets.open('o-1', 'u', 1), values);
  t.is(await secrets.open('o-2', 'u', 1), undefined);
});

test('small things open only in their place, also in a later process', (t) => {
  const sealer = byteSealer(keys);
  const plain = randomBytes(2048);
  const parts = ['o-1', 'holder', 'key'];
  const sealed = sealer.sealBytes(parts, plain);
  t.deepEqual(sealer.openBytes(parts, sealed), plain);
  t.deepEqual(byteSealer(keys).openBytes(parts, sealed), plain);
  refusedWith(t, () => sealer.openBytes(['o-1', 'holder', 'other'], sealed));
  refusedWith(t, () => sealer.openBytes(['o-1', 'holderkey', ''], sealed));
  refusedWith(t, () => byteSealer(masterKeys(masterKey(Buffer.alloc(32, 9)))).openBytes(parts, sealed));
  for (let at = 0; at < sealed.length; at += 7) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 128;
    refusedWith(t, () => sealer.openBytes(parts, changed));
  }
  refusedWith(t, () => sealer.openBytes(parts, sealed.subarray(0, 20)));
  refusedWith(t, () => sealer.openBytes(parts, Buffer.alloc(0)));
});

test('no nonce repeats within a process or between two', (t) => {
  const seen = new Set<string>();
  for (const sealer of [byteSealer(keys), byteSealer(keys)]) {
    for (let n = 0; n < 1000; n += 1)
      seen.add(sealer.sealBytes(['p'], Buffer.of(1)).toString('hex', 0, 1 + 8 + 16 + 12));
  }
  t.is(seen.size, 2000);
});
