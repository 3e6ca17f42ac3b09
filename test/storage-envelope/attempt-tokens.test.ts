import test from 'ava';
import fc from 'fast-check';
import { attemptTokens } from '../../storage/envelope/attempt-tokens.js';
import { masterKey, masterKeys } from '../../storage/envelope/master-key.js';

const one = masterKey(Buffer.alloc(32, 1));
const two = masterKey(Buffer.alloc(32, 2));
const WORK = '0f8fad5b-d9cb-469f-a165-70867728950e.3';

test('a token is the same each time, says whose it is, and is of that one epoch', (t) => {
  const tokens = attemptTokens(masterKeys(one));
  const token = tokens.issue(WORK);
  t.is(tokens.issue(WORK), token);
  t.is(tokens.verify(token), WORK);
  t.not(tokens.issue(WORK.replace('.3', '.4')), token);
});

test('a token outlives a rotation of the master key, and not the key', (t) => {
  const token = attemptTokens(masterKeys(one)).issue(WORK);
  t.is(attemptTokens(masterKeys(two, [one])).verify(token), WORK);
  t.is(attemptTokens(masterKeys(two)).verify(token), undefined);
});

test('no other text is a token, however little of one was changed', (t) => {
  const tokens = attemptTokens(masterKeys(one));
  const token = tokens.issue(WORK);
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.constantFrom('A', 'b', '-', '9'), (at, letter) => {
      const changed = token.slice(0, at) + letter + token.slice(at + 1);
      const found = tokens.verify(changed);
      // The last letter has bits that mean nothing.
      t.true(
        found === undefined ||
          Buffer.from(changed.slice(7), 'base64url').equals(Buffer.from(token.slice(7), 'base64url')),
      );
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => t.is(tokens.verify(text), undefined)));
  t.is(tokens.verify(`${token}${'A'.repeat(300)}`), undefined);
});
