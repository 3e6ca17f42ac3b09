import ssh2 from 'ssh2';
import test from 'ava';
import { newSshKey } from '../../src/app/ssh-key.js';

test('every key that is made can be read, so none keeps SSH closed for good', (t) => {
  // Of those that ssh2 makes one in 256 cannot: so many hold one, all but surely.
  for (let made = 0; made < 2_000; made++) {
    const parsed = ssh2.utils.parseKey(newSshKey());
    if (parsed instanceof Error) return t.fail(parsed.message);
  }
  t.pass();
});
