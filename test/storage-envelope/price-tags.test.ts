import test from 'ava';
import fc from 'fast-check';
import { masterKey, masterKeys } from '../../storage/envelope/master-key.js';
import { priceTags, type Estimated } from '../../storage/envelope/price-tags.js';

const one = masterKey(Buffer.alloc(32, 1));
const two = masterKey(Buffer.alloc(32, 2));
const JOB: Estimated = { kind: 'Job', spec: 'a'.repeat(64), offering: 'cpu-local', regionClass: 'local' };

test('a tag says its rate for what was estimated, and for nothing else', (t) => {
  const tags = priceTags(masterKeys(one));
  const tag = tags.issue('org', JOB, '0.011');
  t.is(tags.rateOf('org', JOB, tag), '0.011');
  t.is(tags.rateOf('other', JOB, tag), undefined);
  for (const change of [{ kind: 'Sandbox' }, { spec: 'b'.repeat(64) }, { offering: 'gpu' }, { regionClass: 'cloud' }]) {
    t.is(tags.rateOf('org', { ...JOB, ...change }, tag), undefined, JSON.stringify(change));
  }
  t.true(tag.length < 128, 'it fits into an entity tag');
});

test('a tag outlives a rotation of the master key, and not the key', (t) => {
  const tag = priceTags(masterKeys(one)).issue('org', JOB, '0.011');
  t.is(priceTags(masterKeys(two, [one])).rateOf('org', JOB, tag), '0.011');
  t.is(priceTags(masterKeys(two)).rateOf('org', JOB, tag), undefined);
});

test('no other text is a tag, however little of one was changed', (t) => {
  const tags = priceTags(masterKeys(one));
  const bytes = Buffer.from(tags.issue('org', JOB, '0.011'), 'base64url');
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, by) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ by;
      t.is(tags.rateOf('org', JOB, changed.toString('base64url')), undefined);
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => t.is(tags.rateOf('org', JOB, text), undefined)));
});
